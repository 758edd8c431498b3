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

extern "C" __global__ void __launch_bounds__(128, 1) q8_0_matmul_original_qkv(
    const float* __restrict__ a,
    const signed char* __restrict__ weights,
    const unsigned short* __restrict__ weights_scales,
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
            const unsigned short v30 = weights_scales[v28 * 2 + v29];
            const float v31 = tile_f16_to_f32(v30);
            const signed char v32 = weights[v28 * 64 + v25];
            const float v33 = (float)v32;
            const float v34 = v33 * v31;
            tiles[v23 * 32 + v24 + 1024] = v34;
        }
        __syncthreads();
        float2 v35 = v7;
        float2 v36 = v8;
        float2 v37 = v9;
        float2 v38 = v10;
        for (int v39 = 0; v39 < 32; v39 += 8) {
            const float2 v44 = make_float2(tiles[(v5 + fragment_column) * 32 + (v39 + fragment_row) + 1024], tiles[(v5 + fragment_column + 1) * 32 + (v39 + fragment_row) + 1024]);
            const int v45 = v5 + 8;
            const float2 v46 = make_float2(tiles[(v45 + fragment_column) * 32 + (v39 + fragment_row) + 1024], tiles[(v45 + fragment_column + 1) * 32 + (v39 + fragment_row) + 1024]);
            const float2 v47 = make_float2(tiles[(v3 + fragment_row) * 32 + (v39 + fragment_column)], tiles[(v3 + fragment_row) * 32 + (v39 + fragment_column + 1)]);
            const float2 v48 = tile_multiply(v47, v44, v35);
            const float2 v49 = tile_multiply(v47, v46, v36);
            const int v50 = v3 + 8;
            const float2 v51 = make_float2(tiles[(v50 + fragment_row) * 32 + (v39 + fragment_column)], tiles[(v50 + fragment_row) * 32 + (v39 + fragment_column + 1)]);
            const float2 v52 = tile_multiply(v51, v44, v37);
            const float2 v53 = tile_multiply(v51, v46, v38);
            v35 = v48;
            v36 = v49;
            v37 = v52;
            v38 = v53;
        }
        __syncthreads();
        v7 = v35;
        v8 = v36;
        v9 = v37;
        v10 = v38;
    }
    tiles[(v3 + fragment_row) * 32 + (v5 + fragment_column)] = v7.x;
    tiles[(v3 + fragment_row) * 32 + (v5 + fragment_column + 1)] = v7.y;
    const int v54 = v5 + 8;
    tiles[(v3 + fragment_row) * 32 + (v54 + fragment_column)] = v8.x;
    tiles[(v3 + fragment_row) * 32 + (v54 + fragment_column + 1)] = v8.y;
    const int v55 = v3 + 8;
    tiles[(v55 + fragment_row) * 32 + (v5 + fragment_column)] = v9.x;
    tiles[(v55 + fragment_row) * 32 + (v5 + fragment_column + 1)] = v9.y;
    tiles[(v55 + fragment_row) * 32 + (v54 + fragment_column)] = v10.x;
    tiles[(v55 + fragment_row) * 32 + (v54 + fragment_column + 1)] = v10.y;
    __syncthreads();
    for (int v56 = thread_index; v56 < 256; v56 += 128) {
        const int v57 = v56 / 8;
        const int v58 = v56 % 8;
        const int v59 = v58 * 4;
        const int v60 = v0 + v57;
        const int v61 = v1 + v59;
        const float4 v62 = *(const float4*)(tiles + v57 * 32 + v59);
        *(float4*)(out + v60 * 256 + v61) = v62;
    }
}
