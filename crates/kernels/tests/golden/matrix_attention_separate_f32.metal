#include <metal_stdlib>
#include <metal_simdgroup_matrix>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(128)]]
kernel void matrix_attention_separate_f32(
    device const float* q [[buffer(0)]],
    device const float* keys [[buffer(1)]],
    device const float* values [[buffer(2)]],
    device const int* control [[buffer(3)]],
    device float* out [[buffer(4)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int group_x = int(group_position.x);
    const int group_y = int(group_position.y);
    const int thread_index = int(thread_position);
    const int simd_group = int(simd_group_index);
    const int lane = int(lane_index);
    alignas(16) threadgroup float queries[1024];
    alignas(16) threadgroup float key_or_value_tile[512];
    alignas(16) threadgroup float scores[512];
    threadgroup float factors[256];
    const int v0 = simd_group * 8;
    const int v1 = control[0];
    const int v2 = max(v1, 0);
    const int start_3 = min(v2, 63);
    const int v4 = control[1];
    const int v5 = max(v4, 0);
    const int valid_6 = min(v5, 64);
    const int v7 = group_y * 32;
    const int v8 = v7 + 32;
    const int v9 = min(v8, valid_6);
    const int v10 = start_3 + v9;
    const int v11 = min(v10, 64);
    const bool v12 = v7 < valid_6;
    const int horizon_13 = v12 ? v11 : 0;
    const int v14 = group_x / 2;
    for (int v15 = thread_index; v15 < 256; v15 += 128) {
        const int v16 = v15 / 8;
        const int v17 = v15 % 8;
        const int v18 = v17 * 4;
        const int v19 = v7 + v16;
        const float4 v20 = *(device const float4*)(q + group_x * 32 + v19 * 128 + v18);
        *(threadgroup float4*)(queries + v16 * 32 + v18) = v20;
    }
    const simdgroup_float8x8 v21 = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    float v22 = (-1e30f);
    float v23 = (-1e30f);
    float v24 = 0.0f;
    float v25 = 0.0f;
    simdgroup_float8x8 v26 = v21;
    simdgroup_float8x8 v27 = v21;
    simdgroup_float8x8 v28 = v21;
    simdgroup_float8x8 v29 = v21;
    for (int v30 = 0; v30 < horizon_13; v30 += 16) {
        for (int v39 = thread_index; v39 < 128; v39 += 128) {
            const int v40 = v39 / 8;
            const int v41 = v39 % 8;
            const int v42 = v41 * 4;
            const int v43 = v30 + v40;
            const float4 v44 = v43 < horizon_13 ? *(device const float4*)(keys + v14 * 2048 + v43 * 32 + v42) : float4(0.0f);
            *(threadgroup float4*)(key_or_value_tile + v40 * 32 + v42) = v44;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_float8x8 v45;
        simdgroup_load(v45, queries + v0 * 32, 32);
        simdgroup_float8x8 v46;
        simdgroup_load(v46, queries + v0 * 32 + 8, 32);
        simdgroup_float8x8 v47;
        simdgroup_load(v47, queries + v0 * 32 + 16, 32);
        simdgroup_float8x8 v48;
        simdgroup_load(v48, queries + v0 * 32 + 24, 32);
        simdgroup_float8x8 v49;
        simdgroup_load(v49, key_or_value_tile + 0, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v50;
        simdgroup_multiply_accumulate(v50, v45, v49, v21);
        simdgroup_float8x8 v51;
        simdgroup_load(v51, key_or_value_tile + 8, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v52;
        simdgroup_multiply_accumulate(v52, v46, v51, v50);
        simdgroup_float8x8 v53;
        simdgroup_load(v53, key_or_value_tile + 16, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v54;
        simdgroup_multiply_accumulate(v54, v47, v53, v52);
        simdgroup_float8x8 v55;
        simdgroup_load(v55, key_or_value_tile + 24, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v56;
        simdgroup_multiply_accumulate(v56, v48, v55, v54);
        simdgroup_store(v56, scores + v0 * 16, 16);
        simdgroup_float8x8 v57;
        simdgroup_load(v57, key_or_value_tile + 256, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v58;
        simdgroup_multiply_accumulate(v58, v45, v57, v21);
        simdgroup_float8x8 v59;
        simdgroup_load(v59, key_or_value_tile + 264, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v60;
        simdgroup_multiply_accumulate(v60, v46, v59, v58);
        simdgroup_float8x8 v61;
        simdgroup_load(v61, key_or_value_tile + 272, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v62;
        simdgroup_multiply_accumulate(v62, v47, v61, v60);
        simdgroup_float8x8 v63;
        simdgroup_load(v63, key_or_value_tile + 280, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v64;
        simdgroup_multiply_accumulate(v64, v48, v63, v62);
        simdgroup_store(v64, scores + v0 * 16 + 8, 16);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const int v65 = lane % 8;
        const int v66 = v65 * 2;
        const int v67 = lane / 8;
        const int v68 = v0 + v67;
        const float2 v69 = *(threadgroup const float2*)(scores + v68 * 16 + v66);
        const int v70 = v30 + v66;
        const int v71 = start_3 + v7;
        const int v72 = v71 + v68;
        const bool v73 = v70 <= v72;
        const float v75 = v69.x * 0.25503486f;
        const float v76 = v73 ? v75 : (-1e30f);
        const int v77 = v70 + 1;
        const bool v78 = v77 <= v72;
        const float v80 = v69.y * 0.25503486f;
        const float v81 = v78 ? v80 : (-1e30f);
        const float v82 = fmax(v76, v81);
        const float v83 = simd_shuffle_xor(v82, ushort(1));
        const float v84 = fmax(v82, v83);
        const float v85 = simd_shuffle_xor(v84, ushort(2));
        const float v86 = fmax(v84, v85);
        const float v87 = simd_shuffle_xor(v86, ushort(4));
        const float v88 = fmax(v86, v87);
        const float v89 = fmax(v88, v22);
        const float v90 = v76 - v89;
        const float v91 = fast::exp2(v90);
        const float v92 = v81 - v89;
        const float v93 = fast::exp2(v92);
        const float v94 = v22 - v89;
        const float v95 = fast::exp2(v94);
        const float v96 = v91 + v93;
        const float v97 = simd_shuffle_xor(v96, ushort(1));
        const float v98 = v96 + v97;
        const float v99 = simd_shuffle_xor(v98, ushort(2));
        const float v100 = v98 + v99;
        const float v101 = simd_shuffle_xor(v100, ushort(4));
        const float v102 = v100 + v101;
        const float2 v103 = float2(v91, v93);
        *(threadgroup float2*)(scores + v68 * 16 + v66) = v103;
        factors[v68 * 8 + v65] = v95;
        const float v104 = fma(v24, v95, v102);
        const int v105 = v67 + 4;
        const int v106 = v0 + v105;
        const float2 v107 = *(threadgroup const float2*)(scores + v106 * 16 + v66);
        const int v108 = v71 + v106;
        const bool v109 = v70 <= v108;
        const float v111 = v107.x * 0.25503486f;
        const float v112 = v109 ? v111 : (-1e30f);
        const bool v113 = v77 <= v108;
        const float v115 = v107.y * 0.25503486f;
        const float v116 = v113 ? v115 : (-1e30f);
        const float v117 = fmax(v112, v116);
        const float v118 = simd_shuffle_xor(v117, ushort(1));
        const float v119 = fmax(v117, v118);
        const float v120 = simd_shuffle_xor(v119, ushort(2));
        const float v121 = fmax(v119, v120);
        const float v122 = simd_shuffle_xor(v121, ushort(4));
        const float v123 = fmax(v121, v122);
        const float v124 = fmax(v123, v23);
        const float v125 = v112 - v124;
        const float v126 = fast::exp2(v125);
        const float v127 = v116 - v124;
        const float v128 = fast::exp2(v127);
        const float v129 = v23 - v124;
        const float v130 = fast::exp2(v129);
        const float v131 = v126 + v128;
        const float v132 = simd_shuffle_xor(v131, ushort(1));
        const float v133 = v131 + v132;
        const float v134 = simd_shuffle_xor(v133, ushort(2));
        const float v135 = v133 + v134;
        const float v136 = simd_shuffle_xor(v135, ushort(4));
        const float v137 = v135 + v136;
        const float2 v138 = float2(v126, v128);
        *(threadgroup float2*)(scores + v106 * 16 + v66) = v138;
        factors[v106 * 8 + v65] = v130;
        const float v139 = fma(v25, v130, v137);
        for (int v140 = thread_index; v140 < 128; v140 += 128) {
            const int v141 = v140 / 8;
            const int v142 = v140 % 8;
            const int v143 = v142 * 4;
            const int v144 = v30 + v141;
            const float4 v145 = v144 < horizon_13 ? *(device const float4*)(values + v14 * 2048 + v144 * 32 + v143) : float4(0.0f);
            *(threadgroup float4*)(key_or_value_tile + v141 * 32 + v143) = v145;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_float8x8 v146;
        simdgroup_load(v146, factors + v0 * 8, 8);
        simdgroup_float8x8 v147;
        simdgroup_load(v147, scores + v0 * 16, 16);
        simdgroup_float8x8 v148;
        simdgroup_load(v148, scores + v0 * 16 + 8, 16);
        simdgroup_float8x8 v149;
        v149.thread_elements()[0] = v26.thread_elements()[0] * v146.thread_elements()[0];
        v149.thread_elements()[1] = v26.thread_elements()[1] * v146.thread_elements()[1];
        simdgroup_float8x8 v150;
        simdgroup_load(v150, key_or_value_tile + 0, 32);
        simdgroup_float8x8 v151;
        simdgroup_multiply_accumulate(v151, v147, v150, v149);
        simdgroup_float8x8 v152;
        simdgroup_load(v152, key_or_value_tile + 256, 32);
        simdgroup_float8x8 v153;
        simdgroup_multiply_accumulate(v153, v148, v152, v151);
        simdgroup_float8x8 v154;
        v154.thread_elements()[0] = v27.thread_elements()[0] * v146.thread_elements()[0];
        v154.thread_elements()[1] = v27.thread_elements()[1] * v146.thread_elements()[1];
        simdgroup_float8x8 v155;
        simdgroup_load(v155, key_or_value_tile + 8, 32);
        simdgroup_float8x8 v156;
        simdgroup_multiply_accumulate(v156, v147, v155, v154);
        simdgroup_float8x8 v157;
        simdgroup_load(v157, key_or_value_tile + 264, 32);
        simdgroup_float8x8 v158;
        simdgroup_multiply_accumulate(v158, v148, v157, v156);
        simdgroup_float8x8 v159;
        v159.thread_elements()[0] = v28.thread_elements()[0] * v146.thread_elements()[0];
        v159.thread_elements()[1] = v28.thread_elements()[1] * v146.thread_elements()[1];
        simdgroup_float8x8 v160;
        simdgroup_load(v160, key_or_value_tile + 16, 32);
        simdgroup_float8x8 v161;
        simdgroup_multiply_accumulate(v161, v147, v160, v159);
        simdgroup_float8x8 v162;
        simdgroup_load(v162, key_or_value_tile + 272, 32);
        simdgroup_float8x8 v163;
        simdgroup_multiply_accumulate(v163, v148, v162, v161);
        simdgroup_float8x8 v164;
        v164.thread_elements()[0] = v29.thread_elements()[0] * v146.thread_elements()[0];
        v164.thread_elements()[1] = v29.thread_elements()[1] * v146.thread_elements()[1];
        simdgroup_float8x8 v165;
        simdgroup_load(v165, key_or_value_tile + 24, 32);
        simdgroup_float8x8 v166;
        simdgroup_multiply_accumulate(v166, v147, v165, v164);
        simdgroup_float8x8 v167;
        simdgroup_load(v167, key_or_value_tile + 280, 32);
        simdgroup_float8x8 v168;
        simdgroup_multiply_accumulate(v168, v148, v167, v166);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v22 = v89;
        v23 = v124;
        v24 = v104;
        v25 = v139;
        v26 = v153;
        v27 = v158;
        v28 = v163;
        v29 = v168;
    }
    const int v169 = lane / 8;
    const int v170 = v0 + v169;
    const int v171 = v7 + v170;
    const bool v172 = v171 < valid_6;
    const float v173 = fmax(v24, 1e-30f);
    const float v174 = v172 ? v173 : as_type<float>(0x7f800000u);
    const int v175 = lane % 8;
    factors[v170 * 8 + v175] = v174;
    const int v176 = v169 + 4;
    const int v177 = v0 + v176;
    const int v178 = v7 + v177;
    const bool v179 = v178 < valid_6;
    const float v180 = fmax(v25, 1e-30f);
    const float v181 = v179 ? v180 : as_type<float>(0x7f800000u);
    factors[v177 * 8 + v175] = v181;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 v182;
    simdgroup_load(v182, factors + v0 * 8, 8);
    simdgroup_float8x8 v183;
    v183.thread_elements()[0] = v26.thread_elements()[0] / v182.thread_elements()[0];
    v183.thread_elements()[1] = v26.thread_elements()[1] / v182.thread_elements()[1];
    simdgroup_store(v183, queries + v0 * 32, 32);
    simdgroup_float8x8 v184;
    v184.thread_elements()[0] = v27.thread_elements()[0] / v182.thread_elements()[0];
    v184.thread_elements()[1] = v27.thread_elements()[1] / v182.thread_elements()[1];
    simdgroup_store(v184, queries + v0 * 32 + 8, 32);
    simdgroup_float8x8 v185;
    v185.thread_elements()[0] = v28.thread_elements()[0] / v182.thread_elements()[0];
    v185.thread_elements()[1] = v28.thread_elements()[1] / v182.thread_elements()[1];
    simdgroup_store(v185, queries + v0 * 32 + 16, 32);
    simdgroup_float8x8 v186;
    v186.thread_elements()[0] = v29.thread_elements()[0] / v182.thread_elements()[0];
    v186.thread_elements()[1] = v29.thread_elements()[1] / v182.thread_elements()[1];
    simdgroup_store(v186, queries + v0 * 32 + 24, 32);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (int v187 = lane; v187 < 64; v187 += 32) {
        const int v188 = v187 / 8;
        const int v189 = v187 % 8;
        const int v190 = v0 + v188;
        const int v191 = v189 * 4;
        const int v192 = v7 + v190;
        const float4 v193 = *(threadgroup const float4*)(queries + v190 * 32 + v191);
        *(device float4*)(out + group_x * 32 + v192 * 128 + v191) = v193;
    }
}
