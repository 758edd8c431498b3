#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void decode_gate_up_f32(
    device const float* x [[buffer(0)]],
    device const float* weights [[buffer(1)]],
    device float* activation [[buffer(2)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int group_x = int(group_position.x);
    const int simd_group = int(simd_group_index);
    const int lane = int(lane_index);
    const int v0 = group_x * 8;
    const int row_1 = v0 + simd_group;
    const int v2 = row_1 + 160;
    float v3 = 0.0f;
    float v4 = 0.0f;
    for (int v5 = lane; v5 < 16; v5 += 32) {
        const int v8 = v5 * 4;
        const float4 v9 = *(device const float4*)(weights + row_1 * 64 + v8);
        const float4 v14 = *(device const float4*)(weights + v2 * 64 + v8);
        const float4 v19 = *(device const float4*)(x + v8);
        const float v24 = fma(v9.x, v19.x, v3);
        const float v25 = fma(v9.y, v19.y, v24);
        const float v26 = fma(v9.z, v19.z, v25);
        const float v27 = fma(v9.w, v19.w, v26);
        const float v28 = fma(v14.x, v19.x, v4);
        const float v29 = fma(v14.y, v19.y, v28);
        const float v30 = fma(v14.z, v19.z, v29);
        const float v31 = fma(v14.w, v19.w, v30);
        v3 = v27;
        v4 = v31;
    }
    const float v32 = simd_sum(v3);
    const float v33 = simd_sum(v4);
    const bool v34 = lane == 0;
    if (v34) {
        const float v35 = fabs(v32);
        const float v36 = -v35;
        const float v37 = precise::exp(v36);
        const bool v38 = v32 >= 0.0f;
        const float v39 = v37 + 1.0f;
        const float v40 = 1.0f / v39;
        const float v41 = v37 / v39;
        const float v42 = v38 ? v40 : v41;
        const float v43 = v32 * v42;
        const float v44 = v43 * v33;
        activation[row_1] = v44;
    }
}
