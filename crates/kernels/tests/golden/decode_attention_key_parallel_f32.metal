#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void decode_attention_key_parallel_f32(
    device const float* q [[buffer(0)]],
    device const float* keys [[buffer(1)]],
    device const float* values [[buffer(2)]],
    device const int* control [[buffer(3)]],
    device float* mixed [[buffer(4)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int group_x = int(group_position.x);
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
    const int v4 = group_x / 2;
    const float v5 = q[group_x * 32 + lane];
    const float v6 = v5 * 0.17677669f;
    float v7 = (-1e30f);
    float v8 = 0.0f;
    float v9 = 0.0f;
    for (int v10 = simd_group; v10 < v3; v10 += 8) {
        const float v14 = keys[v4 * 2048 + v10 * 32 + lane];
        const float v15 = fma(v6, v14, 0.0f);
        const float v16 = simd_sum(v15);
        const float v17 = values[v4 * 2048 + v10 * 32 + lane];
        const float v18 = fmax(v7, v16);
        const float v19 = v7 - v18;
        const float v20 = precise::exp(v19);
        const float v21 = v16 - v18;
        const float v22 = precise::exp(v21);
        const float v23 = v9 * v20;
        const float v24 = fma(v22, v17, v23);
        const float v25 = fma(v8, v20, v22);
        v7 = v18;
        v8 = v25;
        v9 = v24;
    }
    const bool v26 = lane == 0;
    if (v26) maxima_of[simd_group] = v7;
    if (v26) sums_of[simd_group] = v8;
    mixtures_of[simd_group * 32 + lane] = v9;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float v27 = (-1e30f);
    for (int v28 = 0; v28 < 8; v28 += 1) {
        const float v30 = maxima_of[v28];
        const float v31 = fmax(v27, v30);
        v27 = v31;
    }
    float v32 = 0.0f;
    for (int v33 = 0; v33 < 8; v33 += 1) {
        const float v35 = maxima_of[v33];
        const float v36 = v35 - v27;
        const float v37 = precise::exp(v36);
        const float v38 = sums_of[v33];
        const float v39 = fma(v37, v38, v32);
        v32 = v39;
    }
    for (int v40 = thread_index; v40 < 32; v40 += 256) {
        float v41 = 0.0f;
        for (int v42 = 0; v42 < 8; v42 += 1) {
            const float v44 = maxima_of[v42];
            const float v45 = v44 - v27;
            const float v46 = precise::exp(v45);
            const float v47 = mixtures_of[v42 * 32 + v40];
            const float v48 = fma(v46, v47, v41);
            v41 = v48;
        }
        const float v49 = v41 / v32;
        mixed[group_x * 32 + v40] = v49;
    }
}
