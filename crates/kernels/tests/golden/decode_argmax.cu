__device__ __forceinline__ float tile_simd_max_f32(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const float w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = fmaxf(v, w);
    }
    return v;
}

__device__ __forceinline__ int tile_simd_min_i32(int v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const int w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = min(v, w);
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(256) decode_argmax(
    const float* __restrict__ best,
    const int* __restrict__ at,
    int* __restrict__ next
) {
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    __shared__ __align__(16) float values_of[8];
    __shared__ __align__(16) int ids_of[8];
    float v0 = __int_as_float(0xff800000);
    int v1 = 512;
    for (int v2 = thread_index; v2 < 1; v2 += 256) {
        const float v5 = best[v2];
        const int v6 = at[v2];
        const bool v7 = v5 > v0;
        const bool v8 = v5 == v0;
        const bool v9 = v6 < v1;
        const bool v10 = v8 && v9;
        const bool v11 = v7 || v10;
        const float v12 = v11 ? v5 : v0;
        const int v13 = v11 ? v6 : v1;
        v0 = v12;
        v1 = v13;
    }
    const float v14 = tile_simd_max_f32(v0);
    const bool v15 = v0 == v14;
    const int v16 = v15 ? v1 : 512;
    const int v17 = tile_simd_min_i32(v16);
    const bool v18 = lane == 0;
    if (v18) values_of[simd_group] = v14;
    if (v18) ids_of[simd_group] = v17;
    __syncthreads();
    const float v19 = lane < 8 ? values_of[lane] : __int_as_float(0xff800000);
    const int v20 = lane < 8 ? ids_of[lane] : 512;
    const float v21 = tile_simd_max_f32(v19);
    const bool v22 = v19 == v21;
    const int v23 = v22 ? v20 : 512;
    const int v24 = tile_simd_min_i32(v23);
    const bool v25 = thread_index == 0;
    if (v25) next[0] = v24;
}
