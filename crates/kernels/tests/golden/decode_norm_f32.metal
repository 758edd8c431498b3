#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(32)]]
kernel void decode_norm_f32(
    device const float* x [[buffer(0)]],
    device const float* w [[buffer(1)]],
    device float* y [[buffer(2)]],
    uint thread_position [[thread_index_in_threadgroup]]
) {
    const int thread_index = int(thread_position);
    const int v0 = thread_index * 4;
    float v1 = 0.0f;
    for (int v2 = v0; v2 < 64; v2 += 128) {
        const float v4 = x[v2];
        const float v5 = fma(v4, v4, v1);
        const int v6 = v2 + 1;
        const float v7 = x[v6];
        const float v8 = fma(v7, v7, v5);
        const int v9 = v2 + 2;
        const float v10 = x[v9];
        const float v11 = fma(v10, v10, v8);
        const int v12 = v2 + 3;
        const float v13 = x[v12];
        const float v14 = fma(v13, v13, v11);
        v1 = v14;
    }
    const float v15 = simd_sum(v1);
    const float v16 = v15 / 64.0f;
    const float v17 = v16 + 1e-6f;
    const float v18 = precise::rsqrt(v17);
    for (int v19 = v0; v19 < 64; v19 += 128) {
        const float v20 = x[v19];
        const float v21 = v20 * v18;
        const float v22 = w[v19];
        const float v23 = v21 * v22;
        y[v19] = v23;
        const int v24 = v19 + 1;
        const float v25 = x[v24];
        const float v26 = v25 * v18;
        const float v27 = w[v24];
        const float v28 = v26 * v27;
        y[v24] = v28;
        const int v29 = v19 + 2;
        const float v30 = x[v29];
        const float v31 = v30 * v18;
        const float v32 = w[v29];
        const float v33 = v31 * v32;
        y[v29] = v33;
        const int v34 = v19 + 3;
        const float v35 = x[v34];
        const float v36 = v35 * v18;
        const float v37 = w[v34];
        const float v38 = v36 * v37;
        y[v34] = v38;
    }
}
