template <class To, class From> __device__ __forceinline__ To tile_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "bits");
    union { From from; To to; } both;
    both.from = from;
    return both.to;
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

extern "C" __global__ void __launch_bounds__(128, 1) pairs_matmul_original_qkv(
    const float* __restrict__ a,
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
            const int v29 = v25 / 2;
            const unsigned int v30 = weights[v28 * 32 + v29];
            const unsigned int v31 = v30 << 16u;
            const float v32 = __uint_as_float(v31);
            const unsigned int v33 = v30 & 4294901760u;
            const float v34 = __uint_as_float(v33);
            const int v35 = v25 % 2;
            const bool v36 = v35 == 0;
            const float v37 = v36 ? v32 : v34;
            tiles[v23 * 32 + v24 + 1024] = v37;
        }
        __syncthreads();
        float2 v38 = v7;
        float2 v39 = v8;
        float2 v40 = v9;
        float2 v41 = v10;
        for (int v42 = 0; v42 < 32; v42 += 8) {
            const float2 v47 = make_float2(tiles[(v5 + fragment_column) * 32 + (v42 + fragment_row) + 1024], tiles[(v5 + fragment_column + 1) * 32 + (v42 + fragment_row) + 1024]);
            const int v48 = v5 + 8;
            const float2 v49 = make_float2(tiles[(v48 + fragment_column) * 32 + (v42 + fragment_row) + 1024], tiles[(v48 + fragment_column + 1) * 32 + (v42 + fragment_row) + 1024]);
            const float2 v50 = make_float2(tiles[(v3 + fragment_row) * 32 + (v42 + fragment_column)], tiles[(v3 + fragment_row) * 32 + (v42 + fragment_column + 1)]);
            const float2 v51 = tile_multiply(v50, v47, v38);
            const float2 v52 = tile_multiply(v50, v49, v39);
            const int v53 = v3 + 8;
            const float2 v54 = make_float2(tiles[(v53 + fragment_row) * 32 + (v42 + fragment_column)], tiles[(v53 + fragment_row) * 32 + (v42 + fragment_column + 1)]);
            const float2 v55 = tile_multiply(v54, v47, v40);
            const float2 v56 = tile_multiply(v54, v49, v41);
            v38 = v51;
            v39 = v52;
            v40 = v55;
            v41 = v56;
        }
        __syncthreads();
        v7 = v38;
        v8 = v39;
        v9 = v40;
        v10 = v41;
    }
    tiles[(v3 + fragment_row) * 32 + (v5 + fragment_column)] = v7.x;
    tiles[(v3 + fragment_row) * 32 + (v5 + fragment_column + 1)] = v7.y;
    const int v57 = v5 + 8;
    tiles[(v3 + fragment_row) * 32 + (v57 + fragment_column)] = v8.x;
    tiles[(v3 + fragment_row) * 32 + (v57 + fragment_column + 1)] = v8.y;
    const int v58 = v3 + 8;
    tiles[(v58 + fragment_row) * 32 + (v5 + fragment_column)] = v9.x;
    tiles[(v58 + fragment_row) * 32 + (v5 + fragment_column + 1)] = v9.y;
    tiles[(v58 + fragment_row) * 32 + (v57 + fragment_column)] = v10.x;
    tiles[(v58 + fragment_row) * 32 + (v57 + fragment_column + 1)] = v10.y;
    __syncthreads();
    for (int v59 = thread_index; v59 < 256; v59 += 128) {
        const int v60 = v59 / 8;
        const int v61 = v59 % 8;
        const int v62 = v61 * 4;
        const int v63 = v0 + v60;
        const int v64 = v1 + v62;
        const float4 v65 = *(const float4*)(tiles + v60 * 32 + v62);
        *(float4*)(out + v63 * 256 + v64) = v65;
    }
}
