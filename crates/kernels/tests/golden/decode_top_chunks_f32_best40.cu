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

extern "C" __global__ void __launch_bounds__(256) decode_top_chunks_f32_best40(
    const float* __restrict__ logits,
    float* __restrict__ best,
    int* __restrict__ at
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
        for (int v7 = thread_index; v7 < 1024; v7 += 256) {
            const float v12 = v7 < 512 ? logits[v7] : __int_as_float(0xff800000);
            const bool v13 = v12 < v0;
            const bool v14 = v12 == v0;
            const bool v15 = v7 > v1;
            const bool v16 = v14 && v15;
            const bool v17 = v13 || v16;
            const bool v18 = v12 > v5;
            const bool v19 = v12 == v5;
            const bool v20 = v7 < v6;
            const bool v21 = v19 && v20;
            const bool v22 = v18 || v21;
            const float v23 = v22 ? v12 : v5;
            const int v24 = v22 ? v7 : v6;
            const float v25 = v17 ? v23 : v5;
            const int v26 = v17 ? v24 : v6;
            v5 = v25;
            v6 = v26;
        }
        const float v27 = tile_simd_max_f32(v5);
        const bool v28 = v5 == v27;
        const int v29 = v28 ? v6 : 512;
        const int v30 = tile_simd_min_i32(v29);
        const bool v31 = lane == 0;
        if (v31) values_of[simd_group] = v27;
        if (v31) ids_of[simd_group] = v30;
        __syncthreads();
        const float v32 = lane < 8 ? values_of[lane] : __int_as_float(0xff800000);
        const int v33 = lane < 8 ? ids_of[lane] : 512;
        const float v34 = tile_simd_max_f32(v32);
        const bool v35 = v32 == v34;
        const int v36 = v35 ? v33 : 512;
        const int v37 = tile_simd_min_i32(v36);
        const bool v38 = thread_index == 0;
        if (v38) best[v2] = v34;
        if (v38) at[v2] = v37;
        __syncthreads();
        v0 = v34;
        v1 = v37;
    }
}
