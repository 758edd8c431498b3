#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void decode_vocabulary_f32(
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
    float v2 = 0.0f;
    for (int v3 = lane; v3 < 16; v3 += 32) {
        const int v5 = v3 * 4;
        const float4 v6 = *(device const float4*)(weights + row_1 * 64 + v5);
        const float4 v11 = *(device const float4*)(x + v5);
        const float v16 = fma(v6.x, v11.x, v2);
        const float v17 = fma(v6.y, v11.y, v16);
        const float v18 = fma(v6.z, v11.z, v17);
        const float v19 = fma(v6.w, v11.w, v18);
        v2 = v19;
    }
    const float v20 = simd_sum(v2);
    const bool v21 = lane == 0;
    if (v21) {
        y[row_1] = v20;
    }
}
