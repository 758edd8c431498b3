#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void decode_argmax(
    device const float* best [[buffer(0)]],
    device const int* at [[buffer(1)]],
    device int* next [[buffer(2)]],
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
    for (int v2 = thread_index; v2 < 1; v2 += 256) {
        const float v5 = best[v2];
        const int v6 = at[v2];
        const bool v7 = v5 > v0;
        const bool v8 = v5 == v0;
        const bool v9 = v6 < v1;
        const bool v10 = v8 && v9;
        const bool v11 = v7 || v10;
        const float v12 = v11 ? v5 : v0;
        const int v13 = v11 ? v6 : v1;
        v0 = v12;
        v1 = v13;
    }
    const float v14 = simd_max(v0);
    const bool v15 = v0 == v14;
    const int v16 = v15 ? v1 : 512;
    const int v17 = simd_min(v16);
    const bool v18 = lane == 0;
    if (v18) values_of[simd_group] = v14;
    if (v18) ids_of[simd_group] = v17;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float v19 = lane < 8 ? values_of[lane] : as_type<float>(0xff800000u);
    const int v20 = lane < 8 ? ids_of[lane] : 512;
    const float v21 = simd_max(v19);
    const bool v22 = v19 == v21;
    const int v23 = v22 ? v20 : 512;
    const int v24 = simd_min(v23);
    const bool v25 = thread_index == 0;
    if (v25) next[0] = v24;
}
