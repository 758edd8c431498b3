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
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    const int v0 = group_x * 8;
    const int row_1 = v0 + simd_group;
    const int v2 = row_1 + 160;
    tile_launch_barrier();
    float v3 = 0.0f;
    float v4 = 0.0f;
    float v5 = 0.0f;
    for (int v6 = lane; v6 < 16; v6 += 32) {
        const int v10 = v6 * 4;
        const float4 v11 = *(const float4*)(weights + row_1 * 64 + v10);
        const float4 v16 = *(const float4*)(weights + v2 * 64 + v10);
        const float4 v21 = *(const float4*)(x + v10);
        const float4 v26 = *(const float4*)(w + v10);
        const float v31 = fmaf(v21.x, v21.x, v5);
        const float v32 = fmaf(v21.y, v21.y, v31);
        const float v33 = fmaf(v21.z, v21.z, v32);
        const float v34 = fmaf(v21.w, v21.w, v33);
        const float v35 = v21.x * v26.x;
        const float v36 = v21.y * v26.y;
        const float v37 = v21.z * v26.z;
        const float v38 = v21.w * v26.w;
        const float v39 = fmaf(v11.x, v35, v3);
        const float v40 = fmaf(v11.y, v36, v39);
        const float v41 = fmaf(v11.z, v37, v40);
        const float v42 = fmaf(v11.w, v38, v41);
        const float v43 = fmaf(v16.x, v35, v4);
        const float v44 = fmaf(v16.y, v36, v43);
        const float v45 = fmaf(v16.z, v37, v44);
        const float v46 = fmaf(v16.w, v38, v45);
        v3 = v42;
        v4 = v46;
        v5 = v34;
    }
    const float v47 = tile_simd_sum_f32(v5);
    const float v48 = v47 / 64.0f;
    const float v49 = v48 + 1e-6f;
    const float v50 = __frsqrt_rn(v49);
    const float v51 = tile_simd_sum_f32(v3);
    const float v52 = v51 * v50;
    const float v53 = tile_simd_sum_f32(v4);
    const float v54 = v53 * v50;
    const float v55 = fabsf(v52);
    const float v56 = -v55;
    const float v57 = expf(v56);
    const bool v58 = v52 >= 0.0f;
    const float v59 = v57 + 1.0f;
    const float v60 = 1.0f / v59;
    const float v61 = v57 / v59;
    const float v62 = v58 ? v60 : v61;
    const float v63 = v52 * v62;
    const float v64 = v63 * v54;
    const bool v65 = lane == 0;
    if (v65) activation[row_1] = v64;
}
