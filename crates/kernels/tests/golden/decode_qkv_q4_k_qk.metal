#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void decode_qkv_q4_k_qk(
    device const float* x [[buffer(0)]],
    device const uint* weights [[buffer(1)]],
    device const uchar* weights_scales [[buffer(2)]],
    device const half* weights_steps [[buffer(3)]],
    device float* y [[buffer(4)]],
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
    for (int v3 = lane; v3 < 8; v3 += 32) {
        const int v5 = v3 * 8;
        const uint v6 = weights[row_1 * 8 + v3];
        const uint v7 = v6 & 15u;
        const float v8 = float(v7);
        const uint v9 = v6 >> 4u;
        const uint v10 = v9 & 15u;
        const float v11 = float(v10);
        const uint v12 = v6 >> 8u;
        const uint v13 = v12 & 15u;
        const float v14 = float(v13);
        const uint v15 = v6 >> 12u;
        const uint v16 = v15 & 15u;
        const float v17 = float(v16);
        const uint v18 = v6 >> 16u;
        const uint v19 = v18 & 15u;
        const float v20 = float(v19);
        const uint v21 = v6 >> 20u;
        const uint v22 = v21 & 15u;
        const float v23 = float(v22);
        const uint v24 = v6 >> 24u;
        const uint v25 = v24 & 15u;
        const float v26 = float(v25);
        const uint v27 = v6 >> 28u;
        const uint v28 = v27 & 15u;
        const float v29 = float(v28);
        const int v30 = v5 / 32;
        const uchar2 v31 = *(device const uchar2*)(weights_scales + row_1 * 4 + v30 * 2);
        const float2 v32 = float2(v31);
        const half2 v34 = *(device const half2*)(weights_steps + row_1 * 2);
        const float2 v35 = float2(v34);
        const float2 v36 = v35 * v32;
        const float4 v39 = *(device const float4*)(x + v5);
        const int v44 = v5 + 4;
        const float4 v45 = *(device const float4*)(x + v44);
        const float v50 = v8 * v39.x;
        const float v51 = fma(v11, v39.y, v50);
        const float v52 = fma(v14, v39.z, v51);
        const float v53 = fma(v17, v39.w, v52);
        const float v54 = fma(v20, v45.x, v53);
        const float v55 = fma(v23, v45.y, v54);
        const float v56 = fma(v26, v45.z, v55);
        const float v57 = fma(v29, v45.w, v56);
        const float v58 = fma(v36.x, v57, v2);
        const float v59 = v39.x + v39.y;
        const float v60 = v59 + v39.z;
        const float v61 = v60 + v39.w;
        const float v62 = v61 + v45.x;
        const float v63 = v62 + v45.y;
        const float v64 = v63 + v45.z;
        const float v65 = v64 + v45.w;
        const float v66 = -v36.y;
        const float v67 = fma(v66, v65, v58);
        v2 = v67;
    }
    const float v68 = simd_sum(v2);
    const bool v69 = lane == 0;
    if (v69) {
        y[row_1] = v68;
    }
}
