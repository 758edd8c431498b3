#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void overlap_gate_up_f32(
    device const float* x [[buffer(0)]],
    device const float* w [[buffer(1)]],
    device const float* weights [[buffer(2)]],
    device float* activation [[buffer(3)]],
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
    float v5 = 0.0f;
    for (int v6 = lane; v6 < 16; v6 += 32) {
        const int v10 = v6 * 4;
        const float4 v11 = *(device const float4*)(weights + row_1 * 64 + v10);
        const float4 v16 = *(device const float4*)(weights + v2 * 64 + v10);
        const float4 v21 = *(device const float4*)(x + v10);
        const float4 v26 = *(device const float4*)(w + v10);
        const float v31 = fma(v21.x, v21.x, v5);
        const float v32 = fma(v21.y, v21.y, v31);
        const float v33 = fma(v21.z, v21.z, v32);
        const float v34 = fma(v21.w, v21.w, v33);
        const float v35 = v21.x * v26.x;
        const float v36 = v21.y * v26.y;
        const float v37 = v21.z * v26.z;
        const float v38 = v21.w * v26.w;
        const float v39 = fma(v11.x, v35, v3);
        const float v40 = fma(v11.y, v36, v39);
        const float v41 = fma(v11.z, v37, v40);
        const float v42 = fma(v11.w, v38, v41);
        const float v43 = fma(v16.x, v35, v4);
        const float v44 = fma(v16.y, v36, v43);
        const float v45 = fma(v16.z, v37, v44);
        const float v46 = fma(v16.w, v38, v45);
        v3 = v42;
        v4 = v46;
        v5 = v34;
    }
    const float v47 = simd_sum(v5);
    const float v48 = v47 / 64.0f;
    const float v49 = v48 + 1e-6f;
    const float v50 = precise::rsqrt(v49);
    const float v51 = simd_sum(v3);
    const float v52 = v51 * v50;
    const float v53 = simd_sum(v4);
    const float v54 = v53 * v50;
    const float v55 = fabs(v52);
    const float v56 = -v55;
    const float v57 = precise::exp(v56);
    const bool v58 = v52 >= 0.0f;
    const float v59 = v57 + 1.0f;
    const float v60 = 1.0f / v59;
    const float v61 = v57 / v59;
    const float v62 = v58 ? v60 : v61;
    const float v63 = v52 * v62;
    const float v64 = v63 * v54;
    const bool v65 = lane == 0;
    if (v65) activation[row_1] = v64;
}
