__device__ __forceinline__ float tile_simd_sum_f32(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const float w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = v + w;
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(256) decode_attention_f32(
    const float* __restrict__ q,
    const float* __restrict__ keys,
    const float* __restrict__ values,
    const int* __restrict__ control,
    float* __restrict__ mixed
) {
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    const bool v2 = simd_group < 4;
    if (v2) {
        const int v3 = control[1];
        const int v4 = max(v3, 0);
        const int position_5 = min(v4, 63);
        const int v6 = position_5 + 1;
        const int v7 = simd_group / 2;
        const float v8 = q[simd_group * 32 + lane];
        const float v9 = v8 * 0.17677669f;
        float v10 = (-1e30f);
        float v11 = 0.0f;
        float v12 = 0.0f;
        for (int v13 = 0; v13 < v6; v13 += 1) {
            const float v17 = keys[v7 * 2048 + v13 * 32 + lane];
            const float v18 = fmaf(v9, v17, 0.0f);
            const float v19 = tile_simd_sum_f32(v18);
            const float v20 = values[v7 * 2048 + v13 * 32 + lane];
            const float v21 = fmaxf(v10, v19);
            const float v22 = v10 - v21;
            const float v23 = expf(v22);
            const float v24 = v19 - v21;
            const float v25 = expf(v24);
            const float v26 = v12 * v23;
            const float v27 = fmaf(v25, v20, v26);
            const float v28 = fmaf(v11, v23, v25);
            v10 = v21;
            v11 = v28;
            v12 = v27;
        }
        const float v29 = v12 / v11;
        mixed[simd_group * 32 + lane] = v29;
    }
}
