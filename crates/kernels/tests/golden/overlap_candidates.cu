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

extern "C" __global__ void __launch_bounds__(256) overlap_candidates(
    const float* logits,
    float* best,
    int* at
) {
    tile_next_may_begin();
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    __shared__ __align__(16) float values_of[8];
    __shared__ __align__(16) int ids_of[8];
    tile_launch_barrier();
    float v0 = __int_as_float(0xff800000);
    int v1 = 512;
    for (int v2 = thread_index; v2 < 1024; v2 += 256) {
        const float v7 = v2 < 512 ? logits[v2] : __int_as_float(0xff800000);
        const bool v8 = v2 < 512;
        const float v9 = fabsf(v7);
        const bool v10 = v9 <= 3.4028235e38f;
        const bool v11 = !v10;
        const bool v12 = v8 && v11;
        const float v13 = v12 ? __int_as_float(0x7f800000) : v7;
        const int v14 = v12 ? 512 : v2;
        const bool v15 = v13 > v0;
        const bool v16 = v13 == v0;
        const bool v17 = v14 < v1;
        const bool v18 = v16 && v17;
        const bool v19 = v15 || v18;
        const float v20 = v19 ? v13 : v0;
        const int v21 = v19 ? v14 : v1;
        v0 = v20;
        v1 = v21;
    }
    const float v22 = tile_simd_max_f32(v0);
    const bool v23 = v0 == v22;
    const int v24 = v23 ? v1 : 512;
    const int v25 = tile_simd_min_i32(v24);
    const bool v26 = lane == 0;
    if (v26) values_of[simd_group] = v22;
    if (v26) ids_of[simd_group] = v25;
    __syncthreads();
    const float v27 = lane < 8 ? values_of[lane] : __int_as_float(0xff800000);
    const int v28 = lane < 8 ? ids_of[lane] : 512;
    const float v29 = tile_simd_max_f32(v27);
    const bool v30 = v27 == v29;
    const int v31 = v30 ? v28 : 512;
    const int v32 = tile_simd_min_i32(v31);
    const bool v33 = thread_index == 0;
    if (v33) best[0] = v29;
    if (v33) at[0] = v32;
}
