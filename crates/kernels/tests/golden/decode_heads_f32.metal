#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void decode_heads_f32(
    device const int* control [[buffer(0)]],
    device const float* qkv [[buffer(1)]],
    device const float* q_norm [[buffer(2)]],
    device const float* k_norm [[buffer(3)]],
    device const float* rotary [[buffer(4)]],
    device float* q [[buffer(5)]],
    device float* keys [[buffer(6)]],
    device float* values [[buffer(7)]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int simd_group = int(simd_group_index);
    const int lane = int(lane_index);
    const int v2 = control[1];
    const int v3 = max(v2, 0);
    const int position_4 = min(v3, 63);
    const bool v5 = simd_group < 4;
    if (v5) {
        const int v6 = lane * 4;
        float v7 = 0.0f;
        for (int v8 = v6; v8 < 32; v8 += 128) {
            const float v10 = qkv[simd_group * 32 + v8];
            const float v11 = fma(v10, v10, v7);
            const int v12 = v8 + 1;
            const float v13 = qkv[simd_group * 32 + v12];
            const float v14 = fma(v13, v13, v11);
            const int v15 = v8 + 2;
            const float v16 = qkv[simd_group * 32 + v15];
            const float v17 = fma(v16, v16, v14);
            const int v18 = v8 + 3;
            const float v19 = qkv[simd_group * 32 + v18];
            const float v20 = fma(v19, v19, v17);
            v7 = v20;
        }
        const float v21 = simd_sum(v7);
        const float v22 = v21 / 32.0f;
        const float v23 = v22 + 1e-6f;
        const float v24 = precise::rsqrt(v23);
        for (int v25 = lane; v25 < 16; v25 += 32) {
            const float v26 = qkv[simd_group * 32 + v25];
            const float v27 = v26 * v24;
            const float v28 = q_norm[v25];
            const float v29 = v27 * v28;
            const int v30 = v25 + 16;
            const float v31 = qkv[simd_group * 32 + v30];
            const float v32 = v31 * v24;
            const float v33 = q_norm[v30];
            const float v34 = v32 * v33;
            const float v35 = rotary[position_4 * 32 + v25 * 2];
            const float v36 = rotary[position_4 * 32 + v25 * 2 + 1];
            const float v37 = v34 * v36;
            const float v38 = -v37;
            const float v39 = fma(v29, v35, v38);
            const float v40 = v29 * v36;
            const float v41 = fma(v34, v35, v40);
            q[simd_group * 32 + v25] = v39;
            q[simd_group * 32 + v30] = v41;
        }
    }
    const bool v42 = simd_group >= 4;
    const bool v43 = simd_group < 6;
    const bool v44 = v42 && v43;
    if (v44) {
        const int v45 = lane * 4;
        float v46 = 0.0f;
        for (int v47 = v45; v47 < 32; v47 += 128) {
            const float v49 = qkv[simd_group * 32 + v47];
            const float v50 = fma(v49, v49, v46);
            const int v51 = v47 + 1;
            const float v52 = qkv[simd_group * 32 + v51];
            const float v53 = fma(v52, v52, v50);
            const int v54 = v47 + 2;
            const float v55 = qkv[simd_group * 32 + v54];
            const float v56 = fma(v55, v55, v53);
            const int v57 = v47 + 3;
            const float v58 = qkv[simd_group * 32 + v57];
            const float v59 = fma(v58, v58, v56);
            v46 = v59;
        }
        const float v60 = simd_sum(v46);
        const float v61 = v60 / 32.0f;
        const float v62 = v61 + 1e-6f;
        const float v63 = precise::rsqrt(v62);
        for (int v64 = lane; v64 < 16; v64 += 32) {
            const float v65 = qkv[simd_group * 32 + v64];
            const float v66 = v65 * v63;
            const float v67 = k_norm[v64];
            const float v68 = v66 * v67;
            const int v69 = v64 + 16;
            const float v70 = qkv[simd_group * 32 + v69];
            const float v71 = v70 * v63;
            const float v72 = k_norm[v69];
            const float v73 = v71 * v72;
            const float v74 = rotary[position_4 * 32 + v64 * 2];
            const float v75 = rotary[position_4 * 32 + v64 * 2 + 1];
            const float v76 = v73 * v75;
            const float v77 = -v76;
            const float v78 = fma(v68, v74, v77);
            const float v79 = v68 * v75;
            const float v80 = fma(v73, v74, v79);
            const int v81 = simd_group - 4;
            keys[v81 * 2048 + position_4 * 32 + v64] = v78;
            keys[v81 * 2048 + position_4 * 32 + v69] = v80;
        }
    }
    const bool v82 = simd_group >= 6;
    if (v82) {
        const int v85 = simd_group - 6;
        for (int v86 = lane; v86 < 32; v86 += 32) {
            const float v87 = qkv[simd_group * 32 + v86];
            values[v85 * 2048 + position_4 * 32 + v86] = v87;
        }
    }
}
