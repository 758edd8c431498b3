__device__ __forceinline__ void tile_next_may_begin() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

__device__ __forceinline__ void tile_launch_barrier() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ float tile_simd_sum_f32(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const float w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = v + w;
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(1024, 1) overlap_attention_f32(
    const int* control,
    const float* qkv,
    const float* q_norm,
    const float* k_norm,
    const float* rotary,
    float* keys,
    float* values,
    float* mixed
) {
    tile_next_may_begin();
    const int group_x = (int)blockIdx.x;
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    __shared__ __align__(16) float queries[64];
    __shared__ __align__(16) float own[64];
    __shared__ __align__(16) float maxima_of[32];
    __shared__ __align__(16) float sums_of[32];
    __shared__ __align__(16) float mixtures_of[1024];
    tile_launch_barrier();
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
            const float v11 = fmaf(v10, v10, v7);
            const int v12 = v8 + 1;
            const float v13 = qkv[v5 * 32 + v12];
            const float v14 = fmaf(v13, v13, v11);
            const int v15 = v8 + 2;
            const float v16 = qkv[v5 * 32 + v15];
            const float v17 = fmaf(v16, v16, v14);
            const int v18 = v8 + 3;
            const float v19 = qkv[v5 * 32 + v18];
            const float v20 = fmaf(v19, v19, v17);
            v7 = v20;
        }
        const float v21 = tile_simd_sum_f32(v7);
        const float v22 = v21 / 32.0f;
        const float v23 = v22 + 1e-6f;
        const float v24 = __frsqrt_rn(v23);
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
            const float v39 = fmaf(v29, v35, v38);
            const float v40 = v29 * v36;
            const float v41 = fmaf(v34, v35, v40);
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
            const float v51 = fmaf(v50, v50, v47);
            const int v52 = v48 + 1;
            const float v53 = qkv[v45 * 32 + v52];
            const float v54 = fmaf(v53, v53, v51);
            const int v55 = v48 + 2;
            const float v56 = qkv[v45 * 32 + v55];
            const float v57 = fmaf(v56, v56, v54);
            const int v58 = v48 + 3;
            const float v59 = qkv[v45 * 32 + v58];
            const float v60 = fmaf(v59, v59, v57);
            v47 = v60;
        }
        const float v61 = tile_simd_sum_f32(v47);
        const float v62 = v61 / 32.0f;
        const float v63 = v62 + 1e-6f;
        const float v64 = __frsqrt_rn(v63);
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
            const float v79 = fmaf(v69, v75, v78);
            const float v80 = v69 * v76;
            const float v81 = fmaf(v74, v75, v80);
            own[v65] = v79;
            own[v70] = v81;
        }
    }
    const bool v82 = simd_group == 3;
    if (v82) {
        const int v83 = group_x + 6;
        const float v84 = qkv[v83 * 32 + lane];
        own[lane + 32] = v84;
    }
    __syncthreads();
    for (int v85 = thread_index; v85 < 32; v85 += 1024) {
        const float v86 = own[v85];
        keys[group_x * 2048 + position_2 * 32 + v85] = v86;
        const float v87 = own[v85 + 32];
        values[group_x * 2048 + position_2 * 32 + v85] = v87;
    }
    const int v88 = simd_group / 16;
    const int v89 = simd_group % 16;
    const float v90 = queries[v88 * 32 + lane];
    float v91 = (-1e30f);
    float v92 = 0.0f;
    float v93 = 0.0f;
    for (int v94 = v89; v94 < position_2; v94 += 64) {
        const int v98 = v94 + 16;
        const int v99 = v94 + 32;
        const int v100 = v94 + 48;
        const float v101 = keys[group_x * 2048 + v94 * 32 + lane];
        const bool v102 = v98 < position_2;
        const float v103 = v102 ? keys[group_x * 2048 + v98 * 32 + lane] : 0.0f;
        const bool v104 = v99 < position_2;
        const float v105 = v104 ? keys[group_x * 2048 + v99 * 32 + lane] : 0.0f;
        const bool v106 = v100 < position_2;
        const float v107 = v106 ? keys[group_x * 2048 + v100 * 32 + lane] : 0.0f;
        const float v108 = values[group_x * 2048 + v94 * 32 + lane];
        const float v109 = v102 ? values[group_x * 2048 + v98 * 32 + lane] : 0.0f;
        const float v110 = v104 ? values[group_x * 2048 + v99 * 32 + lane] : 0.0f;
        const float v111 = v106 ? values[group_x * 2048 + v100 * 32 + lane] : 0.0f;
        const float v112 = fmaf(v90, v101, 0.0f);
        const float v113 = tile_simd_sum_f32(v112);
        const float v114 = fmaf(v90, v103, 0.0f);
        const float v115 = tile_simd_sum_f32(v114);
        const float v116 = v102 ? v115 : (-1e30f);
        const float v117 = fmaf(v90, v105, 0.0f);
        const float v118 = tile_simd_sum_f32(v117);
        const float v119 = v104 ? v118 : (-1e30f);
        const float v120 = fmaf(v90, v107, 0.0f);
        const float v121 = tile_simd_sum_f32(v120);
        const float v122 = v106 ? v121 : (-1e30f);
        const float v123 = fmaxf(v91, v113);
        const float v124 = fmaxf(v123, v116);
        const float v125 = fmaxf(v124, v119);
        const float v126 = fmaxf(v125, v122);
        const float v127 = v91 - v126;
        const float v128 = expf(v127);
        const float v129 = v113 - v126;
        const float v130 = expf(v129);
        const float v131 = v116 - v126;
        const float v132 = expf(v131);
        const float v133 = v119 - v126;
        const float v134 = expf(v133);
        const float v135 = v122 - v126;
        const float v136 = expf(v135);
        const float v137 = v92 * v128;
        const float v138 = v137 + v130;
        const float v139 = v138 + v132;
        const float v140 = v139 + v134;
        const float v141 = v140 + v136;
        const float v142 = v93 * v128;
        const float v143 = fmaf(v130, v108, v142);
        const float v144 = fmaf(v132, v109, v143);
        const float v145 = fmaf(v134, v110, v144);
        const float v146 = fmaf(v136, v111, v145);
        v91 = v126;
        v92 = v141;
        v93 = v146;
    }
    const float v147 = own[lane];
    const float v148 = own[lane + 32];
    const bool v149 = v89 == 0;
    const float v150 = fmaf(v90, v147, 0.0f);
    const float v151 = tile_simd_sum_f32(v150);
    const float v152 = v149 ? v151 : (-1e30f);
    const float v153 = fmaxf(v91, v152);
    const float v154 = v91 - v153;
    const float v155 = expf(v154);
    const float v156 = v152 - v153;
    const float v157 = expf(v156);
    const float v158 = v93 * v155;
    const float v159 = fmaf(v157, v148, v158);
    const float v160 = fmaf(v92, v155, v157);
    const bool v161 = lane == 0;
    if (v161) maxima_of[v88 * 16 + v89] = v153;
    if (v161) sums_of[v88 * 16 + v89] = v160;
    mixtures_of[v88 * 512 + v89 * 32 + lane] = v159;
    __syncthreads();
    for (int v162 = thread_index; v162 < 64; v162 += 1024) {
        const int v163 = v162 / 32;
        const int v164 = v162 % 32;
        float v165 = (-1e30f);
        for (int v166 = 0; v166 < 16; v166 += 1) {
            const float v168 = maxima_of[v163 * 16 + v166];
            const float v169 = fmaxf(v165, v168);
            v165 = v169;
        }
        float v170 = 0.0f;
        for (int v171 = 0; v171 < 16; v171 += 1) {
            const float v173 = maxima_of[v163 * 16 + v171];
            const float v174 = v173 - v165;
            const float v175 = expf(v174);
            const float v176 = sums_of[v163 * 16 + v171];
            const float v177 = fmaf(v175, v176, v170);
            v170 = v177;
        }
        float v178 = 0.0f;
        for (int v179 = 0; v179 < 16; v179 += 1) {
            const float v181 = maxima_of[v163 * 16 + v179];
            const float v182 = v181 - v165;
            const float v183 = expf(v182);
            const float v184 = mixtures_of[v163 * 512 + v179 * 32 + v164];
            const float v185 = fmaf(v183, v184, v178);
            v178 = v185;
        }
        const float v186 = v178 / v170;
        mixed[group_x * 64 + v162] = v186;
    }
}
