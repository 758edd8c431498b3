__device__ __forceinline__ float tile_simd_sum_f32(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const float w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = v + w;
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(256) decode_gate_up_f32(
    const float* __restrict__ x,
    const float* __restrict__ weights,
    float* __restrict__ activation
) {
    const int group_x = (int)blockIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    const int v0 = group_x * 8;
    const int row_1 = v0 + simd_group;
    const int v2 = row_1 + 160;
    float v3 = 0.0f;
    float v4 = 0.0f;
    for (int v5 = lane; v5 < 16; v5 += 32) {
        const int v8 = v5 * 4;
        const float4 v9 = *(const float4*)(weights + row_1 * 64 + v8);
        const float4 v14 = *(const float4*)(weights + v2 * 64 + v8);
        const float4 v19 = *(const float4*)(x + v8);
        const float v24 = fmaf(v9.x, v19.x, v3);
        const float v25 = fmaf(v9.y, v19.y, v24);
        const float v26 = fmaf(v9.z, v19.z, v25);
        const float v27 = fmaf(v9.w, v19.w, v26);
        const float v28 = fmaf(v14.x, v19.x, v4);
        const float v29 = fmaf(v14.y, v19.y, v28);
        const float v30 = fmaf(v14.z, v19.z, v29);
        const float v31 = fmaf(v14.w, v19.w, v30);
        v3 = v27;
        v4 = v31;
    }
    const float v32 = tile_simd_sum_f32(v3);
    const float v33 = tile_simd_sum_f32(v4);
    const bool v34 = lane == 0;
    if (v34) {
        const float v35 = fabsf(v32);
        const float v36 = -v35;
        const float v37 = expf(v36);
        const bool v38 = v32 >= 0.0f;
        const float v39 = v37 + 1.0f;
        const float v40 = 1.0f / v39;
        const float v41 = v37 / v39;
        const float v42 = v38 ? v40 : v41;
        const float v43 = v32 * v42;
        const float v44 = v43 * v33;
        activation[row_1] = v44;
    }
}
