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

extern "C" __global__ void __launch_bounds__(256) overlap_gate_up_f32(
    const float* x,
    const float* w,
    const float* weights,
    float* activation
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
    const int v2 = row_1 + 160;
    const int v3 = thread_index * 4;
    const bool v4 = v3 < 64;
    const float4 v5 = v4 ? *(const float4*)(w + v3) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    tile_launch_barrier();
    const float4 v6 = v4 ? *(const float4*)(x + v3) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const float4 v7 = make_float4(v6.x * v5.x, v6.y * v5.y, v6.z * v5.z, v6.w * v5.w);
    if (v4) *(float4*)(vector + v3) = v7;
    const float v12 = fmaf(v6.x, v6.x, 0.0f);
    const float v13 = fmaf(v6.y, v6.y, v12);
    const float v14 = fmaf(v6.z, v6.z, v13);
    const float v15 = fmaf(v6.w, v6.w, v14);
    const float v16 = tile_simd_sum_f32(v15);
    const bool v17 = lane == 0;
    if (v17) squares[simd_group] = v16;
    __syncthreads();
    float v18 = 0.0f;
    for (int v19 = 0; v19 < 8; v19 += 1) {
        const float v21 = squares[v19];
        const float v22 = v18 + v21;
        v18 = v22;
    }
    const float v23 = v18 / 64.0f;
    const float v24 = v23 + 1e-6f;
    const float v25 = __frsqrt_rn(v24);
    float v26 = 0.0f;
    float v27 = 0.0f;
    for (int v28 = lane; v28 < 16; v28 += 32) {
        const int v31 = v28 * 4;
        const float4 v32 = *(const float4*)(weights + row_1 * 64 + v31);
        const float4 v37 = *(const float4*)(weights + v2 * 64 + v31);
        const float4 v42 = *(const float4*)(vector + v31);
        const float v47 = fmaf(v32.x, v42.x, v26);
        const float v48 = fmaf(v32.y, v42.y, v47);
        const float v49 = fmaf(v32.z, v42.z, v48);
        const float v50 = fmaf(v32.w, v42.w, v49);
        const float v51 = fmaf(v37.x, v42.x, v27);
        const float v52 = fmaf(v37.y, v42.y, v51);
        const float v53 = fmaf(v37.z, v42.z, v52);
        const float v54 = fmaf(v37.w, v42.w, v53);
        v26 = v50;
        v27 = v54;
    }
    const float v55 = tile_simd_sum_f32(v26);
    const float v56 = tile_simd_sum_f32(v27);
    const float v57 = v55 * v25;
    const float v58 = v56 * v25;
    const float v59 = fabsf(v57);
    const float v60 = -v59;
    const float v61 = expf(v60);
    const bool v62 = v57 >= 0.0f;
    const float v63 = v61 + 1.0f;
    const float v64 = 1.0f / v63;
    const float v65 = v61 / v63;
    const float v66 = v62 ? v64 : v65;
    const float v67 = v57 * v66;
    const float v68 = v67 * v58;
    if (v17) activation[row_1] = v68;
}
