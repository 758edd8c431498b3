#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(1024)]]
kernel void decode_masked_softmax_f32(
    device const float* logits [[buffer(0)]],
    device const uchar* mask [[buffer(1)]],
    constant float& temperature [[buffer(2)]],
    device float* probabilities [[buffer(3)]],
    uint thread_position [[thread_index_in_threadgroup]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int thread_index = int(thread_position);
    const int simd_group = int(simd_group_index);
    const int lane = int(lane_index);
    threadgroup float partial0[32];
    threadgroup float partial1[32];
    float v0 = as_type<float>(0xff800000u);
    for (int v1 = thread_index; v1 < 512; v1 += 1024) {
        const uchar v3 = mask[v1];
        const uint v4 = uint(v3);
        const bool v5 = v4 != 0u;
        const float v6 = logits[v1];
        const float v7 = v6 / temperature;
        const float v8 = fmax(v0, v7);
        const float v9 = v5 ? v8 : v0;
        v0 = v9;
    }
    const float v10 = simd_max(v0);
    const bool v11 = lane == 0;
    if (v11) partial0[simd_group] = v10;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float v12 = partial0[lane];
    const float v13 = simd_max(v12);
    float v14 = 0.0f;
    for (int v15 = thread_index; v15 < 512; v15 += 1024) {
        const uchar v17 = mask[v15];
        const uint v18 = uint(v17);
        const bool v19 = v18 != 0u;
        const float v20 = logits[v15];
        const float v21 = v20 / temperature;
        const float v22 = v21 - v13;
        const float v23 = precise::exp(v22);
        const float v24 = v19 ? v23 : 0.0f;
        const float v25 = v14 + v24;
        v14 = v25;
    }
    const float v26 = simd_sum(v14);
    if (v11) partial1[simd_group] = v26;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float v27 = partial1[lane];
    const float v28 = simd_sum(v27);
    const bool v29 = v28 > 0.0f;
    const float v30 = v29 ? v28 : 1.0f;
    for (int v31 = thread_index; v31 < 512; v31 += 1024) {
        const uchar v32 = mask[v31];
        const uint v33 = uint(v32);
        const bool v34 = v33 != 0u;
        const float v35 = logits[v31];
        const float v36 = v35 / temperature;
        const float v37 = v36 - v13;
        const float v38 = precise::exp(v37);
        const float v39 = v34 ? v38 : 0.0f;
        const float v40 = v39 / v30;
        probabilities[v31] = v40;
    }
}
