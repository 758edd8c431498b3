__device__ __forceinline__ float tile_f16_to_f32(unsigned short h) {
#ifdef __CUDA_ARCH__
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
#else
    const unsigned int sign = (unsigned int)(h & 0x8000u) << 16, rest = h & 0x7fffu;
    if (rest >= 0x7c00u) return __uint_as_float(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    const float f = __uint_as_float(rest << 13) * __uint_as_float(0x77800000u);
    return __uint_as_float(sign | __float_as_uint(f));
#endif
}

__device__ __forceinline__ float2 tile_multiply(float2 a, float2 b, float2 c) {
    const int lane = threadIdx.x & 31;
#pragma unroll 1
    for (int k = 0; k < 8; k += 2) {
        const int left = (lane & 28) + k / 2, upper = k * 4 + (lane & 3), lower = upper + 4;
        const float left_x = __shfl_sync(0xffffffffu, a.x, left);
        const float left_y = __shfl_sync(0xffffffffu, a.y, left);
        c.x = fmaf(left_x, __shfl_sync(0xffffffffu, b.x, upper), c.x);
        c.y = fmaf(left_x, __shfl_sync(0xffffffffu, b.y, upper), c.y);
        c.x = fmaf(left_y, __shfl_sync(0xffffffffu, b.x, lower), c.x);
        c.y = fmaf(left_y, __shfl_sync(0xffffffffu, b.y, lower), c.y);
    }
    return c;
}

extern "C" __global__ void __launch_bounds__(128, 1) q4_k_matmul_original_qkv(
    const float* __restrict__ a,
    const unsigned char* __restrict__ weights_scales,
    const unsigned short* __restrict__ weights_steps,
    const unsigned int* __restrict__ weights,
    float* __restrict__ out
) {
    const int group_x = (int)blockIdx.x;
    const int group_y = (int)blockIdx.y;
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    const int fragment_row = lane / 4, fragment_column = (lane & 3) * 2;
    __shared__ __align__(16) float tiles[2048];
    const int v0 = group_y * 32;
    const int v1 = group_x * 32;
    const int v2 = simd_group / 2;
    const int v3 = v2 * 16;
    const int v4 = simd_group % 2;
    const int v5 = v4 * 16;
    const float2 v6 = make_float2(0.0f, 0.0f);
    float2 v7 = v6;
    float2 v8 = v6;
    float2 v9 = v6;
    float2 v10 = v6;
    for (int v11 = 0; v11 < 64; v11 += 32) {
        for (int v16 = thread_index; v16 < 1024; v16 += 128) {
            const int v17 = v16 / 32;
            const int v18 = v16 % 32;
            const int v19 = v0 + v17;
            const int v20 = v11 + v18;
            const float v21 = a[v19 * 64 + v20];
            tiles[v17 * 32 + v18] = v21;
        }
        for (int v22 = thread_index; v22 < 1024; v22 += 128) {
            const int v23 = v22 / 32;
            const int v24 = v22 % 32;
            const int v25 = v11 + v24;
            const int v27 = v23 % 32;
            const int v28 = v1 + v27;
            const int v29 = v25 / 32;
            const uchar2 v30 = *(const uchar2*)(weights_scales + v28 * 4 + v29 * 2);
            const float2 v31 = make_float2((float)v30.x, (float)v30.y);
            const ushort2 v33 = *(const ushort2*)(weights_steps + v28 * 2);
            const float2 v34 = make_float2(tile_f16_to_f32(v33.x), tile_f16_to_f32(v33.y));
            const float2 v35 = make_float2(v34.x * v31.x, v34.y * v31.y);
            const int v38 = v25 / 8;
            const unsigned int v39 = weights[v28 * 8 + v38];
            const int v40 = v25 % 8;
            const int v41 = v40 * 4;
            const unsigned int v42 = (unsigned int)v41;
            const unsigned int v43 = v39 >> v42;
            const unsigned int v44 = v43 & 15u;
            const float v45 = (float)v44;
            const float v46 = v45 * v35.x;
            const float v47 = v46 - v35.y;
            tiles[v23 * 32 + v24 + 1024] = v47;
        }
        __syncthreads();
        float2 v48 = v7;
        float2 v49 = v8;
        float2 v50 = v9;
        float2 v51 = v10;
        for (int v52 = 0; v52 < 32; v52 += 8) {
            const float2 v57 = make_float2(tiles[(v5 + fragment_column) * 32 + (v52 + fragment_row) + 1024], tiles[(v5 + fragment_column + 1) * 32 + (v52 + fragment_row) + 1024]);
            const int v58 = v5 + 8;
            const float2 v59 = make_float2(tiles[(v58 + fragment_column) * 32 + (v52 + fragment_row) + 1024], tiles[(v58 + fragment_column + 1) * 32 + (v52 + fragment_row) + 1024]);
            const float2 v60 = make_float2(tiles[(v3 + fragment_row) * 32 + (v52 + fragment_column)], tiles[(v3 + fragment_row) * 32 + (v52 + fragment_column + 1)]);
            const float2 v61 = tile_multiply(v60, v57, v48);
            const float2 v62 = tile_multiply(v60, v59, v49);
            const int v63 = v3 + 8;
            const float2 v64 = make_float2(tiles[(v63 + fragment_row) * 32 + (v52 + fragment_column)], tiles[(v63 + fragment_row) * 32 + (v52 + fragment_column + 1)]);
            const float2 v65 = tile_multiply(v64, v57, v50);
            const float2 v66 = tile_multiply(v64, v59, v51);
            v48 = v61;
            v49 = v62;
            v50 = v65;
            v51 = v66;
        }
        __syncthreads();
        v7 = v48;
        v8 = v49;
        v9 = v50;
        v10 = v51;
    }
    tiles[(v3 + fragment_row) * 32 + (v5 + fragment_column)] = v7.x;
    tiles[(v3 + fragment_row) * 32 + (v5 + fragment_column + 1)] = v7.y;
    const int v67 = v5 + 8;
    tiles[(v3 + fragment_row) * 32 + (v67 + fragment_column)] = v8.x;
    tiles[(v3 + fragment_row) * 32 + (v67 + fragment_column + 1)] = v8.y;
    const int v68 = v3 + 8;
    tiles[(v68 + fragment_row) * 32 + (v5 + fragment_column)] = v9.x;
    tiles[(v68 + fragment_row) * 32 + (v5 + fragment_column + 1)] = v9.y;
    tiles[(v68 + fragment_row) * 32 + (v67 + fragment_column)] = v10.x;
    tiles[(v68 + fragment_row) * 32 + (v67 + fragment_column + 1)] = v10.y;
    __syncthreads();
    for (int v69 = thread_index; v69 < 256; v69 += 128) {
        const int v70 = v69 / 8;
        const int v71 = v69 % 8;
        const int v72 = v71 * 4;
        const int v73 = v0 + v70;
        const int v74 = v1 + v72;
        const float4 v75 = *(const float4*)(tiles + v70 * 32 + v72);
        *(float4*)(out + v73 * 256 + v74) = v75;
    }
}
