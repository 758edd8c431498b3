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

extern "C" __global__ void __launch_bounds__(256) overlap_vocabulary_f32(
    const float* x,
    const float* w,
    const float* weights,
    float* y
) {
    tile_next_may_begin();
    const int group_x = (int)blockIdx.x;
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    __shared__ __align__(16) float vector[64];
    __shared__ __align__(16) float squares[8];
    const int v0 = group_x * 8;
    const int row_1 = v0 + simd_group;
    const int v2 = thread_index * 4;
    const bool v3 = v2 < 64;
    const float4 v4 = v3 ? *(const float4*)(w + v2) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    tile_launch_barrier();
    const float4 v5 = v3 ? *(const float4*)(x + v2) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const float4 v6 = make_float4(v5.x * v4.x, v5.y * v4.y, v5.z * v4.z, v5.w * v4.w);
    if (v3) *(float4*)(vector + v2) = v6;
    const float v11 = fmaf(v5.x, v5.x, 0.0f);
    const float v12 = fmaf(v5.y, v5.y, v11);
    const float v13 = fmaf(v5.z, v5.z, v12);
    const float v14 = fmaf(v5.w, v5.w, v13);
    const float v15 = tile_simd_sum_f32(v14);
    const bool v16 = lane == 0;
    if (v16) squares[simd_group] = v15;
    __syncthreads();
    float v17 = 0.0f;
    for (int v18 = 0; v18 < 8; v18 += 1) {
        const float v20 = squares[v18];
        const float v21 = v17 + v20;
        v17 = v21;
    }
    const float v22 = v17 / 64.0f;
    const float v23 = v22 + 1e-6f;
    const float v24 = __frsqrt_rn(v23);
    float v25 = 0.0f;
    for (int v26 = lane; v26 < 16; v26 += 32) {
        const int v28 = v26 * 4;
        const float4 v29 = *(const float4*)(weights + row_1 * 64 + v28);
        const float4 v34 = *(const float4*)(vector + v28);
        const float v39 = fmaf(v29.x, v34.x, v25);
        const float v40 = fmaf(v29.y, v34.y, v39);
        const float v41 = fmaf(v29.z, v34.z, v40);
        const float v42 = fmaf(v29.w, v34.w, v41);
        v25 = v42;
    }
    const float v43 = tile_simd_sum_f32(v25);
    const float v44 = v43 * v24;
    if (v16) y[row_1] = v44;
}
