#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void decode_qkv_q6_k_v(
    device const float* x [[buffer(0)]],
    device const uint* weights [[buffer(1)]],
    device const uchar* weights_tops [[buffer(2)]],
    device const char* weights_scales [[buffer(3)]],
    device const half* weights_steps [[buffer(4)]],
    device float* y [[buffer(5)]],
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
        const int v7 = v3 * 2;
        const uchar2 v8 = *(device const uchar2*)(weights_tops + row_1 * 16 + v7);
        const uint2 v9 = uint2(v8);
        const uint v10 = v6 & 15u;
        const uint v12 = v9.x & 3u;
        const uint v13 = v12 << 4u;
        const uint v14 = v10 | v13;
        const float v15 = float(v14);
        const float v16 = v15 - 32.0f;
        const uint v17 = v6 >> 4u;
        const uint v18 = v17 & 15u;
        const uint v19 = v9.x >> 2u;
        const uint v20 = v19 & 3u;
        const uint v21 = v20 << 4u;
        const uint v22 = v18 | v21;
        const float v23 = float(v22);
        const float v24 = v23 - 32.0f;
        const uint v25 = v6 >> 8u;
        const uint v26 = v25 & 15u;
        const uint v27 = v9.x >> 4u;
        const uint v28 = v27 & 3u;
        const uint v29 = v28 << 4u;
        const uint v30 = v26 | v29;
        const float v31 = float(v30);
        const float v32 = v31 - 32.0f;
        const uint v33 = v6 >> 12u;
        const uint v34 = v33 & 15u;
        const uint v35 = v9.x >> 6u;
        const uint v36 = v35 & 3u;
        const uint v37 = v36 << 4u;
        const uint v38 = v34 | v37;
        const float v39 = float(v38);
        const float v40 = v39 - 32.0f;
        const uint v41 = v6 >> 16u;
        const uint v42 = v41 & 15u;
        const uint v44 = v9.y & 3u;
        const uint v45 = v44 << 4u;
        const uint v46 = v42 | v45;
        const float v47 = float(v46);
        const float v48 = v47 - 32.0f;
        const uint v49 = v6 >> 20u;
        const uint v50 = v49 & 15u;
        const uint v51 = v9.y >> 2u;
        const uint v52 = v51 & 3u;
        const uint v53 = v52 << 4u;
        const uint v54 = v50 | v53;
        const float v55 = float(v54);
        const float v56 = v55 - 32.0f;
        const uint v57 = v6 >> 24u;
        const uint v58 = v57 & 15u;
        const uint v59 = v9.y >> 4u;
        const uint v60 = v59 & 3u;
        const uint v61 = v60 << 4u;
        const uint v62 = v58 | v61;
        const float v63 = float(v62);
        const float v64 = v63 - 32.0f;
        const uint v65 = v6 >> 28u;
        const uint v66 = v65 & 15u;
        const uint v67 = v9.y >> 6u;
        const uint v68 = v67 & 3u;
        const uint v69 = v68 << 4u;
        const uint v70 = v66 | v69;
        const float v71 = float(v70);
        const float v72 = v71 - 32.0f;
        const half v74 = weights_steps[row_1];
        const float v75 = float(v74);
        const int v76 = v5 / 16;
        const char v77 = weights_scales[row_1 * 4 + v76];
        const float v78 = float(v77);
        const float v79 = v75 * v78;
        const float4 v80 = *(device const float4*)(x + v5);
        const int v85 = v5 + 4;
        const float4 v86 = *(device const float4*)(x + v85);
        const float v91 = v16 * v80.x;
        const float v92 = fma(v24, v80.y, v91);
        const float v93 = fma(v32, v80.z, v92);
        const float v94 = fma(v40, v80.w, v93);
        const float v95 = fma(v48, v86.x, v94);
        const float v96 = fma(v56, v86.y, v95);
        const float v97 = fma(v64, v86.z, v96);
        const float v98 = fma(v72, v86.w, v97);
        const float v99 = fma(v79, v98, v2);
        v2 = v99;
    }
    const float v100 = simd_sum(v2);
    const bool v101 = lane == 0;
    const int v102 = row_1 + 192;
    if (v101) {
        y[v102] = v100;
    }
}
