#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(128)]]
kernel void arg_max(
    device const float* x [[buffer(0)]],
    device float* value [[buffer(1)]],
    device int* index [[buffer(2)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int group_x = int(group_position.x);
    const int thread_index = int(thread_position);
    const int simd_group = int(simd_group_index);
    const int lane = int(lane_index);
    threadgroup float partial0[4];
    threadgroup int partial1[4];
    float v0 = as_type<float>(0xff800000u);
    int v1 = 2147483647;
    for (int v2 = thread_index; v2 < 700; v2 += 128) {
        const float v5 = x[group_x * 700 + v2];
        const bool v6 = v5 > v0;
        const float v7 = v6 ? v5 : v0;
        const int v8 = v6 ? v2 : v1;
        v0 = v7;
        v1 = v8;
    }
    const float v9 = simd_max(v0);
    const bool v10 = lane == 0;
    if (v10) partial0[simd_group] = v9;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float v11 = lane < 4 ? partial0[lane] : as_type<float>(0xff800000u);
    const float v12 = simd_max(v11);
    const bool v13 = v0 == v12;
    const int v14 = v13 ? v1 : 2147483647;
    const int v15 = simd_min(v14);
    if (v10) partial1[simd_group] = v15;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const int v16 = lane < 4 ? partial1[lane] : 2147483647;
    const int v17 = simd_min(v16);
    const bool v18 = thread_index == 0;
    if (v18) value[group_x] = v12;
    if (v18) index[group_x] = v17;
}
