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
    const float* weights,
    float* y
) {
    tile_next_may_begin();
    const int group_x = (int)blockIdx.x;
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    __shared__ __align__(16) float vector[128];
    const int v0 = group_x * 8;
    const int row_1 = v0 + simd_group;
    const int v2 = lane * 4;
    const float4 v3 = *(const float4*)(weights + row_1 * 128 + v2);
    tile_launch_barrier();
    const bool v8 = lane == 0;
    const float v9 = v8 ? y[row_1] : 0.0f;
    const int v10 = thread_index * 4;
    for (int v11 = v10; v11 < 128; v11 += 1024) {
        const float4 v12 = *(const float4*)(x + v11);
        *(float4*)(vector + v11) = v12;
    }
    __syncthreads();
    const float4 v13 = *(const float4*)(vector + v2);
    const float v18 = fmaf(v3.x, v13.x, 0.0f);
    const float v19 = fmaf(v3.y, v13.y, v18);
    const float v20 = fmaf(v3.z, v13.z, v19);
    const float v21 = fmaf(v3.w, v13.w, v20);
    const float v22 = tile_simd_sum_f32(v21);
    const float v23 = v9 + v22;
    if (v8) y[row_1] = v23;
}
