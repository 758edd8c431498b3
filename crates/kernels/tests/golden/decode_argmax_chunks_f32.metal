#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void decode_argmax_chunks_f32(
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
        const bool v8 = v7 > v0;
        const bool v9 = v7 == v0;
        const bool v10 = v2 < v1;
        const bool v11 = v9 && v10;
        const bool v12 = v8 || v11;
        const float v13 = v12 ? v7 : v0;
        const int v14 = v12 ? v2 : v1;
        v0 = v13;
        v1 = v14;
    }
    const float v15 = simd_max(v0);
    const bool v16 = v0 == v15;
    const int v17 = v16 ? v1 : 512;
    const int v18 = simd_min(v17);
    const bool v19 = lane == 0;
    if (v19) values_of[simd_group] = v15;
    if (v19) ids_of[simd_group] = v18;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float v20 = lane < 8 ? values_of[lane] : as_type<float>(0xff800000u);
    const int v21 = lane < 8 ? ids_of[lane] : 512;
    const float v22 = simd_max(v20);
    const bool v23 = v20 == v22;
    const int v24 = v23 ? v21 : 512;
    const int v25 = simd_min(v24);
    const bool v26 = thread_index == 0;
    if (v26) best[0] = v22;
    if (v26) at[0] = v25;
}
