#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void overlap_choose(
    device const float* best [[buffer(0)]],
    device const int* at [[buffer(1)]],
    device int* control [[buffer(2)]],
    device int* ids [[buffer(3)]],
    uint thread_position [[thread_index_in_threadgroup]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int thread_index = int(thread_position);
    const int simd_group = int(simd_group_index);
    const int lane = int(lane_index);
    threadgroup float values_of[8];
    threadgroup int ids_of[8];
    const bool v0 = thread_index == 0;
    const int v1 = v0 ? control[1] : 0;
    const int v2 = max(v1, 0);
    const int position_3 = min(v2, 63);
    float v4 = as_type<float>(0xff800000u);
    int v5 = 512;
    for (int v6 = thread_index; v6 < 1; v6 += 256) {
        const float v9 = best[v6];
        const int v10 = at[v6];
        const bool v11 = v9 > v4;
        const bool v12 = v9 == v4;
        const bool v13 = v10 < v5;
        const bool v14 = v12 && v13;
        const bool v15 = v11 || v14;
        const float v16 = v15 ? v9 : v4;
        const int v17 = v15 ? v10 : v5;
        v4 = v16;
        v5 = v17;
    }
    const float v18 = simd_max(v4);
    const bool v19 = v4 == v18;
    const int v20 = v19 ? v5 : 512;
    const int v21 = simd_min(v20);
    const bool v22 = lane == 0;
    if (v22) values_of[simd_group] = v18;
    if (v22) ids_of[simd_group] = v21;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float v23 = lane < 8 ? values_of[lane] : as_type<float>(0xff800000u);
    const int v24 = lane < 8 ? ids_of[lane] : 512;
    const float v25 = simd_max(v23);
    const bool v26 = v23 == v25;
    const int v27 = v26 ? v24 : 512;
    const int v28 = simd_min(v27);
    if (v0) ids[position_3] = v28;
    if (v0) control[0] = v28;
    const int v29 = position_3 + 1;
    const int v30 = min(v29, 63);
    if (v0) control[1] = v30;
}
