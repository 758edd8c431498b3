#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void decode_attention_split_f32_parts8(
    device const float* q [[buffer(0)]],
    device const float* keys [[buffer(1)]],
    device const float* values [[buffer(2)]],
    device const int* control [[buffer(3)]],
    device float* maxima [[buffer(4)]],
    device float* sums [[buffer(5)]],
    device float* mixtures [[buffer(6)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int group_x = int(group_position.x);
    const int group_z = int(group_position.z);
    const int thread_index = int(thread_position);
    const int simd_group = int(simd_group_index);
    const int lane = int(lane_index);
    threadgroup float maxima_of[8];
    threadgroup float sums_of[8];
    threadgroup float mixtures_of[256];
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
        const float v22 = fma(v13, v21, 0.0f);
        const float v23 = simd_sum(v22);
        const float v24 = values[v11 * 2048 + v17 * 32 + lane];
        const float v25 = fmax(v14, v23);
        const float v26 = v14 - v25;
        const float v27 = precise::exp(v26);
        const float v28 = v23 - v25;
        const float v29 = precise::exp(v28);
        const float v30 = v16 * v27;
        const float v31 = fma(v29, v24, v30);
        const float v32 = fma(v15, v27, v29);
        v14 = v25;
        v15 = v32;
        v16 = v31;
    }
    const bool v33 = lane == 0;
    if (v33) maxima_of[simd_group] = v14;
    if (v33) sums_of[simd_group] = v15;
    mixtures_of[simd_group * 32 + lane] = v16;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float v34 = (-1e30f);
    for (int v35 = 0; v35 < 8; v35 += 1) {
        const float v37 = maxima_of[v35];
        const float v38 = fmax(v34, v37);
        v34 = v38;
    }
    float v39 = 0.0f;
    for (int v40 = 0; v40 < 8; v40 += 1) {
        const float v42 = maxima_of[v40];
        const float v43 = v42 - v34;
        const float v44 = precise::exp(v43);
        const float v45 = sums_of[v40];
        const float v46 = fma(v44, v45, v39);
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
            const float v54 = precise::exp(v53);
            const float v55 = mixtures_of[v50 * 32 + v48];
            const float v56 = fma(v54, v55, v49);
            v49 = v56;
        }
        mixtures[group_x * 256 + group_z * 32 + v48] = v49;
    }
}
