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

extern "C" __global__ void __launch_bounds__(128, 1) q6_k_matmul_original_qkv(
    const float* __restrict__ a,
    const unsigned int* __restrict__ weights,
    const unsigned char* __restrict__ weights_tops,
    const signed char* __restrict__ weights_scales,
    const unsigned short* __restrict__ weights_steps,
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
            const unsigned short v30 = weights_steps[v28];
            const float v31 = tile_f16_to_f32(v30);
            const int v32 = v25 / 16;
            const signed char v33 = weights_scales[v28 * 4 + v32];
            const float v34 = (float)v33;
            const float v35 = v31 * v34;
            const int v36 = v25 / 4;
            const unsigned char v37 = weights_tops[v28 * 16 + v36];
            const unsigned int v38 = (unsigned int)v37;
            const int v39 = v25 % 4;
            const int v40 = v39 * 2;
            const unsigned int v41 = (unsigned int)v40;
            const unsigned int v42 = v38 >> v41;
            const int v43 = v25 / 8;
            const unsigned int v44 = weights[v28 * 8 + v43];
            const int v45 = v25 % 8;
            const int v46 = v45 * 4;
            const unsigned int v47 = (unsigned int)v46;
            const unsigned int v48 = v44 >> v47;
            const unsigned int v49 = v48 & 15u;
            const unsigned int v50 = v42 & 3u;
            const unsigned int v51 = v50 << 4u;
            const unsigned int v52 = v49 | v51;
            const float v53 = (float)v52;
            const float v54 = v53 - 32.0f;
            const float v55 = v54 * v35;
            tiles[v23 * 32 + v24 + 1024] = v55;
        }
        __syncthreads();
        float2 v56 = v7;
        float2 v57 = v8;
        float2 v58 = v9;
        float2 v59 = v10;
        for (int v60 = 0; v60 < 32; v60 += 8) {
            const float2 v65 = make_float2(tiles[(v5 + fragment_column) * 32 + (v60 + fragment_row) + 1024], tiles[(v5 + fragment_column + 1) * 32 + (v60 + fragment_row) + 1024]);
            const int v66 = v5 + 8;
            const float2 v67 = make_float2(tiles[(v66 + fragment_column) * 32 + (v60 + fragment_row) + 1024], tiles[(v66 + fragment_column + 1) * 32 + (v60 + fragment_row) + 1024]);
            const float2 v68 = make_float2(tiles[(v3 + fragment_row) * 32 + (v60 + fragment_column)], tiles[(v3 + fragment_row) * 32 + (v60 + fragment_column + 1)]);
            const float2 v69 = tile_multiply(v68, v65, v56);
            const float2 v70 = tile_multiply(v68, v67, v57);
            const int v71 = v3 + 8;
            const float2 v72 = make_float2(tiles[(v71 + fragment_row) * 32 + (v60 + fragment_column)], tiles[(v71 + fragment_row) * 32 + (v60 + fragment_column + 1)]);
            const float2 v73 = tile_multiply(v72, v65, v58);
            const float2 v74 = tile_multiply(v72, v67, v59);
            v56 = v69;
            v57 = v70;
            v58 = v73;
            v59 = v74;
        }
        __syncthreads();
        v7 = v56;
        v8 = v57;
        v9 = v58;
        v10 = v59;
    }
    tiles[(v3 + fragment_row) * 32 + (v5 + fragment_column)] = v7.x;
    tiles[(v3 + fragment_row) * 32 + (v5 + fragment_column + 1)] = v7.y;
    const int v75 = v5 + 8;
    tiles[(v3 + fragment_row) * 32 + (v75 + fragment_column)] = v8.x;
    tiles[(v3 + fragment_row) * 32 + (v75 + fragment_column + 1)] = v8.y;
    const int v76 = v3 + 8;
    tiles[(v76 + fragment_row) * 32 + (v5 + fragment_column)] = v9.x;
    tiles[(v76 + fragment_row) * 32 + (v5 + fragment_column + 1)] = v9.y;
    tiles[(v76 + fragment_row) * 32 + (v75 + fragment_column)] = v10.x;
    tiles[(v76 + fragment_row) * 32 + (v75 + fragment_column + 1)] = v10.y;
    __syncthreads();
    for (int v77 = thread_index; v77 < 256; v77 += 128) {
        const int v78 = v77 / 8;
        const int v79 = v77 % 8;
        const int v80 = v79 * 4;
        const int v81 = v0 + v78;
        const int v82 = v1 + v80;
        const float4 v83 = *(const float4*)(tiles + v78 * 32 + v80);
        *(float4*)(out + v81 * 256 + v82) = v83;
    }
}
