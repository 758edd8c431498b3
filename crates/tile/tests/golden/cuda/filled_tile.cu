struct tile_sums {
    float part[32];
};

__device__ __forceinline__ void tile_store(const tile_sums& sums, float* to) {
    to += threadIdx.x / 32 * 1024 + (threadIdx.x & 31);
#pragma unroll
    for (int n = 0; n < 32; n++) to[n * 32] = sums.part[n];
}

extern "C" __global__ void __launch_bounds__(128) filled_tile(
    float* __restrict__ y
) {
    const int thread_index = (int)threadIdx.x;
    __shared__ __align__(16) float tile[4096];
    tile_sums v0;
    #pragma unroll
    for (int e = 0; e < 32; e++) v0.part[e] = 2.5f;
    tile_store(v0, tile);
    __syncthreads();
    for (int v1 = thread_index; v1 < 4096; v1 += 128) {
        const int v2 = v1 / 64;
        const int v3 = v1 % 64;
        const float v4 = tile[v2 * 64 + v3];
        y[v2 * 64 + v3] = v4;
    }
}
