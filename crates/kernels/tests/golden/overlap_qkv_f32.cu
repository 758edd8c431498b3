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

extern "C" __global__ void __launch_bounds__(256) overlap_qkv_f32(
    const float* x,
    const float* w,
    const float* weights,
    float* y
) {
    tile_next_may_begin();
    const int group_x = (int)blockIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    const int v0 = group_x * 8;
    const int row_1 = v0 + simd_group;
    tile_launch_barrier();
    float v2 = 0.0f;
    float v3 = 0.0f;
    for (int v4 = lane; v4 < 16; v4 += 32) {
        const int v7 = v4 * 4;
        const float4 v8 = *(const float4*)(weights + row_1 * 64 + v7);
        const float4 v13 = *(const float4*)(x + v7);
        const float4 v18 = *(const float4*)(w + v7);
        const float v23 = fmaf(v13.x, v13.x, v3);
        const float v24 = fmaf(v13.y, v13.y, v23);
        const float v25 = fmaf(v13.z, v13.z, v24);
        const float v26 = fmaf(v13.w, v13.w, v25);
        const float v27 = v13.x * v18.x;
        const float v28 = v13.y * v18.y;
        const float v29 = v13.z * v18.z;
        const float v30 = v13.w * v18.w;
        const float v31 = fmaf(v8.x, v27, v2);
        const float v32 = fmaf(v8.y, v28, v31);
        const float v33 = fmaf(v8.z, v29, v32);
        const float v34 = fmaf(v8.w, v30, v33);
        v2 = v34;
        v3 = v26;
    }
    const float v35 = tile_simd_sum_f32(v3);
    const float v36 = v35 / 64.0f;
    const float v37 = v36 + 1e-6f;
    const float v38 = __frsqrt_rn(v37);
    const float v39 = tile_simd_sum_f32(v2);
    const float v40 = v39 * v38;
    const bool v41 = lane == 0;
    if (v41) y[row_1] = v40;
}
