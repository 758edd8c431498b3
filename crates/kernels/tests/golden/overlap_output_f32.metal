#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void overlap_output_f32(
    device const float* x [[buffer(0)]],
    device const float* weights [[buffer(1)]],
    device float* y [[buffer(2)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int group_x = int(group_position.x);
    const int thread_index = int(thread_position);
    const int simd_group = int(simd_group_index);
    const int lane = int(lane_index);
    alignas(16) threadgroup float vector[128];
    const int v0 = group_x * 8;
    const int row_1 = v0 + simd_group;
    const int v2 = lane * 4;
    const float4 v3 = *(device const float4*)(weights + row_1 * 128 + v2);
    const bool v8 = lane == 0;
    const float v9 = v8 ? y[row_1] : 0.0f;
    const int v10 = thread_index * 4;
    for (int v11 = v10; v11 < 128; v11 += 1024) {
        const float4 v12 = *(device const float4*)(x + v11);
        *(threadgroup float4*)(vector + v11) = v12;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float4 v13 = *(threadgroup const float4*)(vector + v2);
    const float v18 = fma(v3.x, v13.x, 0.0f);
    const float v19 = fma(v3.y, v13.y, v18);
    const float v20 = fma(v3.z, v13.z, v19);
    const float v21 = fma(v3.w, v13.w, v20);
    const float v22 = simd_sum(v21);
    const float v23 = v9 + v22;
    if (v8) y[row_1] = v23;
}
