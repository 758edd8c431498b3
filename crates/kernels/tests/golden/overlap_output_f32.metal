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
    uint simd_group_index [[simdgroup_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int group_x = int(group_position.x);
    const int simd_group = int(simd_group_index);
    const int lane = int(lane_index);
    const int v0 = group_x * 8;
    const int row_1 = v0 + simd_group;
    const int v2 = lane * 4;
    const float4 v3 = *(device const float4*)(weights + row_1 * 128 + v2);
    const bool v8 = lane == 0;
    const float v9 = v8 ? y[row_1] : 0.0f;
    const float4 v10 = *(device const float4*)(x + v2);
    const float v15 = fma(v3.x, v10.x, 0.0f);
    const float v16 = fma(v3.y, v10.y, v15);
    const float v17 = fma(v3.z, v10.z, v16);
    const float v18 = fma(v3.w, v10.w, v17);
    const float v19 = simd_sum(v18);
    const float v20 = v9 + v19;
    if (v8) y[row_1] = v20;
}
