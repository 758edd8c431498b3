struct tile_sums {
    float part[32];
};

__device__ __forceinline__ void tile_store(const tile_sums& sums, float* to) {
    to += threadIdx.x / 32 * 1024 + (threadIdx.x & 31);
#pragma unroll
    for (int n = 0; n < 32; n++) to[n * 32] = sums.part[n];
}

__device__ __forceinline__ void tile_product(tile_sums& sums, const float* left, const float* right) {
    left += threadIdx.x / 32 * 1024;
    right += (threadIdx.x & 31) * 1;
#pragma unroll 1
    for (int k = 0; k < 64; k++) {
        const float near = (right[k * 64]), far = (right[k * 64 + 32]);
#pragma unroll
        for (int row = 0; row < 16; row++) {
            const float factor = (left[row * 64 + k]);
            sums.part[row * 2] = fmaf(factor, near, sums.part[row * 2]);
            sums.part[row * 2 + 1] = fmaf(factor, far, sums.part[row * 2 + 1]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(128, 1) prefill_tensor_matmul_qkv_f32(
    const float* __restrict__ a,
    const float* __restrict__ b,
    float* __restrict__ c
) {
    const int group_x = (int)blockIdx.x;
    const int thread_index = (int)threadIdx.x;
    __shared__ __align__(16) float tiles[8192];
    const int v1 = group_x * 64;
    tile_sums v2;
    #pragma unroll
    for (int e = 0; e < 32; e++) v2.part[e] = 0.0f;
    for (int v4 = 0; v4 < 64; v4 += 64) {
        for (int v6 = thread_index; v6 < 1024; v6 += 128) {
            const int v7 = v6 / 16;
            const int v8 = v6 % 16;
            const int v9 = v8 * 4;
            const int v11 = v4 + v9;
            const float4 v12 = *(const float4*)(a + v7 * 64 + v11);
            *(float4*)(tiles + v7 * 64 + v9) = v12;
        }
        for (int v13 = thread_index; v13 < 1024; v13 += 128) {
            const int v14 = v13 / 16;
            const int v15 = v13 % 16;
            const int v16 = v15 * 4;
            const int v17 = v4 + v14;
            const int v18 = v1 + v16;
            const float4 v19 = *(const float4*)(b + v17 * 256 + v18);
            *(float4*)(tiles + v14 * 64 + v16 + 4096) = v19;
        }
        __syncthreads();
        tile_product(v2, tiles, tiles + 4096);
        __syncthreads();
    }
    tile_store(v2, tiles);
    __syncthreads();
    const int v21 = thread_index * 4;
    for (int v22 = v21; v22 < 4096; v22 += 512) {
        const int v23 = v22 / 64;
        const int v25 = v22 % 64;
        const int v26 = v1 + v25;
        const float v27 = tiles[v23 * 64 + v25];
        c[v23 * 256 + v26] = v27;
        const int v28 = v22 + 1;
        const int v29 = v28 / 64;
        const int v31 = v28 % 64;
        const int v32 = v1 + v31;
        const float v33 = tiles[v29 * 64 + v31];
        c[v29 * 256 + v32] = v33;
        const int v34 = v22 + 2;
        const int v35 = v34 / 64;
        const int v37 = v34 % 64;
        const int v38 = v1 + v37;
        const float v39 = tiles[v35 * 64 + v37];
        c[v35 * 256 + v38] = v39;
        const int v40 = v22 + 3;
        const int v41 = v40 / 64;
        const int v43 = v40 % 64;
        const int v44 = v1 + v43;
        const float v45 = tiles[v41 * 64 + v43];
        c[v41 * 256 + v44] = v45;
    }
}
