#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void decode_attention_f32(
    device const float* q [[buffer(0)]],
    device const float* keys [[buffer(1)]],
    device const float* values [[buffer(2)]],
    device const int* control [[buffer(3)]],
    device float* mixed [[buffer(4)]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int simd_group = int(simd_group_index);
    const int lane = int(lane_index);
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
            const float v18 = fma(v9, v17, 0.0f);
            const float v19 = simd_sum(v18);
            const float v20 = values[v7 * 2048 + v13 * 32 + lane];
            const float v21 = fmax(v10, v19);
            const float v22 = v10 - v21;
            const float v23 = precise::exp(v22);
            const float v24 = v19 - v21;
            const float v25 = precise::exp(v24);
            const float v26 = v12 * v23;
            const float v27 = fma(v25, v20, v26);
            const float v28 = fma(v11, v23, v25);
            v10 = v21;
            v11 = v28;
            v12 = v27;
        }
        const float v29 = v12 / v11;
        mixed[simd_group * 32 + lane] = v29;
    }
}
