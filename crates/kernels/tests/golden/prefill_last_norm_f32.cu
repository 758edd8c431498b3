__device__ __forceinline__ float tile_simd_sum_f32(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const float w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = v + w;
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(32) prefill_last_norm_f32(
    const float* __restrict__ x,
    const float* __restrict__ w,
    const int* __restrict__ control,
    float* __restrict__ y
) {
    const int thread_index = (int)threadIdx.x;
    const int v3 = control[1];
    const int v4 = max(v3, 0);
    const int valid_5 = min(v4, 64);
    const int v6 = valid_5 - 1;
    const int v7 = max(v6, 0);
    const int v8 = thread_index * 4;
    float v9 = 0.0f;
    for (int v10 = v8; v10 < 64; v10 += 128) {
        const float v12 = x[v7 * 64 + v10];
        const float v13 = fmaf(v12, v12, v9);
        const int v14 = v10 + 1;
        const float v15 = x[v7 * 64 + v14];
        const float v16 = fmaf(v15, v15, v13);
        const int v17 = v10 + 2;
        const float v18 = x[v7 * 64 + v17];
        const float v19 = fmaf(v18, v18, v16);
        const int v20 = v10 + 3;
        const float v21 = x[v7 * 64 + v20];
        const float v22 = fmaf(v21, v21, v19);
        v9 = v22;
    }
    const float v23 = tile_simd_sum_f32(v9);
    const float v24 = v23 / 64.0f;
    const float v25 = v24 + 1e-6f;
    const float v26 = __frsqrt_rn(v25);
    for (int v27 = v8; v27 < 64; v27 += 128) {
        const float4 v28 = *(const float4*)(x + v7 * 64 + v27);
        const float4 v29 = *(const float4*)(w + v27);
        const float v31 = v28.x * v26;
        const float v33 = v31 * v29.x;
        const float v35 = v28.y * v26;
        const float v37 = v35 * v29.y;
        const float v39 = v28.z * v26;
        const float v41 = v39 * v29.z;
        const float v43 = v28.w * v26;
        const float v45 = v43 * v29.w;
        const float4 v46 = make_float4(v33, v37, v41, v45);
        *(float4*)(y + v27) = v46;
    }
}
