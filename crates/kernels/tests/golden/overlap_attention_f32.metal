#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(1024)]]
kernel void overlap_attention_f32(
    device const int* control [[buffer(0)]],
    device const float* qkv [[buffer(1)]],
    device const float* q_norm [[buffer(2)]],
    device const float* k_norm [[buffer(3)]],
    device const float* rotary [[buffer(4)]],
    device float* keys [[buffer(5)]],
    device float* values [[buffer(6)]],
    device float* mixed [[buffer(7)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int group_x = int(group_position.x);
    const int thread_index = int(thread_position);
    const int simd_group = int(simd_group_index);
    const int lane = int(lane_index);
    threadgroup float queries[64];
    threadgroup float own[64];
    threadgroup float maxima_of[32];
    threadgroup float sums_of[32];
    threadgroup float mixtures_of[1024];
    const int v0 = control[1];
    const int v1 = max(v0, 0);
    const int position_2 = min(v1, 63);
    const bool v3 = simd_group < 2;
    if (v3) {
        const int v4 = group_x * 2;
        const int v5 = v4 + simd_group;
        const int v6 = lane * 4;
        float v7 = 0.0f;
        for (int v8 = v6; v8 < 32; v8 += 128) {
            const float v10 = qkv[v5 * 32 + v8];
            const float v11 = fma(v10, v10, v7);
            const int v12 = v8 + 1;
            const float v13 = qkv[v5 * 32 + v12];
            const float v14 = fma(v13, v13, v11);
            const int v15 = v8 + 2;
            const float v16 = qkv[v5 * 32 + v15];
            const float v17 = fma(v16, v16, v14);
            const int v18 = v8 + 3;
            const float v19 = qkv[v5 * 32 + v18];
            const float v20 = fma(v19, v19, v17);
            v7 = v20;
        }
        const float v21 = simd_sum(v7);
        const float v22 = v21 / 32.0f;
        const float v23 = v22 + 1e-6f;
        const float v24 = precise::rsqrt(v23);
        for (int v25 = lane; v25 < 16; v25 += 32) {
            const float v26 = qkv[v5 * 32 + v25];
            const float v27 = v26 * v24;
            const float v28 = q_norm[v25];
            const float v29 = v27 * v28;
            const int v30 = v25 + 16;
            const float v31 = qkv[v5 * 32 + v30];
            const float v32 = v31 * v24;
            const float v33 = q_norm[v30];
            const float v34 = v32 * v33;
            const float v35 = rotary[position_2 * 32 + v25 * 2];
            const float v36 = rotary[position_2 * 32 + v25 * 2 + 1];
            const float v37 = v34 * v36;
            const float v38 = -v37;
            const float v39 = fma(v29, v35, v38);
            const float v40 = v29 * v36;
            const float v41 = fma(v34, v35, v40);
            const float v42 = v39 * 0.17677669f;
            queries[simd_group * 32 + v25] = v42;
            const float v43 = v41 * 0.17677669f;
            queries[simd_group * 32 + v30] = v43;
        }
    }
    const bool v44 = simd_group == 2;
    if (v44) {
        const int v45 = group_x + 4;
        const int v46 = lane * 4;
        float v47 = 0.0f;
        for (int v48 = v46; v48 < 32; v48 += 128) {
            const float v50 = qkv[v45 * 32 + v48];
            const float v51 = fma(v50, v50, v47);
            const int v52 = v48 + 1;
            const float v53 = qkv[v45 * 32 + v52];
            const float v54 = fma(v53, v53, v51);
            const int v55 = v48 + 2;
            const float v56 = qkv[v45 * 32 + v55];
            const float v57 = fma(v56, v56, v54);
            const int v58 = v48 + 3;
            const float v59 = qkv[v45 * 32 + v58];
            const float v60 = fma(v59, v59, v57);
            v47 = v60;
        }
        const float v61 = simd_sum(v47);
        const float v62 = v61 / 32.0f;
        const float v63 = v62 + 1e-6f;
        const float v64 = precise::rsqrt(v63);
        for (int v65 = lane; v65 < 16; v65 += 32) {
            const float v66 = qkv[v45 * 32 + v65];
            const float v67 = v66 * v64;
            const float v68 = k_norm[v65];
            const float v69 = v67 * v68;
            const int v70 = v65 + 16;
            const float v71 = qkv[v45 * 32 + v70];
            const float v72 = v71 * v64;
            const float v73 = k_norm[v70];
            const float v74 = v72 * v73;
            const float v75 = rotary[position_2 * 32 + v65 * 2];
            const float v76 = rotary[position_2 * 32 + v65 * 2 + 1];
            const float v77 = v74 * v76;
            const float v78 = -v77;
            const float v79 = fma(v69, v75, v78);
            const float v80 = v69 * v76;
            const float v81 = fma(v74, v75, v80);
            own[v65] = v79;
            keys[group_x * 2048 + position_2 * 32 + v65] = v79;
            own[v70] = v81;
            keys[group_x * 2048 + position_2 * 32 + v70] = v81;
        }
        for (int v82 = lane; v82 < 32; v82 += 32) {
            const int v83 = group_x + 6;
            const float v84 = qkv[v83 * 32 + v82];
            own[v82 + 32] = v84;
            values[group_x * 2048 + position_2 * 32 + v82] = v84;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const int v85 = simd_group / 16;
    const int v86 = simd_group % 16;
    const float v87 = queries[v85 * 32 + lane];
    float v88 = (-1e30f);
    float v89 = 0.0f;
    float v90 = 0.0f;
    for (int v91 = v86; v91 < position_2; v91 += 16) {
        const float v95 = keys[group_x * 2048 + v91 * 32 + lane];
        const float v96 = values[group_x * 2048 + v91 * 32 + lane];
        const float v97 = fma(v87, v95, 0.0f);
        const float v98 = simd_sum(v97);
        const float v99 = fmax(v88, v98);
        const float v100 = v88 - v99;
        const float v101 = precise::exp(v100);
        const float v102 = v98 - v99;
        const float v103 = precise::exp(v102);
        const float v104 = v90 * v101;
        const float v105 = fma(v103, v96, v104);
        const float v106 = fma(v89, v101, v103);
        v88 = v99;
        v89 = v106;
        v90 = v105;
    }
    const float v107 = own[lane];
    const float v108 = own[lane + 32];
    const bool v109 = v86 == 0;
    const float v110 = fma(v87, v107, 0.0f);
    const float v111 = simd_sum(v110);
    const float v112 = v109 ? v111 : (-1e30f);
    const float v113 = fmax(v88, v112);
    const float v114 = v88 - v113;
    const float v115 = precise::exp(v114);
    const float v116 = v112 - v113;
    const float v117 = precise::exp(v116);
    const float v118 = v90 * v115;
    const float v119 = fma(v117, v108, v118);
    const float v120 = fma(v89, v115, v117);
    const bool v121 = lane == 0;
    if (v121) maxima_of[v85 * 16 + v86] = v113;
    if (v121) sums_of[v85 * 16 + v86] = v120;
    mixtures_of[v85 * 512 + v86 * 32 + lane] = v119;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int v122 = thread_index; v122 < 64; v122 += 1024) {
        const int v123 = v122 / 32;
        const int v124 = v122 % 32;
        float v125 = (-1e30f);
        for (int v126 = 0; v126 < 16; v126 += 1) {
            const float v128 = maxima_of[v123 * 16 + v126];
            const float v129 = fmax(v125, v128);
            v125 = v129;
        }
        float v130 = 0.0f;
        for (int v131 = 0; v131 < 16; v131 += 1) {
            const float v133 = maxima_of[v123 * 16 + v131];
            const float v134 = v133 - v125;
            const float v135 = precise::exp(v134);
            const float v136 = sums_of[v123 * 16 + v131];
            const float v137 = fma(v135, v136, v130);
            v130 = v137;
        }
        float v138 = 0.0f;
        for (int v139 = 0; v139 < 16; v139 += 1) {
            const float v141 = maxima_of[v123 * 16 + v139];
            const float v142 = v141 - v125;
            const float v143 = precise::exp(v142);
            const float v144 = mixtures_of[v123 * 512 + v139 * 32 + v124];
            const float v145 = fma(v143, v144, v138);
            v138 = v145;
        }
        const float v146 = v138 / v130;
        mixed[group_x * 64 + v122] = v146;
    }
}
