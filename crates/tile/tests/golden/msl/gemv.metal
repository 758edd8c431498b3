#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void gemv(
    device const bfloat* weights [[buffer(0)]],
    device const float* x [[buffer(1)]],
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
    float v3 = 0.0f;
    for (int v4 = v2; v4 < 256; v4 += 128) {
        const bfloat4 v6 = row_1 < 37 ? *(device const bfloat4*)(weights + row_1 * 256 + v4) : bfloat4(bfloat(0.0f));
        const float4 v7 = float4(v6);
        const float4 v8 = *(device const float4*)(x + v4);
        const float v11 = fma(v7.x, v8.x, v3);
        const float v14 = fma(v7.y, v8.y, v11);
        const float v17 = fma(v7.z, v8.z, v14);
        const float v20 = fma(v7.w, v8.w, v17);
        v3 = v20;
    }
    const float v21 = simd_sum(v3);
    const bool v22 = lane == 0;
    if (v22 && row_1 < 37) y[row_1] = v21;
}
