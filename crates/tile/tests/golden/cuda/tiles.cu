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

extern "C" __global__ void __launch_bounds__(128) tiles(
    const float* __restrict__ a,
    const float* __restrict__ b,
    float* __restrict__ c
) {
    const int group_x = (int)blockIdx.x;
    const int group_y = (int)blockIdx.y;
    const int thread_index = (int)threadIdx.x;
    __shared__ __align__(16) float factors[8192];
    const int v0 = group_y * 64;
    const int v1 = group_x * 64;
    tile_sums v2;
    #pragma unroll
    for (int e = 0; e < 32; e++) v2.part[e] = 0.0f;
    for (int v4 = 0; v4 < 72; v4 += 64) {
        for (int v6 = thread_index; v6 < 4096; v6 += 128) {
            const int v7 = v6 / 64;
            const int v8 = v6 % 64;
            const int v9 = v0 + v7;
            const int v10 = v4 + v8;
            const float v11 = v9 < 70 && v10 < 72 ? a[v9 * 72 + v10] : 0.0f;
            factors[v7 * 64 + v8] = v11;
            const int v12 = v4 + v7;
            const int v13 = v1 + v8;
            const float v14 = v12 < 72 && v13 < 68 ? b[v12 * 68 + v13] : 0.0f;
            factors[v7 * 64 + v8 + 4096] = v14;
        }
        __syncthreads();
        tile_product(v2, factors, factors + 4096);
        __syncthreads();
    }
    tile_store(v2, factors);
    __syncthreads();
    for (int v16 = thread_index; v16 < 4096; v16 += 128) {
        const int v17 = v16 / 64;
        const int v18 = v0 + v17;
        const int v19 = v16 % 64;
        const int v20 = v1 + v19;
        const float v21 = factors[v17 * 64 + v19];
        if (v18 < 70 && v20 < 68) c[v18 * 68 + v20] = v21;
    }
}
