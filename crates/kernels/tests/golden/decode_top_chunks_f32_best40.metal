#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void decode_top_chunks_f32_best40(
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
    float v0 = as_type<float>(0x7f800000u);
    int v1 = (-1);
    for (int v2 = 0; v2 < 40; v2 += 1) {
        float v5 = as_type<float>(0xff800000u);
        int v6 = 512;
        for (int v7 = thread_index; v7 < 1024; v7 += 256) {
            const float v12 = v7 < 512 ? logits[v7] : as_type<float>(0xff800000u);
            const bool v13 = v12 < v0;
            const bool v14 = v12 == v0;
            const bool v15 = v7 > v1;
            const bool v16 = v14 && v15;
            const bool v17 = v13 || v16;
            const bool v18 = v12 > v5;
            const bool v19 = v12 == v5;
            const bool v20 = v7 < v6;
            const bool v21 = v19 && v20;
            const bool v22 = v18 || v21;
            const float v23 = v22 ? v12 : v5;
            const int v24 = v22 ? v7 : v6;
            const float v25 = v17 ? v23 : v5;
            const int v26 = v17 ? v24 : v6;
            v5 = v25;
            v6 = v26;
        }
        const float v27 = simd_max(v5);
        const bool v28 = v5 == v27;
        const int v29 = v28 ? v6 : 512;
        const int v30 = simd_min(v29);
        const bool v31 = lane == 0;
        if (v31) values_of[simd_group] = v27;
        if (v31) ids_of[simd_group] = v30;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const float v32 = lane < 8 ? values_of[lane] : as_type<float>(0xff800000u);
        const int v33 = lane < 8 ? ids_of[lane] : 512;
        const float v34 = simd_max(v32);
        const bool v35 = v32 == v34;
        const int v36 = v35 ? v33 : 512;
        const int v37 = simd_min(v36);
        const bool v38 = thread_index == 0;
        if (v38) best[v2] = v34;
        if (v38) at[v2] = v37;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v0 = v34;
        v1 = v37;
    }
}
