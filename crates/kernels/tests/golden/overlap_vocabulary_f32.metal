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
    float v3 = 0.0f;
    for (int v4 = v2; v4 < 64; v4 += 1024) {
        const float4 v6 = *(device const float4*)(x + v4);
        const float4 v7 = *(device const float4*)(w + v4);
        const float4 v8 = v6 * v7;
        *(threadgroup float4*)(vector + v4) = v8;
        const float v13 = fma(v6.x, v6.x, v3);
        const float v14 = fma(v6.y, v6.y, v13);
        const float v15 = fma(v6.z, v6.z, v14);
        const float v16 = fma(v6.w, v6.w, v15);
        v3 = v16;
    }
    const float v17 = simd_sum(v3);
    const bool v18 = lane == 0;
    if (v18) squares[simd_group] = v17;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float v19 = 0.0f;
    for (int v20 = 0; v20 < 8; v20 += 1) {
        const float v22 = squares[v20];
        const float v23 = v19 + v22;
        v19 = v23;
    }
    const float v24 = v19 / 64.0f;
    const float v25 = v24 + 1e-6f;
    const float v26 = precise::rsqrt(v25);
    float v27 = 0.0f;
    for (int v28 = lane; v28 < 16; v28 += 32) {
        const int v30 = v28 * 4;
        const float4 v31 = *(device const float4*)(weights + row_1 * 64 + v30);
        const float4 v36 = *(threadgroup const float4*)(vector + v30);
        const float v41 = fma(v31.x, v36.x, v27);
        const float v42 = fma(v31.y, v36.y, v41);
        const float v43 = fma(v31.z, v36.z, v42);
        const float v44 = fma(v31.w, v36.w, v43);
        v27 = v44;
    }
    const float v45 = simd_sum(v27);
    const float v46 = v45 * v26;
    if (v18) y[row_1] = v46;
}
