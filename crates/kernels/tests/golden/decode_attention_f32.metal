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
    uint3 group_position [[threadgroup_position_in_grid]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int group_x = int(group_position.x);
    const int group_y = int(group_position.y);
    const int simd_group = int(simd_group_index);
    const int lane = int(lane_index);
    const int v0 = group_x * 8;
    const int head_1 = v0 + simd_group;
    const bool v2 = head_1 < 4;
    if (v2) {
        const int v3 = control[group_y * 2 + 1];
        const int v4 = max(v3, 0);
        const int position_5 = min(v4, 63);
        const int v6 = position_5 + 1;
        const int v7 = head_1 / 2;
        const float v8 = q[group_y * 128 + head_1 * 32 + lane];
        const float v9 = v8 * 0.17677669f;
        float v10 = (-1e30f);
        float v11 = 0.0f;
        float v12 = 0.0f;
        for (int v13 = 0; v13 < v6; v13 += 1) {
            const float v17 = keys[group_y * 4096 + v7 * 2048 + v13 * 32 + lane];
            const float v18 = fma(v9, v17, 0.0f);
            const float v19 = simd_sum(v18);
            const float v20 = values[group_y * 4096 + v7 * 2048 + v13 * 32 + lane];
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
        mixed[group_y * 128 + head_1 * 32 + lane] = v29;
    }
}
