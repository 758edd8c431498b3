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
    const bool v4 = v3 < 64;
    const float4 v5 = v4 ? *(device const float4*)(w + v3) : float4(0.0f);
    const float4 v6 = v4 ? *(device const float4*)(x + v3) : float4(0.0f);
    const float4 v7 = v6 * v5;
    if (v4) *(threadgroup float4*)(vector + v3) = v7;
    const float v12 = fma(v6.x, v6.x, 0.0f);
    const float v13 = fma(v6.y, v6.y, v12);
    const float v14 = fma(v6.z, v6.z, v13);
    const float v15 = fma(v6.w, v6.w, v14);
    const float v16 = simd_sum(v15);
    const bool v17 = lane == 0;
    if (v17) squares[simd_group] = v16;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float v18 = 0.0f;
    for (int v19 = 0; v19 < 8; v19 += 1) {
        const float v21 = squares[v19];
        const float v22 = v18 + v21;
        v18 = v22;
    }
    const float v23 = v18 / 64.0f;
    const float v24 = v23 + 1e-6f;
    const float v25 = precise::rsqrt(v24);
    float v26 = 0.0f;
    float v27 = 0.0f;
    for (int v28 = lane; v28 < 16; v28 += 32) {
        const int v31 = v28 * 4;
        const float4 v32 = *(device const float4*)(weights + row_1 * 64 + v31);
        const float4 v37 = *(device const float4*)(weights + v2 * 64 + v31);
        const float4 v42 = *(threadgroup const float4*)(vector + v31);
        const float v47 = fma(v32.x, v42.x, v26);
        const float v48 = fma(v32.y, v42.y, v47);
        const float v49 = fma(v32.z, v42.z, v48);
        const float v50 = fma(v32.w, v42.w, v49);
        const float v51 = fma(v37.x, v42.x, v27);
        const float v52 = fma(v37.y, v42.y, v51);
        const float v53 = fma(v37.z, v42.z, v52);
        const float v54 = fma(v37.w, v42.w, v53);
        v26 = v50;
        v27 = v54;
    }
    const float v55 = simd_sum(v26);
    const float v56 = simd_sum(v27);
    const float v57 = v55 * v25;
    const float v58 = v56 * v25;
    const float v59 = fabs(v57);
    const float v60 = -v59;
    const float v61 = precise::exp(v60);
    const bool v62 = v57 >= 0.0f;
    const float v63 = v61 + 1.0f;
    const float v64 = 1.0f / v63;
    const float v65 = v61 / v63;
    const float v66 = v62 ? v64 : v65;
    const float v67 = v57 * v66;
    const float v68 = v67 * v58;
    if (v17) activation[row_1] = v68;
}
