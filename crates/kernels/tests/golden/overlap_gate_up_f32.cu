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
    tile_launch_barrier();
    const int v3 = thread_index * 4;
    float v4 = 0.0f;
    for (int v5 = v3; v5 < 64; v5 += 1024) {
        const float4 v7 = *(const float4*)(x + v5);
        const float4 v8 = *(const float4*)(w + v5);
        const float4 v9 = make_float4(v7.x * v8.x, v7.y * v8.y, v7.z * v8.z, v7.w * v8.w);
        *(float4*)(vector + v5) = v9;
        const float v14 = fmaf(v7.x, v7.x, v4);
        const float v15 = fmaf(v7.y, v7.y, v14);
        const float v16 = fmaf(v7.z, v7.z, v15);
        const float v17 = fmaf(v7.w, v7.w, v16);
        v4 = v17;
    }
    const float v18 = tile_simd_sum_f32(v4);
    const bool v19 = lane == 0;
    if (v19) squares[simd_group] = v18;
    __syncthreads();
    float v20 = 0.0f;
    for (int v21 = 0; v21 < 8; v21 += 1) {
        const float v23 = squares[v21];
        const float v24 = v20 + v23;
        v20 = v24;
    }
    const float v25 = v20 / 64.0f;
    const float v26 = v25 + 1e-6f;
    const float v27 = __frsqrt_rn(v26);
    float v28 = 0.0f;
    float v29 = 0.0f;
    for (int v30 = lane; v30 < 16; v30 += 32) {
        const int v33 = v30 * 4;
        const float4 v34 = *(const float4*)(weights + row_1 * 64 + v33);
        const float4 v39 = *(const float4*)(weights + v2 * 64 + v33);
        const float4 v44 = *(const float4*)(vector + v33);
        const float v49 = fmaf(v34.x, v44.x, v28);
        const float v50 = fmaf(v34.y, v44.y, v49);
        const float v51 = fmaf(v34.z, v44.z, v50);
        const float v52 = fmaf(v34.w, v44.w, v51);
        const float v53 = fmaf(v39.x, v44.x, v29);
        const float v54 = fmaf(v39.y, v44.y, v53);
        const float v55 = fmaf(v39.z, v44.z, v54);
        const float v56 = fmaf(v39.w, v44.w, v55);
        v28 = v52;
        v29 = v56;
    }
    const float v57 = tile_simd_sum_f32(v28);
    const float v58 = tile_simd_sum_f32(v29);
    const float v59 = v57 * v27;
    const float v60 = v58 * v27;
    const float v61 = fabsf(v59);
    const float v62 = -v61;
    const float v63 = expf(v62);
    const bool v64 = v59 >= 0.0f;
    const float v65 = v63 + 1.0f;
    const float v66 = 1.0f / v65;
    const float v67 = v63 / v65;
    const float v68 = v64 ? v66 : v67;
    const float v69 = v59 * v68;
    const float v70 = v69 * v60;
    if (v19) activation[row_1] = v70;
}
