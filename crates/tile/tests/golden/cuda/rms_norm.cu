__device__ __forceinline__ float tile_simd_sum_f32(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const float w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = v + w;
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(256) rms_norm(
    const float* __restrict__ x,
    const float* __restrict__ w,
    float* __restrict__ y
) {
    const int group_x = (int)blockIdx.x;
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    __shared__ __align__(16) float partial0[8];
    const int v0 = thread_index * 4;
    float v1 = 0.0f;
    for (int v2 = v0; v2 < 1024; v2 += 1024) {
        const float v4 = x[group_x * 1024 + v2];
        const float v5 = fmaf(v4, v4, v1);
        const int v6 = v2 + 1;
        const float v7 = x[group_x * 1024 + v6];
        const float v8 = fmaf(v7, v7, v5);
        const int v9 = v2 + 2;
        const float v10 = x[group_x * 1024 + v9];
        const float v11 = fmaf(v10, v10, v8);
        const int v12 = v2 + 3;
        const float v13 = x[group_x * 1024 + v12];
        const float v14 = fmaf(v13, v13, v11);
        v1 = v14;
    }
    const float v15 = tile_simd_sum_f32(v1);
    const bool v16 = lane == 0;
    if (v16) partial0[simd_group] = v15;
    __syncthreads();
    const float v17 = lane < 8 ? partial0[lane] : (-0.0f);
    const float v18 = tile_simd_sum_f32(v17);
    const float v19 = v18 / 1024.0f;
    const float v20 = v19 + 1e-6f;
    const float v21 = __frsqrt_rn(v20);
    for (int v22 = v0; v22 < 1024; v22 += 1024) {
        const float v23 = x[group_x * 1024 + v22];
        const float v24 = v23 * v21;
        const float v25 = w[v22];
        const float v26 = v24 * v25;
        y[group_x * 1024 + v22] = v26;
        const int v27 = v22 + 1;
        const float v28 = x[group_x * 1024 + v27];
        const float v29 = v28 * v21;
        const float v30 = w[v27];
        const float v31 = v29 * v30;
        y[group_x * 1024 + v27] = v31;
        const int v32 = v22 + 2;
        const float v33 = x[group_x * 1024 + v32];
        const float v34 = v33 * v21;
        const float v35 = w[v32];
        const float v36 = v34 * v35;
        y[group_x * 1024 + v32] = v36;
        const int v37 = v22 + 3;
        const float v38 = x[group_x * 1024 + v37];
        const float v39 = v38 * v21;
        const float v40 = w[v37];
        const float v41 = v39 * v40;
        y[group_x * 1024 + v37] = v41;
    }
}
