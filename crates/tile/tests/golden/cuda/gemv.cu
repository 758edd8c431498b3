__device__ __forceinline__ float tile_bf16_to_f32(unsigned short b) {
    return __uint_as_float((unsigned int)b << 16);
}

__device__ __forceinline__ float tile_simd_sum_f32(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const float w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = v + w;
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(256) gemv(
    const unsigned short* __restrict__ weights,
    const float* __restrict__ x,
    float* __restrict__ y
) {
    const int group_x = (int)blockIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    const int v0 = group_x * 8;
    const int row_1 = v0 + simd_group;
    const int v2 = lane * 4;
    float v3 = 0.0f;
    for (int v4 = v2; v4 < 256; v4 += 128) {
        const ushort4 v6 = row_1 < 37 ? *(const ushort4*)(weights + row_1 * 256 + v4) : make_ushort4((unsigned short)0x0000, (unsigned short)0x0000, (unsigned short)0x0000, (unsigned short)0x0000);
        const float4 v7 = make_float4(tile_bf16_to_f32(v6.x), tile_bf16_to_f32(v6.y), tile_bf16_to_f32(v6.z), tile_bf16_to_f32(v6.w));
        const float4 v8 = *(const float4*)(x + v4);
        const float v11 = fmaf(v7.x, v8.x, v3);
        const float v14 = fmaf(v7.y, v8.y, v11);
        const float v17 = fmaf(v7.z, v8.z, v14);
        const float v20 = fmaf(v7.w, v8.w, v17);
        v3 = v20;
    }
    const float v21 = tile_simd_sum_f32(v3);
    const bool v22 = lane == 0;
    if (v22 && row_1 < 37) y[row_1] = v21;
}
