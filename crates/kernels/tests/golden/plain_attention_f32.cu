__device__ __forceinline__ float tile_simd_sum_f32(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const float w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = v + w;
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(256, 1) plain_attention_f32(
    const float* __restrict__ q,
    const float* __restrict__ keys,
    const float* __restrict__ values,
    const int* __restrict__ control,
    float* __restrict__ out
) {
    const int group_x = (int)blockIdx.x;
    const int group_y = (int)blockIdx.y;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    const int v0 = control[0];
    const int v1 = max(v0, 0);
    const int start_2 = min(v1, 63);
    const int v3 = control[1];
    const int v4 = max(v3, 0);
    const int valid_5 = min(v4, 64);
    const int v6 = group_y * 8;
    const int row_7 = v6 + simd_group;
    const int v8 = row_7 + 1;
    const int v9 = min(v8, valid_5);
    const int v10 = start_2 + v9;
    const int v11 = min(v10, 64);
    const bool v12 = row_7 < valid_5;
    const int horizon_13 = v12 ? v11 : 0;
    const int v14 = group_x / 2;
    const float v15 = q[row_7 * 128 + group_x * 32 + lane];
    const float v16 = v15 * 0.17677669f;
    float v17 = (-1e30f);
    float v18 = 0.0f;
    float v19 = 0.0f;
    for (int v20 = 0; v20 < horizon_13; v20 += 1) {
        const float v24 = keys[v14 * 2048 + v20 * 32 + lane];
        const float v25 = fmaf(v16, v24, 0.0f);
        const float v26 = tile_simd_sum_f32(v25);
        const float v27 = values[v14 * 2048 + v20 * 32 + lane];
        const float v28 = fmaxf(v17, v26);
        const float v29 = v17 - v28;
        const float v30 = expf(v29);
        const float v31 = v26 - v28;
        const float v32 = expf(v31);
        const float v33 = v19 * v30;
        const float v34 = fmaf(v32, v27, v33);
        const float v35 = fmaf(v18, v30, v32);
        v17 = v28;
        v18 = v35;
        v19 = v34;
    }
    const float v36 = fmaxf(v18, 1.0f);
    const float v37 = v19 / v36;
    out[row_7 * 128 + group_x * 32 + lane] = v37;
}
