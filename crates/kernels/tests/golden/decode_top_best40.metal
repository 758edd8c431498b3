#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void decode_top_best40(
    device const float* best [[buffer(0)]],
    device const int* at [[buffer(1)]],
    device float* top [[buffer(2)]],
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
    float v0 = as_type<float>(0x7f800000u);
    int v1 = (-1);
    for (int v2 = 0; v2 < 40; v2 += 1) {
        float v5 = as_type<float>(0xff800000u);
        int v6 = 512;
        for (int v7 = thread_index; v7 < 40; v7 += 256) {
            const float v10 = best[v7];
            const int v11 = at[v7];
            const bool v12 = v10 < v0;
            const bool v13 = v10 == v0;
            const bool v14 = v11 > v1;
            const bool v15 = v13 && v14;
            const bool v16 = v12 || v15;
            const bool v17 = v10 > v5;
            const bool v18 = v10 == v5;
            const bool v19 = v11 < v6;
            const bool v20 = v18 && v19;
            const bool v21 = v17 || v20;
            const float v22 = v21 ? v10 : v5;
            const int v23 = v21 ? v11 : v6;
            const float v24 = v16 ? v22 : v5;
            const int v25 = v16 ? v23 : v6;
            v5 = v24;
            v6 = v25;
        }
        const float v26 = simd_max(v5);
        const bool v27 = v5 == v26;
        const int v28 = v27 ? v6 : 512;
        const int v29 = simd_min(v28);
        const bool v30 = lane == 0;
        if (v30) values_of[simd_group] = v26;
        if (v30) ids_of[simd_group] = v29;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const float v31 = lane < 8 ? values_of[lane] : as_type<float>(0xff800000u);
        const int v32 = lane < 8 ? ids_of[lane] : 512;
        const float v33 = simd_max(v31);
        const bool v34 = v31 == v33;
        const int v35 = v34 ? v32 : 512;
        const int v36 = simd_min(v35);
        const bool v37 = thread_index == 0;
        if (v37) top[v2] = v33;
        if (v37) ids[v2] = v36;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v0 = v33;
        v1 = v36;
    }
}
