#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void overlap_qkv_f32(
    device const float* x [[buffer(0)]],
    device const float* w [[buffer(1)]],
    device const float* weights [[buffer(2)]],
    device float* y [[buffer(3)]],
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
    float v3 = 0.0f;
    for (int v4 = lane; v4 < 16; v4 += 32) {
        const int v7 = v4 * 4;
        const float4 v8 = *(device const float4*)(weights + row_1 * 64 + v7);
        const float4 v13 = *(device const float4*)(x + v7);
        const float4 v18 = *(device const float4*)(w + v7);
        const float v23 = fma(v13.x, v13.x, v3);
        const float v24 = fma(v13.y, v13.y, v23);
        const float v25 = fma(v13.z, v13.z, v24);
        const float v26 = fma(v13.w, v13.w, v25);
        const float v27 = v13.x * v18.x;
        const float v28 = v13.y * v18.y;
        const float v29 = v13.z * v18.z;
        const float v30 = v13.w * v18.w;
        const float v31 = fma(v8.x, v27, v2);
        const float v32 = fma(v8.y, v28, v31);
        const float v33 = fma(v8.z, v29, v32);
        const float v34 = fma(v8.w, v30, v33);
        v2 = v34;
        v3 = v26;
    }
    const float v35 = simd_sum(v3);
    const float v36 = v35 / 64.0f;
    const float v37 = v36 + 1e-6f;
    const float v38 = precise::rsqrt(v37);
    const float v39 = simd_sum(v2);
    const float v40 = v39 * v38;
    const bool v41 = lane == 0;
    if (v41) y[row_1] = v40;
}
