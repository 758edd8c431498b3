#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void plain_attention_f32(
    device const float* q [[buffer(0)]],
    device const float* keys [[buffer(1)]],
    device const float* values [[buffer(2)]],
    device const int* control [[buffer(3)]],
    device float* out [[buffer(4)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int group_x = int(group_position.x);
    const int group_y = int(group_position.y);
    const int simd_group = int(simd_group_index);
    const int lane = int(lane_index);
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
        const float v25 = fma(v16, v24, 0.0f);
        const float v26 = simd_sum(v25);
        const float v27 = values[v14 * 2048 + v20 * 32 + lane];
        const float v28 = fmax(v17, v26);
        const float v29 = v17 - v28;
        const float v30 = precise::exp(v29);
        const float v31 = v26 - v28;
        const float v32 = precise::exp(v31);
        const float v33 = v19 * v30;
        const float v34 = fma(v32, v27, v33);
        const float v35 = fma(v18, v30, v32);
        v17 = v28;
        v18 = v35;
        v19 = v34;
    }
    const float v36 = fmax(v18, 1.0f);
    const float v37 = v19 / v36;
    out[row_7 * 128 + group_x * 32 + lane] = v37;
}
