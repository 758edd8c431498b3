__device__ __forceinline__ float tile_simd_sum_f32(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const float w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = v + w;
    }
    return v;
}

__device__ __forceinline__ float tile_simd_max_f32(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const float w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = fmaxf(v, w);
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(1024) decode_masked_softmax_f32(
    const float* __restrict__ logits,
    const unsigned char* __restrict__ mask,
    const float temperature,
    float* __restrict__ probabilities
) {
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    __shared__ __align__(16) float partial0[32];
    __shared__ __align__(16) float partial1[32];
    float v0 = __int_as_float(0xff800000);
    for (int v1 = thread_index; v1 < 512; v1 += 1024) {
        const unsigned char v3 = mask[v1];
        const unsigned int v4 = (unsigned int)v3;
        const bool v5 = v4 != 0u;
        const float v6 = logits[v1];
        const float v7 = v6 / temperature;
        const float v8 = fmaxf(v0, v7);
        const float v9 = v5 ? v8 : v0;
        v0 = v9;
    }
    const float v10 = tile_simd_max_f32(v0);
    const bool v11 = lane == 0;
    if (v11) partial0[simd_group] = v10;
    __syncthreads();
    const float v12 = partial0[lane];
    const float v13 = tile_simd_max_f32(v12);
    float v14 = 0.0f;
    for (int v15 = thread_index; v15 < 512; v15 += 1024) {
        const unsigned char v17 = mask[v15];
        const unsigned int v18 = (unsigned int)v17;
        const bool v19 = v18 != 0u;
        const float v20 = logits[v15];
        const float v21 = v20 / temperature;
        const float v22 = v21 - v13;
        const float v23 = expf(v22);
        const float v24 = v19 ? v23 : 0.0f;
        const float v25 = v14 + v24;
        v14 = v25;
    }
    const float v26 = tile_simd_sum_f32(v14);
    if (v11) partial1[simd_group] = v26;
    __syncthreads();
    const float v27 = partial1[lane];
    const float v28 = tile_simd_sum_f32(v27);
    const bool v29 = v28 > 0.0f;
    const float v30 = v29 ? v28 : 1.0f;
    for (int v31 = thread_index; v31 < 512; v31 += 1024) {
        const unsigned char v32 = mask[v31];
        const unsigned int v33 = (unsigned int)v32;
        const bool v34 = v33 != 0u;
        const float v35 = logits[v31];
        const float v36 = v35 / temperature;
        const float v37 = v36 - v13;
        const float v38 = expf(v37);
        const float v39 = v34 ? v38 : 0.0f;
        const float v40 = v39 / v30;
        probabilities[v31] = v40;
    }
}
