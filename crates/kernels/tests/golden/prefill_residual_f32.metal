#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(32)]]
kernel void prefill_residual_f32(
    device float* x [[buffer(0)]],
    device const float* y [[buffer(1)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]]
) {
    const int group_y = int(group_position.y);
    const int thread_index = int(thread_position);
    const int v2 = thread_index * 4;
    const float4 v3 = v2 < 64 ? *(device const float4*)(x + group_y * 64 + v2) : float4(0.0f);
    const float4 v4 = v2 < 64 ? *(device const float4*)(y + group_y * 64 + v2) : float4(0.0f);
    const float4 v5 = v3 + v4;
    if (v2 < 64) *(device float4*)(x + group_y * 64 + v2) = v5;
}
