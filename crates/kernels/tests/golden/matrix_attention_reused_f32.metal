#include <metal_stdlib>
#include <metal_simdgroup_matrix>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(128)]]
kernel void matrix_attention_reused_f32(
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
    alignas(16) threadgroup float storage[1024];
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
        *(threadgroup float4*)(storage + v16 * 32 + v18) = v20;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 v21;
    simdgroup_load(v21, storage + v0 * 32, 32);
    simdgroup_float8x8 v22;
    simdgroup_load(v22, storage + v0 * 32 + 8, 32);
    simdgroup_float8x8 v23;
    simdgroup_load(v23, storage + v0 * 32 + 16, 32);
    simdgroup_float8x8 v24;
    simdgroup_load(v24, storage + v0 * 32 + 24, 32);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const simdgroup_float8x8 v25 = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    float v26 = (-1e30f);
    float v27 = (-1e30f);
    float v28 = 0.0f;
    float v29 = 0.0f;
    simdgroup_float8x8 v30 = v25;
    simdgroup_float8x8 v31 = v25;
    simdgroup_float8x8 v32 = v25;
    simdgroup_float8x8 v33 = v25;
    for (int v34 = 0; v34 < horizon_13; v34 += 16) {
        for (int v43 = thread_index; v43 < 128; v43 += 128) {
            const int v44 = v43 / 8;
            const int v45 = v43 % 8;
            const int v46 = v45 * 4;
            const int v47 = v34 + v44;
            const float4 v48 = v47 < horizon_13 ? *(device const float4*)(keys + v14 * 2048 + v47 * 32 + v46) : float4(0.0f);
            *(threadgroup float4*)(storage + v44 * 32 + v46) = v48;
        }
        for (int v49 = thread_index; v49 < 128; v49 += 128) {
            const int v50 = v49 / 8;
            const int v51 = v49 % 8;
            const int v52 = v51 * 4;
            const int v53 = v34 + v50;
            const float4 v54 = v53 < horizon_13 ? *(device const float4*)(values + v14 * 2048 + v53 * 32 + v52) : float4(0.0f);
            *(threadgroup float4*)(storage + v50 * 32 + v52 + 512) = v54;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_float8x8 v55;
        simdgroup_load(v55, storage + 0, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v56;
        simdgroup_multiply_accumulate(v56, v21, v55, v25);
        simdgroup_float8x8 v57;
        simdgroup_load(v57, storage + 8, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v58;
        simdgroup_multiply_accumulate(v58, v22, v57, v56);
        simdgroup_float8x8 v59;
        simdgroup_load(v59, storage + 16, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v60;
        simdgroup_multiply_accumulate(v60, v23, v59, v58);
        simdgroup_float8x8 v61;
        simdgroup_load(v61, storage + 24, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v62;
        simdgroup_multiply_accumulate(v62, v24, v61, v60);
        simdgroup_store(v62, scores + v0 * 16, 16);
        simdgroup_float8x8 v63;
        simdgroup_load(v63, storage + 256, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v64;
        simdgroup_multiply_accumulate(v64, v21, v63, v25);
        simdgroup_float8x8 v65;
        simdgroup_load(v65, storage + 264, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v66;
        simdgroup_multiply_accumulate(v66, v22, v65, v64);
        simdgroup_float8x8 v67;
        simdgroup_load(v67, storage + 272, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v68;
        simdgroup_multiply_accumulate(v68, v23, v67, v66);
        simdgroup_float8x8 v69;
        simdgroup_load(v69, storage + 280, 32, ulong2(0, 0), true);
        simdgroup_float8x8 v70;
        simdgroup_multiply_accumulate(v70, v24, v69, v68);
        simdgroup_store(v70, scores + v0 * 16 + 8, 16);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        const int v71 = lane % 8;
        const int v72 = v71 * 2;
        const int v73 = lane / 8;
        const int v74 = v0 + v73;
        const float2 v75 = *(threadgroup const float2*)(scores + v74 * 16 + v72);
        const int v76 = v34 + v72;
        const int v77 = start_3 + v7;
        const int v78 = v77 + v74;
        const bool v79 = v76 <= v78;
        const float v81 = v75.x * 0.25503486f;
        const float v82 = v79 ? v81 : (-1e30f);
        const int v83 = v76 + 1;
        const bool v84 = v83 <= v78;
        const float v86 = v75.y * 0.25503486f;
        const float v87 = v84 ? v86 : (-1e30f);
        const float v88 = fmax(v82, v87);
        const float v89 = simd_shuffle_xor(v88, ushort(1));
        const float v90 = fmax(v88, v89);
        const float v91 = simd_shuffle_xor(v90, ushort(2));
        const float v92 = fmax(v90, v91);
        const float v93 = simd_shuffle_xor(v92, ushort(4));
        const float v94 = fmax(v92, v93);
        const float v95 = fmax(v94, v26);
        const float v96 = v82 - v95;
        const float v97 = fast::exp2(v96);
        const float v98 = v87 - v95;
        const float v99 = fast::exp2(v98);
        const float v100 = v26 - v95;
        const float v101 = fast::exp2(v100);
        const float v102 = v97 + v99;
        const float v103 = simd_shuffle_xor(v102, ushort(1));
        const float v104 = v102 + v103;
        const float v105 = simd_shuffle_xor(v104, ushort(2));
        const float v106 = v104 + v105;
        const float v107 = simd_shuffle_xor(v106, ushort(4));
        const float v108 = v106 + v107;
        const float2 v109 = float2(v97, v99);
        *(threadgroup float2*)(scores + v74 * 16 + v72) = v109;
        factors[v74 * 8 + v71] = v101;
        const float v110 = fma(v28, v101, v108);
        const int v111 = v73 + 4;
        const int v112 = v0 + v111;
        const float2 v113 = *(threadgroup const float2*)(scores + v112 * 16 + v72);
        const int v114 = v77 + v112;
        const bool v115 = v76 <= v114;
        const float v117 = v113.x * 0.25503486f;
        const float v118 = v115 ? v117 : (-1e30f);
        const bool v119 = v83 <= v114;
        const float v121 = v113.y * 0.25503486f;
        const float v122 = v119 ? v121 : (-1e30f);
        const float v123 = fmax(v118, v122);
        const float v124 = simd_shuffle_xor(v123, ushort(1));
        const float v125 = fmax(v123, v124);
        const float v126 = simd_shuffle_xor(v125, ushort(2));
        const float v127 = fmax(v125, v126);
        const float v128 = simd_shuffle_xor(v127, ushort(4));
        const float v129 = fmax(v127, v128);
        const float v130 = fmax(v129, v27);
        const float v131 = v118 - v130;
        const float v132 = fast::exp2(v131);
        const float v133 = v122 - v130;
        const float v134 = fast::exp2(v133);
        const float v135 = v27 - v130;
        const float v136 = fast::exp2(v135);
        const float v137 = v132 + v134;
        const float v138 = simd_shuffle_xor(v137, ushort(1));
        const float v139 = v137 + v138;
        const float v140 = simd_shuffle_xor(v139, ushort(2));
        const float v141 = v139 + v140;
        const float v142 = simd_shuffle_xor(v141, ushort(4));
        const float v143 = v141 + v142;
        const float2 v144 = float2(v132, v134);
        *(threadgroup float2*)(scores + v112 * 16 + v72) = v144;
        factors[v112 * 8 + v71] = v136;
        const float v145 = fma(v29, v136, v143);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_float8x8 v146;
        simdgroup_load(v146, factors + v0 * 8, 8);
        simdgroup_float8x8 v147;
        simdgroup_load(v147, scores + v0 * 16, 16);
        simdgroup_float8x8 v148;
        simdgroup_load(v148, scores + v0 * 16 + 8, 16);
        simdgroup_float8x8 v149;
        v149.thread_elements()[0] = v30.thread_elements()[0] * v146.thread_elements()[0];
        v149.thread_elements()[1] = v30.thread_elements()[1] * v146.thread_elements()[1];
        simdgroup_float8x8 v150;
        simdgroup_load(v150, storage + 512, 32);
        simdgroup_float8x8 v151;
        simdgroup_multiply_accumulate(v151, v147, v150, v149);
        simdgroup_float8x8 v152;
        simdgroup_load(v152, storage + 768, 32);
        simdgroup_float8x8 v153;
        simdgroup_multiply_accumulate(v153, v148, v152, v151);
        simdgroup_float8x8 v154;
        v154.thread_elements()[0] = v31.thread_elements()[0] * v146.thread_elements()[0];
        v154.thread_elements()[1] = v31.thread_elements()[1] * v146.thread_elements()[1];
        simdgroup_float8x8 v155;
        simdgroup_load(v155, storage + 520, 32);
        simdgroup_float8x8 v156;
        simdgroup_multiply_accumulate(v156, v147, v155, v154);
        simdgroup_float8x8 v157;
        simdgroup_load(v157, storage + 776, 32);
        simdgroup_float8x8 v158;
        simdgroup_multiply_accumulate(v158, v148, v157, v156);
        simdgroup_float8x8 v159;
        v159.thread_elements()[0] = v32.thread_elements()[0] * v146.thread_elements()[0];
        v159.thread_elements()[1] = v32.thread_elements()[1] * v146.thread_elements()[1];
        simdgroup_float8x8 v160;
        simdgroup_load(v160, storage + 528, 32);
        simdgroup_float8x8 v161;
        simdgroup_multiply_accumulate(v161, v147, v160, v159);
        simdgroup_float8x8 v162;
        simdgroup_load(v162, storage + 784, 32);
        simdgroup_float8x8 v163;
        simdgroup_multiply_accumulate(v163, v148, v162, v161);
        simdgroup_float8x8 v164;
        v164.thread_elements()[0] = v33.thread_elements()[0] * v146.thread_elements()[0];
        v164.thread_elements()[1] = v33.thread_elements()[1] * v146.thread_elements()[1];
        simdgroup_float8x8 v165;
        simdgroup_load(v165, storage + 536, 32);
        simdgroup_float8x8 v166;
        simdgroup_multiply_accumulate(v166, v147, v165, v164);
        simdgroup_float8x8 v167;
        simdgroup_load(v167, storage + 792, 32);
        simdgroup_float8x8 v168;
        simdgroup_multiply_accumulate(v168, v148, v167, v166);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v26 = v95;
        v27 = v130;
        v28 = v110;
        v29 = v145;
        v30 = v153;
        v31 = v158;
        v32 = v163;
        v33 = v168;
    }
    const int v169 = lane / 8;
    const int v170 = v0 + v169;
    const int v171 = v7 + v170;
    const bool v172 = v171 < valid_6;
    const float v173 = fmax(v28, 1e-30f);
    const float v174 = v172 ? v173 : as_type<float>(0x7f800000u);
    const int v175 = lane % 8;
    factors[v170 * 8 + v175] = v174;
    const int v176 = v169 + 4;
    const int v177 = v0 + v176;
    const int v178 = v7 + v177;
    const bool v179 = v178 < valid_6;
    const float v180 = fmax(v29, 1e-30f);
    const float v181 = v179 ? v180 : as_type<float>(0x7f800000u);
    factors[v177 * 8 + v175] = v181;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 v182;
    simdgroup_load(v182, factors + v0 * 8, 8);
    simdgroup_float8x8 v183;
    v183.thread_elements()[0] = v30.thread_elements()[0] / v182.thread_elements()[0];
    v183.thread_elements()[1] = v30.thread_elements()[1] / v182.thread_elements()[1];
    simdgroup_store(v183, storage + v0 * 32, 32);
    simdgroup_float8x8 v184;
    v184.thread_elements()[0] = v31.thread_elements()[0] / v182.thread_elements()[0];
    v184.thread_elements()[1] = v31.thread_elements()[1] / v182.thread_elements()[1];
    simdgroup_store(v184, storage + v0 * 32 + 8, 32);
    simdgroup_float8x8 v185;
    v185.thread_elements()[0] = v32.thread_elements()[0] / v182.thread_elements()[0];
    v185.thread_elements()[1] = v32.thread_elements()[1] / v182.thread_elements()[1];
    simdgroup_store(v185, storage + v0 * 32 + 16, 32);
    simdgroup_float8x8 v186;
    v186.thread_elements()[0] = v33.thread_elements()[0] / v182.thread_elements()[0];
    v186.thread_elements()[1] = v33.thread_elements()[1] / v182.thread_elements()[1];
    simdgroup_store(v186, storage + v0 * 32 + 24, 32);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (int v187 = lane; v187 < 64; v187 += 32) {
        const int v188 = v187 / 8;
        const int v189 = v187 % 8;
        const int v190 = v0 + v188;
        const int v191 = v189 * 4;
        const int v192 = v7 + v190;
        const float4 v193 = *(threadgroup const float4*)(storage + v190 * 32 + v191);
        *(device float4*)(out + group_x * 32 + v192 * 128 + v191) = v193;
    }
}
