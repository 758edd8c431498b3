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
    tile_launch_barrier();
    const int v2 = thread_index * 4;
    float v3 = 0.0f;
    for (int v4 = v2; v4 < 64; v4 += 1024) {
        const float4 v6 = *(const float4*)(x + v4);
        const float4 v7 = *(const float4*)(w + v4);
        const float4 v8 = make_float4(v6.x * v7.x, v6.y * v7.y, v6.z * v7.z, v6.w * v7.w);
        *(float4*)(vector + v4) = v8;
        const float v13 = fmaf(v6.x, v6.x, v3);
        const float v14 = fmaf(v6.y, v6.y, v13);
        const float v15 = fmaf(v6.z, v6.z, v14);
        const float v16 = fmaf(v6.w, v6.w, v15);
        v3 = v16;
    }
    const float v17 = tile_simd_sum_f32(v3);
    const bool v18 = lane == 0;
    if (v18) squares[simd_group] = v17;
    __syncthreads();
    float v19 = 0.0f;
    for (int v20 = 0; v20 < 8; v20 += 1) {
        const float v22 = squares[v20];
        const float v23 = v19 + v22;
        v19 = v23;
    }
    const float v24 = v19 / 64.0f;
    const float v25 = v24 + 1e-6f;
    const float v26 = __frsqrt_rn(v25);
    float v27 = 0.0f;
    for (int v28 = lane; v28 < 16; v28 += 32) {
        const int v30 = v28 * 4;
        const float4 v31 = *(const float4*)(weights + row_1 * 64 + v30);
        const float4 v36 = *(const float4*)(vector + v30);
        const float v41 = fmaf(v31.x, v36.x, v27);
        const float v42 = fmaf(v31.y, v36.y, v41);
        const float v43 = fmaf(v31.z, v36.z, v42);
        const float v44 = fmaf(v31.w, v36.w, v43);
        v27 = v44;
    }
    const float v45 = tile_simd_sum_f32(v27);
    const float v46 = v45 * v26;
    if (v18) y[row_1] = v46;
}
