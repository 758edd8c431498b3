__device__ __forceinline__ float tile_simd_sum_f32(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const float w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = v + w;
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(32) prefill_norm_f32(
    const float* __restrict__ x,
    const float* __restrict__ w,
    float* __restrict__ y
) {
    const int group_x = (int)blockIdx.x;
    const int thread_index = (int)threadIdx.x;
    const int v0 = thread_index * 4;
    float v1 = 0.0f;
    for (int v2 = v0; v2 < 64; v2 += 128) {
        const float v4 = x[group_x * 64 + v2];
        const float v5 = fmaf(v4, v4, v1);
        const int v6 = v2 + 1;
        const float v7 = x[group_x * 64 + v6];
        const float v8 = fmaf(v7, v7, v5);
        const int v9 = v2 + 2;
        const float v10 = x[group_x * 64 + v9];
        const float v11 = fmaf(v10, v10, v8);
        const int v12 = v2 + 3;
        const float v13 = x[group_x * 64 + v12];
        const float v14 = fmaf(v13, v13, v11);
        v1 = v14;
    }
    const float v15 = tile_simd_sum_f32(v1);
    const float v16 = v15 / 64.0f;
    const float v17 = v16 + 1e-6f;
    const float v18 = __frsqrt_rn(v17);
    for (int v19 = v0; v19 < 64; v19 += 128) {
        const float4 v20 = *(const float4*)(x + group_x * 64 + v19);
        const float4 v21 = *(const float4*)(w + v19);
        const float v23 = v20.x * v18;
        const float v25 = v23 * v21.x;
        const float v27 = v20.y * v18;
        const float v29 = v27 * v21.y;
        const float v31 = v20.z * v18;
        const float v33 = v31 * v21.z;
        const float v35 = v20.w * v18;
        const float v37 = v35 * v21.w;
        const float4 v38 = make_float4(v25, v29, v33, v37);
        *(float4*)(y + group_x * 64 + v19) = v38;
    }
}
