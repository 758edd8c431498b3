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

__device__ __forceinline__ float tile_simd_max_f32(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const float w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = fmaxf(v, w);
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(512, 1) overlap_attention_f32(
    const int* control,
    const float* qkv,
    const float* q_norm,
    const float* k_norm,
    const float* rotary,
    const float* cache,
    float* mixed,
    float* fresh
) {
    tile_next_may_begin();
    const int group_x = (int)blockIdx.x;
    const int group_y = (int)blockIdx.y;
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    __shared__ __align__(16) float own[96];
    __shared__ __align__(16) float maxima_of[17];
    __shared__ __align__(16) float sums_of[17];
    __shared__ __align__(16) float weights_of[17];
    __shared__ __align__(16) float mixtures_of[544];
    const int v0 = control[1];
    const int v1 = max(v0, 0);
    const int position_2 = min(v1, 63);
    const bool v3 = lane < 16;
    const bool v4 = simd_group == 0;
    const bool v5 = v4 && v3;
    const bool v6 = simd_group == 1;
    const bool v7 = v6 && v3;
    const float v8 = v5 ? q_norm[lane] : 0.0f;
    const float v9 = v7 ? k_norm[lane] : 0.0f;
    const float v10 = v4 ? v8 : v9;
    const int v11 = lane + 16;
    const float v12 = v5 ? q_norm[v11] : 0.0f;
    const float v13 = v7 ? k_norm[v11] : 0.0f;
    const float v14 = v4 ? v12 : v13;
    const bool v15 = simd_group < 2;
    const bool v16 = v15 && v3;
    const float v17 = v16 ? rotary[position_2 * 32 + lane * 2] : 0.0f;
    const float v18 = v16 ? rotary[position_2 * 32 + lane * 2 + 1] : 0.0f;
    const int v19 = simd_group * 8;
    const int v20 = v19 + 128;
    const int v21 = lane / 4;
    const int v22 = v19 + v21;
    const bool v23 = v22 < position_2;
    const bool v24 = v19 < position_2;
    const float v25 = v24 ? cache[group_x * 4096 + v19 * 32 + lane] : 0.0f;
    const int v26 = v19 + 1;
    const bool v27 = v26 < position_2;
    const float v28 = v27 ? cache[group_x * 4096 + v26 * 32 + lane] : 0.0f;
    const int v29 = v19 + 2;
    const bool v30 = v29 < position_2;
    const float v31 = v30 ? cache[group_x * 4096 + v29 * 32 + lane] : 0.0f;
    const int v32 = v19 + 3;
    const bool v33 = v32 < position_2;
    const float v34 = v33 ? cache[group_x * 4096 + v32 * 32 + lane] : 0.0f;
    const int v35 = v19 + 4;
    const bool v36 = v35 < position_2;
    const float v37 = v36 ? cache[group_x * 4096 + v35 * 32 + lane] : 0.0f;
    const int v38 = v19 + 5;
    const bool v39 = v38 < position_2;
    const float v40 = v39 ? cache[group_x * 4096 + v38 * 32 + lane] : 0.0f;
    const int v41 = v19 + 6;
    const bool v42 = v41 < position_2;
    const float v43 = v42 ? cache[group_x * 4096 + v41 * 32 + lane] : 0.0f;
    const int v44 = v19 + 7;
    const bool v45 = v44 < position_2;
    const float v46 = v45 ? cache[group_x * 4096 + v44 * 32 + lane] : 0.0f;
    const float v47 = v24 ? cache[group_x * 4096 + v19 * 32 + lane + 2048] : 0.0f;
    const float v48 = v27 ? cache[group_x * 4096 + v26 * 32 + lane + 2048] : 0.0f;
    const float v49 = v30 ? cache[group_x * 4096 + v29 * 32 + lane + 2048] : 0.0f;
    const float v50 = v33 ? cache[group_x * 4096 + v32 * 32 + lane + 2048] : 0.0f;
    const float v51 = v36 ? cache[group_x * 4096 + v35 * 32 + lane + 2048] : 0.0f;
    const float v52 = v39 ? cache[group_x * 4096 + v38 * 32 + lane + 2048] : 0.0f;
    const float v53 = v42 ? cache[group_x * 4096 + v41 * 32 + lane + 2048] : 0.0f;
    const float v54 = v45 ? cache[group_x * 4096 + v44 * 32 + lane + 2048] : 0.0f;
    tile_launch_barrier();
    const bool v55 = simd_group < 3;
    if (v55) {
        const int v56 = group_x * 2;
        const int v57 = v56 + group_y;
        const int v58 = simd_group - 1;
        const int v59 = v58 * 2;
        const int v60 = group_x + v59;
        const int v61 = v60 + 4;
        const int v62 = v4 ? v57 : v61;
        const float v63 = v3 ? qkv[v62 * 32 + lane] : 0.0f;
        const float v64 = v3 ? qkv[v62 * 32 + v11] : 0.0f;
        const float v65 = fmaf(v63, v63, 0.0f);
        const float v66 = fmaf(v64, v64, v65);
        const float v67 = tile_simd_sum_f32(v66);
        const float v68 = v67 / 32.0f;
        const float v69 = v68 + 1e-6f;
        const float v70 = __frsqrt_rn(v69);
        const bool v71 = simd_group == 2;
        const float v72 = v63 * v70;
        const float v73 = v72 * v10;
        const float v74 = v64 * v70;
        const float v75 = v74 * v14;
        const float v76 = v75 * v18;
        const float v77 = -v76;
        const float v78 = fmaf(v73, v17, v77);
        const float v79 = v73 * v18;
        const float v80 = fmaf(v75, v17, v79);
        if (v3) {
            const float v81 = v71 ? v63 : v78;
            const float v82 = v81 * 0.17677669f;
            const float v83 = v4 ? v82 : v81;
            own[simd_group * 32 + lane] = v83;
            const float v84 = v71 ? v64 : v80;
            const float v85 = v84 * 0.17677669f;
            const float v86 = v4 ? v85 : v84;
            own[simd_group * 32 + v11] = v86;
        }
    }
    __syncthreads();
    const bool v87 = thread_index < 32;
    if (v87) {
        const int v88 = group_y * 32;
        const int v89 = v88 + thread_index;
        const int v90 = v89 / 32;
        const int v91 = min(v90, 1);
        const int v92 = v91 + 1;
        const int v93 = v89 % 32;
        const float v94 = own[v92 * 32 + v93];
        fresh[group_x * 64 + v89] = v94;
    }
    const float v95 = own[lane];
    const float v96 = fmaf(v95, v25, 0.0f);
    const float v97 = fmaf(v95, v28, 0.0f);
    const float v98 = fmaf(v95, v31, 0.0f);
    const float v99 = fmaf(v95, v34, 0.0f);
    const float v100 = fmaf(v95, v37, 0.0f);
    const float v101 = fmaf(v95, v40, 0.0f);
    const float v102 = fmaf(v95, v43, 0.0f);
    const float v103 = fmaf(v95, v46, 0.0f);
    const int v104 = lane / 16;
    const int v105 = v104 % 2;
    const bool v106 = v105 == 1;
    const float v107 = v106 ? v100 : v96;
    const float v108 = v106 ? v96 : v100;
    const float v109 = __shfl_xor_sync(0xffffffffu, v108, 16);
    const float v110 = v107 + v109;
    const float v111 = v106 ? v101 : v97;
    const float v112 = v106 ? v97 : v101;
    const float v113 = __shfl_xor_sync(0xffffffffu, v112, 16);
    const float v114 = v111 + v113;
    const float v115 = v106 ? v102 : v98;
    const float v116 = v106 ? v98 : v102;
    const float v117 = __shfl_xor_sync(0xffffffffu, v116, 16);
    const float v118 = v115 + v117;
    const float v119 = v106 ? v103 : v99;
    const float v120 = v106 ? v99 : v103;
    const float v121 = __shfl_xor_sync(0xffffffffu, v120, 16);
    const float v122 = v119 + v121;
    const int v123 = lane / 8;
    const int v124 = v123 % 2;
    const bool v125 = v124 == 1;
    const float v126 = v125 ? v118 : v110;
    const float v127 = v125 ? v110 : v118;
    const float v128 = __shfl_xor_sync(0xffffffffu, v127, 8);
    const float v129 = v126 + v128;
    const float v130 = v125 ? v122 : v114;
    const float v131 = v125 ? v114 : v122;
    const float v132 = __shfl_xor_sync(0xffffffffu, v131, 8);
    const float v133 = v130 + v132;
    const int v134 = v21 % 2;
    const bool v135 = v134 == 1;
    const float v136 = v135 ? v133 : v129;
    const float v137 = v135 ? v129 : v133;
    const float v138 = __shfl_xor_sync(0xffffffffu, v137, 4);
    const float v139 = v136 + v138;
    const float v140 = __shfl_xor_sync(0xffffffffu, v139, 2);
    const float v141 = v139 + v140;
    const float v142 = __shfl_xor_sync(0xffffffffu, v141, 1);
    const float v143 = v141 + v142;
    const float v144 = v23 ? v143 : (-1e30f);
    const float v145 = tile_simd_max_f32(v144);
    const float v146 = fmaxf((-1e30f), v145);
    const float v147 = (-1e30f) - v146;
    const float v148 = expf(v147);
    const float v149 = v144 - v146;
    const float v150 = expf(v149);
    const float v151 = __shfl_sync(0xffffffffu, v150, 0);
    const float v152 = __shfl_sync(0xffffffffu, v150, 4);
    const float v153 = __shfl_sync(0xffffffffu, v150, 8);
    const float v154 = __shfl_sync(0xffffffffu, v150, 12);
    const float v155 = __shfl_sync(0xffffffffu, v150, 16);
    const float v156 = __shfl_sync(0xffffffffu, v150, 20);
    const float v157 = __shfl_sync(0xffffffffu, v150, 24);
    const float v158 = __shfl_sync(0xffffffffu, v150, 28);
    const float v159 = fmaf(0.0f, v148, v150);
    const float v160 = 0.0f * v148;
    const float v161 = fmaf(v151, v47, v160);
    const float v162 = fmaf(v152, v48, v161);
    const float v163 = fmaf(v153, v49, v162);
    const float v164 = fmaf(v154, v50, v163);
    const float v165 = fmaf(v155, v51, v164);
    const float v166 = fmaf(v156, v52, v165);
    const float v167 = fmaf(v157, v53, v166);
    const float v168 = fmaf(v158, v54, v167);
    float v169 = v146;
    float v170 = v159;
    float v171 = v168;
    for (int v172 = v20; v172 < position_2; v172 += 128) {
        const int v179 = v172 + 1;
        const int v182 = v172 + 2;
        const int v185 = v172 + 3;
        const int v188 = v172 + 4;
        const int v191 = v172 + 5;
        const int v194 = v172 + 6;
        const int v197 = v172 + 7;
        const float v200 = cache[group_x * 4096 + v172 * 32 + lane + 2048];
        const float v201 = false ? cache[group_x * 4096 + v179 * 32 + lane + 2048] : 0.0f;
        const float v202 = false ? cache[group_x * 4096 + v182 * 32 + lane + 2048] : 0.0f;
        const float v203 = false ? cache[group_x * 4096 + v185 * 32 + lane + 2048] : 0.0f;
        const float v204 = false ? cache[group_x * 4096 + v188 * 32 + lane + 2048] : 0.0f;
        const float v205 = false ? cache[group_x * 4096 + v191 * 32 + lane + 2048] : 0.0f;
        const float v206 = false ? cache[group_x * 4096 + v194 * 32 + lane + 2048] : 0.0f;
        const float v207 = false ? cache[group_x * 4096 + v197 * 32 + lane + 2048] : 0.0f;
        const float v249 = tile_simd_max_f32((-1e30f));
        const float v250 = fmaxf(v169, v249);
        const float v251 = v169 - v250;
        const float v252 = expf(v251);
        const float v253 = (-1e30f) - v250;
        const float v254 = expf(v253);
        const float v255 = __shfl_sync(0xffffffffu, v254, 0);
        const float v256 = __shfl_sync(0xffffffffu, v254, 4);
        const float v257 = __shfl_sync(0xffffffffu, v254, 8);
        const float v258 = __shfl_sync(0xffffffffu, v254, 12);
        const float v259 = __shfl_sync(0xffffffffu, v254, 16);
        const float v260 = __shfl_sync(0xffffffffu, v254, 20);
        const float v261 = __shfl_sync(0xffffffffu, v254, 24);
        const float v262 = __shfl_sync(0xffffffffu, v254, 28);
        const float v263 = fmaf(v170, v252, v254);
        const float v264 = v171 * v252;
        const float v265 = fmaf(v255, v200, v264);
        const float v266 = fmaf(v256, v201, v265);
        const float v267 = fmaf(v257, v202, v266);
        const float v268 = fmaf(v258, v203, v267);
        const float v269 = fmaf(v259, v204, v268);
        const float v270 = fmaf(v260, v205, v269);
        const float v271 = fmaf(v261, v206, v270);
        const float v272 = fmaf(v262, v207, v271);
        v169 = v250;
        v170 = v263;
        v171 = v272;
    }
    const float v273 = tile_simd_sum_f32(v170);
    const float v274 = v273 * 0.25f;
    const bool v275 = lane == 0;
    if (v275) maxima_of[simd_group] = v169;
    if (v275) sums_of[simd_group] = v274;
    mixtures_of[simd_group * 32 + lane] = v171;
    if (v4) {
        const float v276 = own[lane + 32];
        const float v277 = fmaf(v95, v276, 0.0f);
        const float v278 = tile_simd_sum_f32(v277);
        const float v279 = own[lane + 64];
        if (v275) maxima_of[16] = v278;
        if (v275) sums_of[16] = 1.0f;
        mixtures_of[lane + 512] = v279;
    }
    __syncthreads();
    if (v4) {
        const float v280 = lane < 17 ? maxima_of[lane] : (-1e30f);
        const float v281 = tile_simd_max_f32(v280);
        const float v282 = v280 - v281;
        const float v283 = expf(v282);
        const float v284 = lane < 17 ? sums_of[lane] : 0.0f;
        const float v285 = v283 * v284;
        const float v286 = tile_simd_sum_f32(v285);
        const bool v287 = lane < 17;
        const float v288 = v283 / v286;
        if (v287) weights_of[lane] = v288;
    }
    __syncthreads();
    for (int v289 = thread_index; v289 < 32; v289 += 512) {
        const float v290 = weights_of[0];
        const float v291 = mixtures_of[v289];
        const float v292 = fmaf(v290, v291, 0.0f);
        const float v293 = weights_of[1];
        const float v294 = mixtures_of[v289 + 32];
        const float v295 = fmaf(v293, v294, v292);
        const float v296 = weights_of[2];
        const float v297 = mixtures_of[v289 + 64];
        const float v298 = fmaf(v296, v297, v295);
        const float v299 = weights_of[3];
        const float v300 = mixtures_of[v289 + 96];
        const float v301 = fmaf(v299, v300, v298);
        const float v302 = weights_of[4];
        const float v303 = mixtures_of[v289 + 128];
        const float v304 = fmaf(v302, v303, v301);
        const float v305 = weights_of[5];
        const float v306 = mixtures_of[v289 + 160];
        const float v307 = fmaf(v305, v306, v304);
        const float v308 = weights_of[6];
        const float v309 = mixtures_of[v289 + 192];
        const float v310 = fmaf(v308, v309, v307);
        const float v311 = weights_of[7];
        const float v312 = mixtures_of[v289 + 224];
        const float v313 = fmaf(v311, v312, v310);
        const float v314 = weights_of[8];
        const float v315 = mixtures_of[v289 + 256];
        const float v316 = fmaf(v314, v315, v313);
        const float v317 = weights_of[9];
        const float v318 = mixtures_of[v289 + 288];
        const float v319 = fmaf(v317, v318, v316);
        const float v320 = weights_of[10];
        const float v321 = mixtures_of[v289 + 320];
        const float v322 = fmaf(v320, v321, v319);
        const float v323 = weights_of[11];
        const float v324 = mixtures_of[v289 + 352];
        const float v325 = fmaf(v323, v324, v322);
        const float v326 = weights_of[12];
        const float v327 = mixtures_of[v289 + 384];
        const float v328 = fmaf(v326, v327, v325);
        const float v329 = weights_of[13];
        const float v330 = mixtures_of[v289 + 416];
        const float v331 = fmaf(v329, v330, v328);
        const float v332 = weights_of[14];
        const float v333 = mixtures_of[v289 + 448];
        const float v334 = fmaf(v332, v333, v331);
        const float v335 = weights_of[15];
        const float v336 = mixtures_of[v289 + 480];
        const float v337 = fmaf(v335, v336, v334);
        const float v338 = weights_of[16];
        const float v339 = mixtures_of[v289 + 512];
        const float v340 = fmaf(v338, v339, v337);
        mixed[group_x * 64 + group_y * 32 + v289] = v340;
    }
}
