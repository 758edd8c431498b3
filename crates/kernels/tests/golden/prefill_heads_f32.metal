#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void prefill_heads_f32(
    device const float* qkv [[buffer(0)]],
    device const float* q_norm [[buffer(1)]],
    device const float* k_norm [[buffer(2)]],
    device const float* rotary [[buffer(3)]],
    device const int* control [[buffer(4)]],
    device float* q [[buffer(5)]],
    device float* keys [[buffer(6)]],
    device float* values [[buffer(7)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int group_x = int(group_position.x);
    const int simd_group = int(simd_group_index);
    const int lane = int(lane_index);
    const int v0 = control[0];
    const int v1 = max(v0, 0);
    const int start_2 = min(v1, 63);
    const int v3 = control[1];
    const int v4 = max(v3, 0);
    const int valid_5 = min(v4, 64);
    const int position_6 = start_2 + group_x;
    const bool v7 = group_x < valid_5;
    for (int v8 = simd_group; v8 < 4; v8 += 8) {
        const int v9 = lane * 4;
        float v10 = 0.0f;
        for (int v11 = v9; v11 < 32; v11 += 128) {
            const float v13 = qkv[group_x * 256 + v8 * 32 + v11];
            const float v14 = fma(v13, v13, v10);
            const int v15 = v11 + 1;
            const float v16 = qkv[group_x * 256 + v8 * 32 + v15];
            const float v17 = fma(v16, v16, v14);
            const int v18 = v11 + 2;
            const float v19 = qkv[group_x * 256 + v8 * 32 + v18];
            const float v20 = fma(v19, v19, v17);
            const int v21 = v11 + 3;
            const float v22 = qkv[group_x * 256 + v8 * 32 + v21];
            const float v23 = fma(v22, v22, v20);
            v10 = v23;
        }
        const float v24 = simd_sum(v10);
        const float v25 = v24 / 32.0f;
        const float v26 = v25 + 1e-6f;
        const float v27 = precise::rsqrt(v26);
        for (int v28 = lane; v28 < 16; v28 += 32) {
            const float v29 = qkv[group_x * 256 + v8 * 32 + v28];
            const float v30 = v29 * v27;
            const float v31 = q_norm[v28];
            const float v32 = v30 * v31;
            const int v33 = v28 + 16;
            const float v34 = qkv[group_x * 256 + v8 * 32 + v33];
            const float v35 = v34 * v27;
            const float v36 = q_norm[v33];
            const float v37 = v35 * v36;
            const float2 v38 = position_6 < 64 ? *(device const float2*)(rotary + position_6 * 32 + v28 * 2) : float2(0.0f);
            const float v41 = v37 * v38.y;
            const float v42 = -v41;
            const float v43 = fma(v32, v38.x, v42);
            const float v44 = v32 * v38.y;
            const float v45 = fma(v37, v38.x, v44);
            const float v46 = v7 ? v43 : 0.0f;
            q[group_x * 128 + v8 * 32 + v28] = v46;
            const float v47 = v7 ? v45 : 0.0f;
            q[group_x * 128 + v8 * 32 + v33] = v47;
        }
    }
    for (int v48 = simd_group; v48 < 2; v48 += 8) {
        const int v49 = lane * 4;
        float v50 = 0.0f;
        for (int v51 = v49; v51 < 32; v51 += 128) {
            const int v53 = v48 + 4;
            const float v54 = qkv[group_x * 256 + v53 * 32 + v51];
            const float v55 = fma(v54, v54, v50);
            const int v56 = v51 + 1;
            const float v57 = qkv[group_x * 256 + v53 * 32 + v56];
            const float v58 = fma(v57, v57, v55);
            const int v59 = v51 + 2;
            const float v60 = qkv[group_x * 256 + v53 * 32 + v59];
            const float v61 = fma(v60, v60, v58);
            const int v62 = v51 + 3;
            const float v63 = qkv[group_x * 256 + v53 * 32 + v62];
            const float v64 = fma(v63, v63, v61);
            v50 = v64;
        }
        const float v65 = simd_sum(v50);
        const float v66 = v65 / 32.0f;
        const float v67 = v66 + 1e-6f;
        const float v68 = precise::rsqrt(v67);
        for (int v69 = lane; v69 < 16; v69 += 32) {
            const int v70 = v48 + 4;
            const float v71 = qkv[group_x * 256 + v70 * 32 + v69];
            const float v72 = v71 * v68;
            const float v73 = k_norm[v69];
            const float v74 = v72 * v73;
            const int v75 = v69 + 16;
            const float v76 = qkv[group_x * 256 + v70 * 32 + v75];
            const float v77 = v76 * v68;
            const float v78 = k_norm[v75];
            const float v79 = v77 * v78;
            const float2 v80 = position_6 < 64 ? *(device const float2*)(rotary + position_6 * 32 + v69 * 2) : float2(0.0f);
            const float v83 = v79 * v80.y;
            const float v84 = -v83;
            const float v85 = fma(v74, v80.x, v84);
            const float v86 = v74 * v80.y;
            const float v87 = fma(v79, v80.x, v86);
            if (v7 && position_6 < 64) keys[v48 * 2048 + position_6 * 32 + v69] = v85;
            if (v7 && position_6 < 64) keys[v48 * 2048 + position_6 * 32 + v75] = v87;
        }
        for (int v88 = lane; v88 < 32; v88 += 32) {
            const int v89 = v48 + 4;
            const int v90 = v89 + 2;
            const float v91 = qkv[group_x * 256 + v90 * 32 + v88];
            if (v7 && position_6 < 64) values[v48 * 2048 + position_6 * 32 + v88] = v91;
        }
    }
}
