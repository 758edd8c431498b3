#include <metal_stdlib>
#include <metal_simdgroup_matrix>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(128)]]
kernel void matrix_attention_direct_f32(
    device const float* q [[buffer(0)]],
    device const float* keys [[buffer(1)]],
    device const float* values [[buffer(2)]],
    device const int* control [[buffer(3)]],
    device float* out [[buffer(4)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int group_x = int(group_position.x);
    const int group_y = int(group_position.y);
    const int simd_group = int(simd_group_index);
    const int lane = int(lane_index);
    alignas(16) threadgroup float scores[512];
    threadgroup float factors[256];
    threadgroup float edge[256];
    const int v0 = simd_group * 8;
    const int v1 = control[0];
    const int v2 = max(v1, 0);
    const int start_3 = min(v2, 63);
    const int v4 = control[1];
    const int v5 = max(v4, 0);
    const int valid_6 = min(v5, 64);
    const int v7 = group_y * 32;
    const int first_8 = v7 + v0;
    const int v9 = v7 + 32;
    const int v10 = min(v9, valid_6);
    const int v11 = start_3 + v10;
    const int v12 = min(v11, 64);
    const bool v13 = v7 < valid_6;
    const int horizon_14 = v13 ? v12 : 0;
    const int v15 = group_x / 2;
    simdgroup_float8x8 v16;
    simdgroup_load(v16, q + group_x * 32 + first_8 * 128, 128);
    simdgroup_float8x8 v17;
    simdgroup_load(v17, q + group_x * 32 + first_8 * 128 + 8, 128);
    simdgroup_float8x8 v18;
    simdgroup_load(v18, q + group_x * 32 + first_8 * 128 + 16, 128);
    simdgroup_float8x8 v19;
    simdgroup_load(v19, q + group_x * 32 + first_8 * 128 + 24, 128);
    const simdgroup_float8x8 v20 = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    float v21 = (-1e30f);
    float v22 = (-1e30f);
    float v23 = 0.0f;
    float v24 = 0.0f;
    simdgroup_float8x8 v25 = v20;
    simdgroup_float8x8 v26 = v20;
    simdgroup_float8x8 v27 = v20;
    simdgroup_float8x8 v28 = v20;
    for (int v29 = 0; v29 <= horizon_14 - 16; v29 += 16) {
        simdgroup_float8x8 v38;
        simdgroup_load(v38, keys + v15 * 2048 + v29 * 32, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v39;
        simdgroup_multiply_accumulate(v39, v16, v38, v20);
        simdgroup_float8x8 v40;
        simdgroup_load(v40, keys + v15 * 2048 + v29 * 32 + 8, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v41;
        simdgroup_multiply_accumulate(v41, v17, v40, v39);
        simdgroup_float8x8 v42;
        simdgroup_load(v42, keys + v15 * 2048 + v29 * 32 + 16, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v43;
        simdgroup_multiply_accumulate(v43, v18, v42, v41);
        simdgroup_float8x8 v44;
        simdgroup_load(v44, keys + v15 * 2048 + v29 * 32 + 24, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v45;
        simdgroup_multiply_accumulate(v45, v19, v44, v43);
        simdgroup_store(v45, scores + v0 * 16, 16);
        const int v46 = v29 + 8;
        simdgroup_float8x8 v47;
        simdgroup_load(v47, keys + v15 * 2048 + v46 * 32, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v48;
        simdgroup_multiply_accumulate(v48, v16, v47, v20);
        simdgroup_float8x8 v49;
        simdgroup_load(v49, keys + v15 * 2048 + v46 * 32 + 8, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v50;
        simdgroup_multiply_accumulate(v50, v17, v49, v48);
        simdgroup_float8x8 v51;
        simdgroup_load(v51, keys + v15 * 2048 + v46 * 32 + 16, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v52;
        simdgroup_multiply_accumulate(v52, v18, v51, v50);
        simdgroup_float8x8 v53;
        simdgroup_load(v53, keys + v15 * 2048 + v46 * 32 + 24, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v54;
        simdgroup_multiply_accumulate(v54, v19, v53, v52);
        simdgroup_store(v54, scores + v0 * 16 + 8, 16);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        const int v55 = lane % 8;
        const int v56 = v55 * 2;
        const int v57 = lane / 8;
        const int v58 = v0 + v57;
        const float2 v59 = *(threadgroup const float2*)(scores + v58 * 16 + v56);
        const int v60 = v29 + v56;
        const int v61 = start_3 + first_8;
        const int v62 = v61 + v57;
        const bool v63 = v60 <= v62;
        const float v65 = v59.x * 0.25503486f;
        const float v66 = v63 ? v65 : (-1e30f);
        const int v67 = v60 + 1;
        const bool v68 = v67 <= v62;
        const float v70 = v59.y * 0.25503486f;
        const float v71 = v68 ? v70 : (-1e30f);
        const float v72 = fmax(v66, v71);
        const float v73 = simd_shuffle_xor(v72, ushort(1));
        const float v74 = fmax(v72, v73);
        const float v75 = simd_shuffle_xor(v74, ushort(2));
        const float v76 = fmax(v74, v75);
        const float v77 = simd_shuffle_xor(v76, ushort(4));
        const float v78 = fmax(v76, v77);
        const float v79 = fmax(v78, v21);
        const float v80 = v66 - v79;
        const float v81 = fast::exp2(v80);
        const float v82 = v71 - v79;
        const float v83 = fast::exp2(v82);
        const float v84 = v21 - v79;
        const float v85 = fast::exp2(v84);
        const float v86 = v81 + v83;
        const float v87 = simd_shuffle_xor(v86, ushort(1));
        const float v88 = v86 + v87;
        const float v89 = simd_shuffle_xor(v88, ushort(2));
        const float v90 = v88 + v89;
        const float v91 = simd_shuffle_xor(v90, ushort(4));
        const float v92 = v90 + v91;
        const float2 v93 = float2(v81, v83);
        *(threadgroup float2*)(scores + v58 * 16 + v56) = v93;
        factors[v58 * 8 + v55] = v85;
        const float v94 = fma(v23, v85, v92);
        const int v95 = v57 + 4;
        const int v96 = v0 + v95;
        const float2 v97 = *(threadgroup const float2*)(scores + v96 * 16 + v56);
        const int v98 = v61 + v95;
        const bool v99 = v60 <= v98;
        const float v101 = v97.x * 0.25503486f;
        const float v102 = v99 ? v101 : (-1e30f);
        const bool v103 = v67 <= v98;
        const float v105 = v97.y * 0.25503486f;
        const float v106 = v103 ? v105 : (-1e30f);
        const float v107 = fmax(v102, v106);
        const float v108 = simd_shuffle_xor(v107, ushort(1));
        const float v109 = fmax(v107, v108);
        const float v110 = simd_shuffle_xor(v109, ushort(2));
        const float v111 = fmax(v109, v110);
        const float v112 = simd_shuffle_xor(v111, ushort(4));
        const float v113 = fmax(v111, v112);
        const float v114 = fmax(v113, v22);
        const float v115 = v102 - v114;
        const float v116 = fast::exp2(v115);
        const float v117 = v106 - v114;
        const float v118 = fast::exp2(v117);
        const float v119 = v22 - v114;
        const float v120 = fast::exp2(v119);
        const float v121 = v116 + v118;
        const float v122 = simd_shuffle_xor(v121, ushort(1));
        const float v123 = v121 + v122;
        const float v124 = simd_shuffle_xor(v123, ushort(2));
        const float v125 = v123 + v124;
        const float v126 = simd_shuffle_xor(v125, ushort(4));
        const float v127 = v125 + v126;
        const float2 v128 = float2(v116, v118);
        *(threadgroup float2*)(scores + v96 * 16 + v56) = v128;
        factors[v96 * 8 + v55] = v120;
        const float v129 = fma(v24, v120, v127);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_float8x8 v130;
        simdgroup_load(v130, factors + v0 * 8, 8);
        simdgroup_float8x8 v131;
        simdgroup_load(v131, scores + v0 * 16, 16);
        simdgroup_float8x8 v132;
        simdgroup_load(v132, scores + v0 * 16 + 8, 16);
        simdgroup_float8x8 v133;
        v133.thread_elements()[0] = v25.thread_elements()[0] * v130.thread_elements()[0];
        v133.thread_elements()[1] = v25.thread_elements()[1] * v130.thread_elements()[1];
        simdgroup_float8x8 v134;
        simdgroup_load(v134, values + v15 * 2048 + v29 * 32, 32);
        simdgroup_float8x8 v135;
        simdgroup_multiply_accumulate(v135, v131, v134, v133);
        simdgroup_float8x8 v136;
        simdgroup_load(v136, values + v15 * 2048 + v46 * 32, 32);
        simdgroup_float8x8 v137;
        simdgroup_multiply_accumulate(v137, v132, v136, v135);
        simdgroup_float8x8 v138;
        v138.thread_elements()[0] = v26.thread_elements()[0] * v130.thread_elements()[0];
        v138.thread_elements()[1] = v26.thread_elements()[1] * v130.thread_elements()[1];
        simdgroup_float8x8 v139;
        simdgroup_load(v139, values + v15 * 2048 + v29 * 32 + 8, 32);
        simdgroup_float8x8 v140;
        simdgroup_multiply_accumulate(v140, v131, v139, v138);
        simdgroup_float8x8 v141;
        simdgroup_load(v141, values + v15 * 2048 + v46 * 32 + 8, 32);
        simdgroup_float8x8 v142;
        simdgroup_multiply_accumulate(v142, v132, v141, v140);
        simdgroup_float8x8 v143;
        v143.thread_elements()[0] = v27.thread_elements()[0] * v130.thread_elements()[0];
        v143.thread_elements()[1] = v27.thread_elements()[1] * v130.thread_elements()[1];
        simdgroup_float8x8 v144;
        simdgroup_load(v144, values + v15 * 2048 + v29 * 32 + 16, 32);
        simdgroup_float8x8 v145;
        simdgroup_multiply_accumulate(v145, v131, v144, v143);
        simdgroup_float8x8 v146;
        simdgroup_load(v146, values + v15 * 2048 + v46 * 32 + 16, 32);
        simdgroup_float8x8 v147;
        simdgroup_multiply_accumulate(v147, v132, v146, v145);
        simdgroup_float8x8 v148;
        v148.thread_elements()[0] = v28.thread_elements()[0] * v130.thread_elements()[0];
        v148.thread_elements()[1] = v28.thread_elements()[1] * v130.thread_elements()[1];
        simdgroup_float8x8 v149;
        simdgroup_load(v149, values + v15 * 2048 + v29 * 32 + 24, 32);
        simdgroup_float8x8 v150;
        simdgroup_multiply_accumulate(v150, v131, v149, v148);
        simdgroup_float8x8 v151;
        simdgroup_load(v151, values + v15 * 2048 + v46 * 32 + 24, 32);
        simdgroup_float8x8 v152;
        simdgroup_multiply_accumulate(v152, v132, v151, v150);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        v21 = v79;
        v22 = v114;
        v23 = v94;
        v24 = v129;
        v25 = v137;
        v26 = v142;
        v27 = v147;
        v28 = v152;
    }
    const int v153 = horizon_14 / 16;
    const int v154 = v153 * 16;
    float v155 = v21;
    float v156 = v22;
    float v157 = v23;
    float v158 = v24;
    simdgroup_float8x8 v159 = v25;
    simdgroup_float8x8 v160 = v26;
    simdgroup_float8x8 v161 = v27;
    simdgroup_float8x8 v162 = v28;
    for (int v163 = v154; v163 < horizon_14; v163 += 16) {
        simdgroup_float8x8 v172;
        if (v163 < horizon_14 - 7) {
            simdgroup_load(v172, keys + v15 * 2048 + v163 * 32, 32, ulong2(0, 0), true);
        } else {
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (int e = lane; e < 64; e += 32) {
                (edge + simd_group * 64)[e] = (v163 + e / 8) < horizon_14 ? keys[v15 * 2048 + (v163 + e / 8) * 32 + (e % 8)] : 0.0f;
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            simdgroup_load(v172, edge + simd_group * 64, 8, ulong2(0, 0), true);
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        simdgroup_float8x8 v173;
        simdgroup_multiply_accumulate(v173, v16, v172, v20);
        simdgroup_float8x8 v174;
        if (v163 < horizon_14 - 7) {
            simdgroup_load(v174, keys + v15 * 2048 + v163 * 32 + 8, 32, ulong2(0, 0), true);
        } else {
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (int e = lane; e < 64; e += 32) {
                (edge + simd_group * 64)[e] = (v163 + e / 8) < horizon_14 ? keys[v15 * 2048 + (v163 + e / 8) * 32 + (8 + e % 8)] : 0.0f;
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            simdgroup_load(v174, edge + simd_group * 64, 8, ulong2(0, 0), true);
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        simdgroup_float8x8 v175;
        simdgroup_multiply_accumulate(v175, v17, v174, v173);
        simdgroup_float8x8 v176;
        if (v163 < horizon_14 - 7) {
            simdgroup_load(v176, keys + v15 * 2048 + v163 * 32 + 16, 32, ulong2(0, 0), true);
        } else {
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (int e = lane; e < 64; e += 32) {
                (edge + simd_group * 64)[e] = (v163 + e / 8) < horizon_14 ? keys[v15 * 2048 + (v163 + e / 8) * 32 + (16 + e % 8)] : 0.0f;
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            simdgroup_load(v176, edge + simd_group * 64, 8, ulong2(0, 0), true);
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        simdgroup_float8x8 v177;
        simdgroup_multiply_accumulate(v177, v18, v176, v175);
        simdgroup_float8x8 v178;
        if (v163 < horizon_14 - 7) {
            simdgroup_load(v178, keys + v15 * 2048 + v163 * 32 + 24, 32, ulong2(0, 0), true);
        } else {
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (int e = lane; e < 64; e += 32) {
                (edge + simd_group * 64)[e] = (v163 + e / 8) < horizon_14 ? keys[v15 * 2048 + (v163 + e / 8) * 32 + (24 + e % 8)] : 0.0f;
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            simdgroup_load(v178, edge + simd_group * 64, 8, ulong2(0, 0), true);
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        simdgroup_float8x8 v179;
        simdgroup_multiply_accumulate(v179, v19, v178, v177);
        simdgroup_store(v179, scores + v0 * 16, 16);
        const int v180 = v163 + 8;
        simdgroup_float8x8 v181;
        if (v180 < horizon_14 - 7) {
            simdgroup_load(v181, keys + v15 * 2048 + v180 * 32, 32, ulong2(0, 0), true);
        } else {
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (int e = lane; e < 64; e += 32) {
                (edge + simd_group * 64)[e] = (v180 + e / 8) < horizon_14 ? keys[v15 * 2048 + (v180 + e / 8) * 32 + (e % 8)] : 0.0f;
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            simdgroup_load(v181, edge + simd_group * 64, 8, ulong2(0, 0), true);
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        simdgroup_float8x8 v182;
        simdgroup_multiply_accumulate(v182, v16, v181, v20);
        simdgroup_float8x8 v183;
        if (v180 < horizon_14 - 7) {
            simdgroup_load(v183, keys + v15 * 2048 + v180 * 32 + 8, 32, ulong2(0, 0), true);
        } else {
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (int e = lane; e < 64; e += 32) {
                (edge + simd_group * 64)[e] = (v180 + e / 8) < horizon_14 ? keys[v15 * 2048 + (v180 + e / 8) * 32 + (8 + e % 8)] : 0.0f;
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            simdgroup_load(v183, edge + simd_group * 64, 8, ulong2(0, 0), true);
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        simdgroup_float8x8 v184;
        simdgroup_multiply_accumulate(v184, v17, v183, v182);
        simdgroup_float8x8 v185;
        if (v180 < horizon_14 - 7) {
            simdgroup_load(v185, keys + v15 * 2048 + v180 * 32 + 16, 32, ulong2(0, 0), true);
        } else {
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (int e = lane; e < 64; e += 32) {
                (edge + simd_group * 64)[e] = (v180 + e / 8) < horizon_14 ? keys[v15 * 2048 + (v180 + e / 8) * 32 + (16 + e % 8)] : 0.0f;
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            simdgroup_load(v185, edge + simd_group * 64, 8, ulong2(0, 0), true);
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        simdgroup_float8x8 v186;
        simdgroup_multiply_accumulate(v186, v18, v185, v184);
        simdgroup_float8x8 v187;
        if (v180 < horizon_14 - 7) {
            simdgroup_load(v187, keys + v15 * 2048 + v180 * 32 + 24, 32, ulong2(0, 0), true);
        } else {
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (int e = lane; e < 64; e += 32) {
                (edge + simd_group * 64)[e] = (v180 + e / 8) < horizon_14 ? keys[v15 * 2048 + (v180 + e / 8) * 32 + (24 + e % 8)] : 0.0f;
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            simdgroup_load(v187, edge + simd_group * 64, 8, ulong2(0, 0), true);
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        simdgroup_float8x8 v188;
        simdgroup_multiply_accumulate(v188, v19, v187, v186);
        simdgroup_store(v188, scores + v0 * 16 + 8, 16);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        const int v189 = lane % 8;
        const int v190 = v189 * 2;
        const int v191 = lane / 8;
        const int v192 = v0 + v191;
        const float2 v193 = *(threadgroup const float2*)(scores + v192 * 16 + v190);
        const int v194 = v163 + v190;
        const int v195 = start_3 + first_8;
        const int v196 = v195 + v191;
        const bool v197 = v194 <= v196;
        const float v199 = v193.x * 0.25503486f;
        const float v200 = v197 ? v199 : (-1e30f);
        const int v201 = v194 + 1;
        const bool v202 = v201 <= v196;
        const float v204 = v193.y * 0.25503486f;
        const float v205 = v202 ? v204 : (-1e30f);
        const float v206 = fmax(v200, v205);
        const float v207 = simd_shuffle_xor(v206, ushort(1));
        const float v208 = fmax(v206, v207);
        const float v209 = simd_shuffle_xor(v208, ushort(2));
        const float v210 = fmax(v208, v209);
        const float v211 = simd_shuffle_xor(v210, ushort(4));
        const float v212 = fmax(v210, v211);
        const float v213 = fmax(v212, v155);
        const float v214 = v200 - v213;
        const float v215 = fast::exp2(v214);
        const float v216 = v205 - v213;
        const float v217 = fast::exp2(v216);
        const float v218 = v155 - v213;
        const float v219 = fast::exp2(v218);
        const float v220 = v215 + v217;
        const float v221 = simd_shuffle_xor(v220, ushort(1));
        const float v222 = v220 + v221;
        const float v223 = simd_shuffle_xor(v222, ushort(2));
        const float v224 = v222 + v223;
        const float v225 = simd_shuffle_xor(v224, ushort(4));
        const float v226 = v224 + v225;
        const float2 v227 = float2(v215, v217);
        *(threadgroup float2*)(scores + v192 * 16 + v190) = v227;
        factors[v192 * 8 + v189] = v219;
        const float v228 = fma(v157, v219, v226);
        const int v229 = v191 + 4;
        const int v230 = v0 + v229;
        const float2 v231 = *(threadgroup const float2*)(scores + v230 * 16 + v190);
        const int v232 = v195 + v229;
        const bool v233 = v194 <= v232;
        const float v235 = v231.x * 0.25503486f;
        const float v236 = v233 ? v235 : (-1e30f);
        const bool v237 = v201 <= v232;
        const float v239 = v231.y * 0.25503486f;
        const float v240 = v237 ? v239 : (-1e30f);
        const float v241 = fmax(v236, v240);
        const float v242 = simd_shuffle_xor(v241, ushort(1));
        const float v243 = fmax(v241, v242);
        const float v244 = simd_shuffle_xor(v243, ushort(2));
        const float v245 = fmax(v243, v244);
        const float v246 = simd_shuffle_xor(v245, ushort(4));
        const float v247 = fmax(v245, v246);
        const float v248 = fmax(v247, v156);
        const float v249 = v236 - v248;
        const float v250 = fast::exp2(v249);
        const float v251 = v240 - v248;
        const float v252 = fast::exp2(v251);
        const float v253 = v156 - v248;
        const float v254 = fast::exp2(v253);
        const float v255 = v250 + v252;
        const float v256 = simd_shuffle_xor(v255, ushort(1));
        const float v257 = v255 + v256;
        const float v258 = simd_shuffle_xor(v257, ushort(2));
        const float v259 = v257 + v258;
        const float v260 = simd_shuffle_xor(v259, ushort(4));
        const float v261 = v259 + v260;
        const float2 v262 = float2(v250, v252);
        *(threadgroup float2*)(scores + v230 * 16 + v190) = v262;
        factors[v230 * 8 + v189] = v254;
        const float v263 = fma(v158, v254, v261);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_float8x8 v264;
        simdgroup_load(v264, factors + v0 * 8, 8);
        simdgroup_float8x8 v265;
        simdgroup_load(v265, scores + v0 * 16, 16);
        simdgroup_float8x8 v266;
        simdgroup_load(v266, scores + v0 * 16 + 8, 16);
        simdgroup_float8x8 v267;
        v267.thread_elements()[0] = v159.thread_elements()[0] * v264.thread_elements()[0];
        v267.thread_elements()[1] = v159.thread_elements()[1] * v264.thread_elements()[1];
        simdgroup_float8x8 v268;
        if (v163 < horizon_14 - 7) {
            simdgroup_load(v268, values + v15 * 2048 + v163 * 32, 32);
        } else {
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (int e = lane; e < 64; e += 32) {
                (edge + simd_group * 64)[e] = (v163 + e / 8) < horizon_14 ? values[v15 * 2048 + (v163 + e / 8) * 32 + (e % 8)] : 0.0f;
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            simdgroup_load(v268, edge + simd_group * 64, 8);
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        simdgroup_float8x8 v269;
        simdgroup_multiply_accumulate(v269, v265, v268, v267);
        simdgroup_float8x8 v270;
        if (v180 < horizon_14 - 7) {
            simdgroup_load(v270, values + v15 * 2048 + v180 * 32, 32);
        } else {
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (int e = lane; e < 64; e += 32) {
                (edge + simd_group * 64)[e] = (v180 + e / 8) < horizon_14 ? values[v15 * 2048 + (v180 + e / 8) * 32 + (e % 8)] : 0.0f;
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            simdgroup_load(v270, edge + simd_group * 64, 8);
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        simdgroup_float8x8 v271;
        simdgroup_multiply_accumulate(v271, v266, v270, v269);
        simdgroup_float8x8 v272;
        v272.thread_elements()[0] = v160.thread_elements()[0] * v264.thread_elements()[0];
        v272.thread_elements()[1] = v160.thread_elements()[1] * v264.thread_elements()[1];
        simdgroup_float8x8 v273;
        if (v163 < horizon_14 - 7) {
            simdgroup_load(v273, values + v15 * 2048 + v163 * 32 + 8, 32);
        } else {
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (int e = lane; e < 64; e += 32) {
                (edge + simd_group * 64)[e] = (v163 + e / 8) < horizon_14 ? values[v15 * 2048 + (v163 + e / 8) * 32 + (8 + e % 8)] : 0.0f;
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            simdgroup_load(v273, edge + simd_group * 64, 8);
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        simdgroup_float8x8 v274;
        simdgroup_multiply_accumulate(v274, v265, v273, v272);
        simdgroup_float8x8 v275;
        if (v180 < horizon_14 - 7) {
            simdgroup_load(v275, values + v15 * 2048 + v180 * 32 + 8, 32);
        } else {
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (int e = lane; e < 64; e += 32) {
                (edge + simd_group * 64)[e] = (v180 + e / 8) < horizon_14 ? values[v15 * 2048 + (v180 + e / 8) * 32 + (8 + e % 8)] : 0.0f;
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            simdgroup_load(v275, edge + simd_group * 64, 8);
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        simdgroup_float8x8 v276;
        simdgroup_multiply_accumulate(v276, v266, v275, v274);
        simdgroup_float8x8 v277;
        v277.thread_elements()[0] = v161.thread_elements()[0] * v264.thread_elements()[0];
        v277.thread_elements()[1] = v161.thread_elements()[1] * v264.thread_elements()[1];
        simdgroup_float8x8 v278;
        if (v163 < horizon_14 - 7) {
            simdgroup_load(v278, values + v15 * 2048 + v163 * 32 + 16, 32);
        } else {
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (int e = lane; e < 64; e += 32) {
                (edge + simd_group * 64)[e] = (v163 + e / 8) < horizon_14 ? values[v15 * 2048 + (v163 + e / 8) * 32 + (16 + e % 8)] : 0.0f;
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            simdgroup_load(v278, edge + simd_group * 64, 8);
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        simdgroup_float8x8 v279;
        simdgroup_multiply_accumulate(v279, v265, v278, v277);
        simdgroup_float8x8 v280;
        if (v180 < horizon_14 - 7) {
            simdgroup_load(v280, values + v15 * 2048 + v180 * 32 + 16, 32);
        } else {
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (int e = lane; e < 64; e += 32) {
                (edge + simd_group * 64)[e] = (v180 + e / 8) < horizon_14 ? values[v15 * 2048 + (v180 + e / 8) * 32 + (16 + e % 8)] : 0.0f;
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            simdgroup_load(v280, edge + simd_group * 64, 8);
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        simdgroup_float8x8 v281;
        simdgroup_multiply_accumulate(v281, v266, v280, v279);
        simdgroup_float8x8 v282;
        v282.thread_elements()[0] = v162.thread_elements()[0] * v264.thread_elements()[0];
        v282.thread_elements()[1] = v162.thread_elements()[1] * v264.thread_elements()[1];
        simdgroup_float8x8 v283;
        if (v163 < horizon_14 - 7) {
            simdgroup_load(v283, values + v15 * 2048 + v163 * 32 + 24, 32);
        } else {
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (int e = lane; e < 64; e += 32) {
                (edge + simd_group * 64)[e] = (v163 + e / 8) < horizon_14 ? values[v15 * 2048 + (v163 + e / 8) * 32 + (24 + e % 8)] : 0.0f;
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            simdgroup_load(v283, edge + simd_group * 64, 8);
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        simdgroup_float8x8 v284;
        simdgroup_multiply_accumulate(v284, v265, v283, v282);
        simdgroup_float8x8 v285;
        if (v180 < horizon_14 - 7) {
            simdgroup_load(v285, values + v15 * 2048 + v180 * 32 + 24, 32);
        } else {
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (int e = lane; e < 64; e += 32) {
                (edge + simd_group * 64)[e] = (v180 + e / 8) < horizon_14 ? values[v15 * 2048 + (v180 + e / 8) * 32 + (24 + e % 8)] : 0.0f;
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            simdgroup_load(v285, edge + simd_group * 64, 8);
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        simdgroup_float8x8 v286;
        simdgroup_multiply_accumulate(v286, v266, v285, v284);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        v155 = v213;
        v156 = v248;
        v157 = v228;
        v158 = v263;
        v159 = v271;
        v160 = v276;
        v161 = v281;
        v162 = v286;
    }
    const int v287 = lane / 8;
    const int v288 = first_8 + v287;
    const bool v289 = v288 < valid_6;
    const float v290 = fmax(v157, 1e-30f);
    const float v291 = v289 ? v290 : as_type<float>(0x7f800000u);
    const int v292 = v0 + v287;
    const int v293 = lane % 8;
    factors[v292 * 8 + v293] = v291;
    const int v294 = v287 + 4;
    const int v295 = first_8 + v294;
    const bool v296 = v295 < valid_6;
    const float v297 = fmax(v158, 1e-30f);
    const float v298 = v296 ? v297 : as_type<float>(0x7f800000u);
    const int v299 = v0 + v294;
    factors[v299 * 8 + v293] = v298;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 v300;
    simdgroup_load(v300, factors + v0 * 8, 8);
    simdgroup_float8x8 v301;
    v301.thread_elements()[0] = v159.thread_elements()[0] / v300.thread_elements()[0];
    v301.thread_elements()[1] = v159.thread_elements()[1] / v300.thread_elements()[1];
    simdgroup_store(v301, out + group_x * 32 + first_8 * 128, 128);
    simdgroup_float8x8 v302;
    v302.thread_elements()[0] = v160.thread_elements()[0] / v300.thread_elements()[0];
    v302.thread_elements()[1] = v160.thread_elements()[1] / v300.thread_elements()[1];
    simdgroup_store(v302, out + group_x * 32 + first_8 * 128 + 8, 128);
    simdgroup_float8x8 v303;
    v303.thread_elements()[0] = v161.thread_elements()[0] / v300.thread_elements()[0];
    v303.thread_elements()[1] = v161.thread_elements()[1] / v300.thread_elements()[1];
    simdgroup_store(v303, out + group_x * 32 + first_8 * 128 + 16, 128);
    simdgroup_float8x8 v304;
    v304.thread_elements()[0] = v162.thread_elements()[0] / v300.thread_elements()[0];
    v304.thread_elements()[1] = v162.thread_elements()[1] / v300.thread_elements()[1];
    simdgroup_store(v304, out + group_x * 32 + first_8 * 128 + 24, 128);
}
