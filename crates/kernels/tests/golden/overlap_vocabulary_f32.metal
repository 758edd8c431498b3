#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void overlap_vocabulary_f32(
    device const float* x [[buffer(0)]],
    device const float* w [[buffer(1)]],
    device const float* weights [[buffer(2)]],
    device float* y [[buffer(3)]],
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
    const int v2 = thread_index * 4;
    const bool v3 = v2 < 64;
    const float4 v4 = v3 ? *(device const float4*)(w + v2) : float4(0.0f);
    const float4 v5 = v3 ? *(device const float4*)(x + v2) : float4(0.0f);
    const float4 v6 = v5 * v4;
    if (v3) *(threadgroup float4*)(vector + v2) = v6;
    const float v11 = fma(v5.x, v5.x, 0.0f);
    const float v12 = fma(v5.y, v5.y, v11);
    const float v13 = fma(v5.z, v5.z, v12);
    const float v14 = fma(v5.w, v5.w, v13);
    const float v15 = simd_sum(v14);
    const bool v16 = lane == 0;
    if (v16) squares[simd_group] = v15;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float v17 = 0.0f;
    for (int v18 = 0; v18 < 8; v18 += 1) {
        const float v20 = squares[v18];
        const float v21 = v17 + v20;
        v17 = v21;
    }
    const float v22 = v17 / 64.0f;
    const float v23 = v22 + 1e-6f;
    const float v24 = precise::rsqrt(v23);
    float v25 = 0.0f;
    for (int v26 = lane; v26 < 16; v26 += 32) {
        const int v28 = v26 * 4;
        const float4 v29 = *(device const float4*)(weights + row_1 * 64 + v28);
        const float4 v34 = *(threadgroup const float4*)(vector + v28);
        const float v39 = fma(v29.x, v34.x, v25);
        const float v40 = fma(v29.y, v34.y, v39);
        const float v41 = fma(v29.z, v34.z, v40);
        const float v42 = fma(v29.w, v34.w, v41);
        v25 = v42;
    }
    const float v43 = simd_sum(v25);
    const float v44 = v43 * v24;
    if (v16) y[row_1] = v44;
}
