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

extern "C" __global__ void __launch_bounds__(256) decode_top_best40(
    const float* __restrict__ best,
    const int* __restrict__ at,
    float* __restrict__ top,
    int* __restrict__ ids
) {
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    __shared__ __align__(16) float values_of[8];
    __shared__ __align__(16) int ids_of[8];
    float v0 = __int_as_float(0x7f800000);
    int v1 = (-1);
    for (int v2 = 0; v2 < 40; v2 += 1) {
        float v5 = __int_as_float(0xff800000);
        int v6 = 512;
        for (int v7 = thread_index; v7 < 40; v7 += 256) {
            const float v10 = best[v7];
            const int v11 = at[v7];
            const bool v12 = v10 < v0;
            const bool v13 = v10 == v0;
            const bool v14 = v11 > v1;
            const bool v15 = v13 && v14;
            const bool v16 = v12 || v15;
            const bool v17 = v10 > v5;
            const bool v18 = v10 == v5;
            const bool v19 = v11 < v6;
            const bool v20 = v18 && v19;
            const bool v21 = v17 || v20;
            const float v22 = v21 ? v10 : v5;
            const int v23 = v21 ? v11 : v6;
            const float v24 = v16 ? v22 : v5;
            const int v25 = v16 ? v23 : v6;
            v5 = v24;
            v6 = v25;
        }
        const float v26 = tile_simd_max_f32(v5);
        const bool v27 = v5 == v26;
        const int v28 = v27 ? v6 : 512;
        const int v29 = tile_simd_min_i32(v28);
        const bool v30 = lane == 0;
        if (v30) values_of[simd_group] = v26;
        if (v30) ids_of[simd_group] = v29;
        __syncthreads();
        const float v31 = lane < 8 ? values_of[lane] : __int_as_float(0xff800000);
        const int v32 = lane < 8 ? ids_of[lane] : 512;
        const float v33 = tile_simd_max_f32(v31);
        const bool v34 = v31 == v33;
        const int v35 = v34 ? v32 : 512;
        const int v36 = tile_simd_min_i32(v35);
        const bool v37 = thread_index == 0;
        if (v37) top[v2] = v33;
        if (v37) ids[v2] = v36;
        __syncthreads();
        v0 = v33;
        v1 = v36;
    }
}
