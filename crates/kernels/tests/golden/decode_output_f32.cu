__device__ __forceinline__ float tile_simd_sum_f32(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const float w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = v + w;
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(256) decode_output_f32(
    const float* __restrict__ x,
    const float* __restrict__ weights,
    float* __restrict__ y
) {
    const int group_x = (int)blockIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    const int v0 = group_x * 8;
    const int row_1 = v0 + simd_group;
    float v2 = 0.0f;
    for (int v3 = lane; v3 < 32; v3 += 32) {
        const int v5 = v3 * 4;
        const float4 v6 = *(const float4*)(weights + row_1 * 128 + v5);
        const float4 v11 = *(const float4*)(x + v5);
        const float v16 = fmaf(v6.x, v11.x, v2);
        const float v17 = fmaf(v6.y, v11.y, v16);
        const float v18 = fmaf(v6.z, v11.z, v17);
        const float v19 = fmaf(v6.w, v11.w, v18);
        v2 = v19;
    }
    const float v20 = tile_simd_sum_f32(v2);
    const bool v21 = lane == 0;
    if (v21) {
        const float v22 = y[row_1];
        const float v23 = v22 + v20;
        y[row_1] = v23;
    }
}
