#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void overlap_gate_up_f32(
    device const float* x [[buffer(0)]],
    device const float* w [[buffer(1)]],
    device const float* weights [[buffer(2)]],
    device float* activation [[buffer(3)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int group_x = int(group_position.x);
    const int thread_index = int(thread_position);
    const int simd_group = int(simd_group_index);
    const int lane = int(lane_index);
    alignas(16) threadgroup float vector[64];
    threadgroup float squares[8];
    const int v0 = group_x * 8;
    const int row_1 = v0 + simd_group;
    const int v2 = row_1 + 160;
    const int v3 = thread_index * 4;
    float v4 = 0.0f;
    for (int v5 = v3; v5 < 64; v5 += 1024) {
        const float4 v7 = *(device const float4*)(x + v5);
        const float4 v8 = *(device const float4*)(w + v5);
        const float4 v9 = v7 * v8;
        *(threadgroup float4*)(vector + v5) = v9;
        const float v14 = fma(v7.x, v7.x, v4);
        const float v15 = fma(v7.y, v7.y, v14);
        const float v16 = fma(v7.z, v7.z, v15);
        const float v17 = fma(v7.w, v7.w, v16);
        v4 = v17;
    }
    const float v18 = simd_sum(v4);
    const bool v19 = lane == 0;
    if (v19) squares[simd_group] = v18;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float v20 = 0.0f;
    for (int v21 = 0; v21 < 8; v21 += 1) {
        const float v23 = squares[v21];
        const float v24 = v20 + v23;
        v20 = v24;
    }
    const float v25 = v20 / 64.0f;
    const float v26 = v25 + 1e-6f;
    const float v27 = precise::rsqrt(v26);
    float v28 = 0.0f;
    float v29 = 0.0f;
    for (int v30 = lane; v30 < 16; v30 += 32) {
        const int v33 = v30 * 4;
        const float4 v34 = *(device const float4*)(weights + row_1 * 64 + v33);
        const float4 v39 = *(device const float4*)(weights + v2 * 64 + v33);
        const float4 v44 = *(threadgroup const float4*)(vector + v33);
        const float v49 = fma(v34.x, v44.x, v28);
        const float v50 = fma(v34.y, v44.y, v49);
        const float v51 = fma(v34.z, v44.z, v50);
        const float v52 = fma(v34.w, v44.w, v51);
        const float v53 = fma(v39.x, v44.x, v29);
        const float v54 = fma(v39.y, v44.y, v53);
        const float v55 = fma(v39.z, v44.z, v54);
        const float v56 = fma(v39.w, v44.w, v55);
        v28 = v52;
        v29 = v56;
    }
    const float v57 = simd_sum(v28);
    const float v58 = simd_sum(v29);
    const float v59 = v57 * v27;
    const float v60 = v58 * v27;
    const float v61 = fabs(v59);
    const float v62 = -v61;
    const float v63 = precise::exp(v62);
    const bool v64 = v59 >= 0.0f;
    const float v65 = v63 + 1.0f;
    const float v66 = 1.0f / v65;
    const float v67 = v63 / v65;
    const float v68 = v64 ? v66 : v67;
    const float v69 = v59 * v68;
    const float v70 = v69 * v60;
    if (v19) activation[row_1] = v70;
}
