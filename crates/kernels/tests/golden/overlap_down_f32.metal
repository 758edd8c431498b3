#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void overlap_down_f32(
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
    const float4 v3 = *(device const float4*)(weights + row_1 * 160 + v2);
    const bool v8 = lane == 0;
    const float v9 = v8 ? y[row_1] : 0.0f;
    const float4 v10 = *(device const float4*)(x + v2);
    const float v15 = fma(v3.x, v10.x, 0.0f);
    const float v16 = fma(v3.y, v10.y, v15);
    const float v17 = fma(v3.z, v10.z, v16);
    const float v18 = fma(v3.w, v10.w, v17);
    const int v19 = lane + 32;
    float v20 = v18;
    for (int v21 = v19; v21 < 40; v21 += 32) {
        const int v23 = v21 * 4;
        const float4 v24 = *(device const float4*)(weights + row_1 * 160 + v23);
        const float4 v29 = *(device const float4*)(x + v23);
        const float v34 = fma(v24.x, v29.x, v20);
        const float v35 = fma(v24.y, v29.y, v34);
        const float v36 = fma(v24.z, v29.z, v35);
        const float v37 = fma(v24.w, v29.w, v36);
        v20 = v37;
    }
    const float v38 = simd_sum(v20);
    const float v39 = v9 + v38;
    if (v8) y[row_1] = v39;
}
