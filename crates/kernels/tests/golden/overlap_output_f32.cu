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

__device__ __forceinline__ float tile_simd_sum_f32(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const float w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = v + w;
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(256) overlap_output_f32(
    const float* x,
    const float* __restrict__ weights,
    float* y
) {
    tile_next_may_begin();
    const int group_x = (int)blockIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    const int v0 = group_x * 8;
    const int row_1 = v0 + simd_group;
    const int v2 = lane * 4;
    const float4 v3 = *(const float4*)(weights + row_1 * 128 + v2);
    tile_launch_barrier();
    const bool v8 = lane == 0;
    const float v9 = v8 ? y[row_1] : 0.0f;
    const float4 v10 = *(const float4*)(x + v2);
    const float v15 = fmaf(v3.x, v10.x, 0.0f);
    const float v16 = fmaf(v3.y, v10.y, v15);
    const float v17 = fmaf(v3.z, v10.z, v16);
    const float v18 = fmaf(v3.w, v10.w, v17);
    const float v19 = tile_simd_sum_f32(v18);
    const float v20 = v9 + v19;
    if (v8) y[row_1] = v20;
}
