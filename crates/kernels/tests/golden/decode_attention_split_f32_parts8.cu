__device__ __forceinline__ float tile_simd_sum_f32(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const float w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = v + w;
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(256) decode_attention_split_f32_parts8(
    const float* __restrict__ q,
    const float* __restrict__ keys,
    const float* __restrict__ values,
    const int* __restrict__ control,
    float* __restrict__ maxima,
    float* __restrict__ sums,
    float* __restrict__ mixtures
) {
    const int group_x = (int)blockIdx.x;
    const int group_z = (int)blockIdx.z;
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    __shared__ __align__(16) float maxima_of[8];
    __shared__ __align__(16) float sums_of[8];
    __shared__ __align__(16) float mixtures_of[256];
    const int v0 = control[1];
    const int v1 = max(v0, 0);
    const int position_2 = min(v1, 63);
    const int v3 = position_2 + 1;
    const int v4 = v3 + 7;
    const int v5 = v4 / 8;
    const int v6 = group_z * v5;
    const int v7 = v6 + simd_group;
    const int v8 = group_z + 1;
    const int v9 = v8 * v5;
    const int v10 = min(v9, v3);
    const int v11 = group_x / 2;
    const float v12 = q[group_x * 32 + lane];
    const float v13 = v12 * 0.17677669f;
    float v14 = (-1e30f);
    float v15 = 0.0f;
    float v16 = 0.0f;
    for (int v17 = v7; v17 < v10; v17 += 8) {
        const float v21 = keys[v11 * 2048 + v17 * 32 + lane];
        const float v22 = fmaf(v13, v21, 0.0f);
        const float v23 = tile_simd_sum_f32(v22);
        const float v24 = values[v11 * 2048 + v17 * 32 + lane];
        const float v25 = fmaxf(v14, v23);
        const float v26 = v14 - v25;
        const float v27 = expf(v26);
        const float v28 = v23 - v25;
        const float v29 = expf(v28);
        const float v30 = v16 * v27;
        const float v31 = fmaf(v29, v24, v30);
        const float v32 = fmaf(v15, v27, v29);
        v14 = v25;
        v15 = v32;
        v16 = v31;
    }
    const bool v33 = lane == 0;
    if (v33) maxima_of[simd_group] = v14;
    if (v33) sums_of[simd_group] = v15;
    mixtures_of[simd_group * 32 + lane] = v16;
    __syncthreads();
    float v34 = (-1e30f);
    for (int v35 = 0; v35 < 8; v35 += 1) {
        const float v37 = maxima_of[v35];
        const float v38 = fmaxf(v34, v37);
        v34 = v38;
    }
    float v39 = 0.0f;
    for (int v40 = 0; v40 < 8; v40 += 1) {
        const float v42 = maxima_of[v40];
        const float v43 = v42 - v34;
        const float v44 = expf(v43);
        const float v45 = sums_of[v40];
        const float v46 = fmaf(v44, v45, v39);
        v39 = v46;
    }
    const bool v47 = thread_index == 0;
    if (v47) maxima[group_x * 8 + group_z] = v34;
    if (v47) sums[group_x * 8 + group_z] = v39;
    for (int v48 = thread_index; v48 < 32; v48 += 256) {
        float v49 = 0.0f;
        for (int v50 = 0; v50 < 8; v50 += 1) {
            const float v52 = maxima_of[v50];
            const float v53 = v52 - v34;
            const float v54 = expf(v53);
            const float v55 = mixtures_of[v50 * 32 + v48];
            const float v56 = fmaf(v54, v55, v49);
            v49 = v56;
        }
        mixtures[group_x * 256 + group_z * 32 + v48] = v49;
    }
}
