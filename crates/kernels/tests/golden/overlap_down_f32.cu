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

extern "C" __global__ void __launch_bounds__(256) overlap_down_f32(
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
    const float4 v3 = *(const float4*)(weights + row_1 * 160 + v2);
    tile_launch_barrier();
    const bool v8 = lane == 0;
    const float v9 = v8 ? y[row_1] : 0.0f;
    const float4 v10 = *(const float4*)(x + v2);
    const float v15 = fmaf(v3.x, v10.x, 0.0f);
    const float v16 = fmaf(v3.y, v10.y, v15);
    const float v17 = fmaf(v3.z, v10.z, v16);
    const float v18 = fmaf(v3.w, v10.w, v17);
    const int v19 = lane + 32;
    float v20 = v18;
    for (int v21 = v19; v21 < 40; v21 += 32) {
        const int v23 = v21 * 4;
        const float4 v24 = *(const float4*)(weights + row_1 * 160 + v23);
        const float4 v29 = *(const float4*)(x + v23);
        const float v34 = fmaf(v24.x, v29.x, v20);
        const float v35 = fmaf(v24.y, v29.y, v34);
        const float v36 = fmaf(v24.z, v29.z, v35);
        const float v37 = fmaf(v24.w, v29.w, v36);
        v20 = v37;
    }
    const float v38 = tile_simd_sum_f32(v20);
    const float v39 = v9 + v38;
    if (v8) y[row_1] = v39;
}
