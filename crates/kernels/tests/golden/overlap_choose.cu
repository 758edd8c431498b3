__device__ __forceinline__ void tile_next_may_begin() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

__device__ __forceinline__ void tile_launch_barrier() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

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

extern "C" __global__ void __launch_bounds__(256) overlap_choose(
    const float* best,
    const int* at,
    int* control,
    int* ids
) {
    tile_next_may_begin();
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    __shared__ __align__(16) float values_of[8];
    __shared__ __align__(16) int ids_of[8];
    tile_launch_barrier();
    const bool v0 = thread_index == 0;
    const int v1 = v0 ? control[1] : 0;
    const int v2 = max(v1, 0);
    const int position_3 = min(v2, 63);
    float v4 = __int_as_float(0xff800000);
    int v5 = 512;
    for (int v6 = thread_index; v6 < 1; v6 += 256) {
        const float v9 = best[v6];
        const int v10 = at[v6];
        const bool v11 = v9 > v4;
        const bool v12 = v9 == v4;
        const bool v13 = v10 < v5;
        const bool v14 = v12 && v13;
        const bool v15 = v11 || v14;
        const float v16 = v15 ? v9 : v4;
        const int v17 = v15 ? v10 : v5;
        v4 = v16;
        v5 = v17;
    }
    const float v18 = tile_simd_max_f32(v4);
    const bool v19 = v4 == v18;
    const int v20 = v19 ? v5 : 512;
    const int v21 = tile_simd_min_i32(v20);
    const bool v22 = lane == 0;
    if (v22) values_of[simd_group] = v18;
    if (v22) ids_of[simd_group] = v21;
    __syncthreads();
    const float v23 = lane < 8 ? values_of[lane] : __int_as_float(0xff800000);
    const int v24 = lane < 8 ? ids_of[lane] : 512;
    const float v25 = tile_simd_max_f32(v23);
    const bool v26 = v23 == v25;
    const int v27 = v26 ? v24 : 512;
    const int v28 = tile_simd_min_i32(v27);
    if (v0) ids[position_3] = v28;
    if (v0) control[0] = v28;
    const int v29 = position_3 + 1;
    const int v30 = min(v29, 63);
    if (v0) control[1] = v30;
}
