#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void overlap_candidates(
    device const float* logits [[buffer(0)]],
    device float* best [[buffer(1)]],
    device int* at [[buffer(2)]],
    uint thread_position [[thread_index_in_threadgroup]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int thread_index = int(thread_position);
    const int simd_group = int(simd_group_index);
    const int lane = int(lane_index);
    threadgroup float values_of[8];
    threadgroup int ids_of[8];
    float v0 = as_type<float>(0xff800000u);
    int v1 = 512;
    for (int v2 = thread_index; v2 < 1024; v2 += 256) {
        const float v7 = v2 < 512 ? logits[v2] : as_type<float>(0xff800000u);
        const bool v8 = v2 < 512;
        const float v9 = fabs(v7);
        const bool v10 = v9 <= 3.4028235e38f;
        const bool v11 = !v10;
        const bool v12 = v8 && v11;
        const float v13 = v12 ? as_type<float>(0x7f800000u) : v7;
        const int v14 = v12 ? 512 : v2;
        const bool v15 = v13 > v0;
        const bool v16 = v13 == v0;
        const bool v17 = v14 < v1;
        const bool v18 = v16 && v17;
        const bool v19 = v15 || v18;
        const float v20 = v19 ? v13 : v0;
        const int v21 = v19 ? v14 : v1;
        v0 = v20;
        v1 = v21;
    }
    const float v22 = simd_max(v0);
    const bool v23 = v0 == v22;
    const int v24 = v23 ? v1 : 512;
    const int v25 = simd_min(v24);
    const bool v26 = lane == 0;
    if (v26) values_of[simd_group] = v22;
    if (v26) ids_of[simd_group] = v25;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float v27 = lane < 8 ? values_of[lane] : as_type<float>(0xff800000u);
    const int v28 = lane < 8 ? ids_of[lane] : 512;
    const float v29 = simd_max(v27);
    const bool v30 = v27 == v29;
    const int v31 = v30 ? v28 : 512;
    const int v32 = simd_min(v31);
    const bool v33 = thread_index == 0;
    if (v33) best[0] = v29;
    if (v33) at[0] = v32;
}
