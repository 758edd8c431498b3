__device__ __forceinline__ float tile_simd_sum_f32(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const float w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = v + w;
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(256, 1) decode_megakernel_f32(
    const int token,
    const int position,
    const float* __restrict__ embedding,
    const float* __restrict__ layers,
    const float* __restrict__ final_norm,
    const float* __restrict__ rotary,
    float* __restrict__ keys,
    float* __restrict__ values,
    float* __restrict__ logits
) {
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    __shared__ __align__(16) float scratch[384];
    const int v0 = thread_index * 4;
    for (int v1 = v0; v1 < 64; v1 += 1024) {
        const float v2 = embedding[token * 64 + v1];
        scratch[v1] = v2;
        const int v3 = v1 + 1;
        const float v4 = embedding[token * 64 + v3];
        scratch[v3] = v4;
        const int v5 = v1 + 2;
        const float v6 = embedding[token * 64 + v5];
        scratch[v5] = v6;
        const int v7 = v1 + 3;
        const float v8 = embedding[token * 64 + v7];
        scratch[v7] = v8;
    }
    __syncthreads();
    for (int v9 = 0; v9 < 2; v9 += 1) {
        const int v10 = lane * 4;
        float v11 = 0.0f;
        for (int v12 = v10; v12 < 64; v12 += 128) {
            const float v14 = scratch[v12];
            const float v15 = fmaf(v14, v14, v11);
            const int v16 = v12 + 1;
            const float v17 = scratch[v16];
            const float v18 = fmaf(v17, v17, v15);
            const int v19 = v12 + 2;
            const float v20 = scratch[v19];
            const float v21 = fmaf(v20, v20, v18);
            const int v22 = v12 + 3;
            const float v23 = scratch[v22];
            const float v24 = fmaf(v23, v23, v21);
            v11 = v24;
        }
        const float v25 = tile_simd_sum_f32(v11);
        const float v26 = v25 / 64.0f;
        const float v27 = v26 + 1e-6f;
        const float v28 = __frsqrt_rn(v27);
        for (int v29 = v0; v29 < 64; v29 += 1024) {
            const float v30 = scratch[v29];
            const float v31 = v30 * v28;
            const float v32 = layers[v9 * 55488 + v29];
            const float v33 = v31 * v32;
            scratch[v29 + 64] = v33;
            const int v34 = v29 + 1;
            const float v35 = scratch[v34];
            const float v36 = v35 * v28;
            const float v37 = layers[v9 * 55488 + v34];
            const float v38 = v36 * v37;
            scratch[v34 + 64] = v38;
            const int v39 = v29 + 2;
            const float v40 = scratch[v39];
            const float v41 = v40 * v28;
            const float v42 = layers[v9 * 55488 + v39];
            const float v43 = v41 * v42;
            scratch[v39 + 64] = v43;
            const int v44 = v29 + 3;
            const float v45 = scratch[v44];
            const float v46 = v45 * v28;
            const float v47 = layers[v9 * 55488 + v44];
            const float v48 = v46 * v47;
            scratch[v44 + 64] = v48;
        }
        __syncthreads();
        for (int v49 = simd_group; v49 < 256; v49 += 8) {
            float v50 = 0.0f;
            for (int v51 = lane; v51 < 16; v51 += 32) {
                const int v53 = v51 * 4;
                const float4 v54 = *(const float4*)(layers + v9 * 55488 + v49 * 64 + v53 + 64);
                const float4 v59 = *(const float4*)(scratch + v53 + 64);
                const float v64 = fmaf(v54.x, v59.x, v50);
                const float v65 = fmaf(v54.y, v59.y, v64);
                const float v66 = fmaf(v54.z, v59.z, v65);
                const float v67 = fmaf(v54.w, v59.w, v66);
                v50 = v67;
            }
            const float v68 = tile_simd_sum_f32(v50);
            const bool v69 = lane == 0;
            if (v69) scratch[v49 + 128] = v68;
        }
        __syncthreads();
        for (int v70 = simd_group; v70 < 6; v70 += 8) {
            const bool v71 = v70 < 4;
            if (v71) {
                float v72 = 0.0f;
                for (int v73 = v10; v73 < 32; v73 += 128) {
                    const float v75 = scratch[v70 * 32 + v73 + 128];
                    const float v76 = fmaf(v75, v75, v72);
                    const int v77 = v73 + 1;
                    const float v78 = scratch[v70 * 32 + v77 + 128];
                    const float v79 = fmaf(v78, v78, v76);
                    const int v80 = v73 + 2;
                    const float v81 = scratch[v70 * 32 + v80 + 128];
                    const float v82 = fmaf(v81, v81, v79);
                    const int v83 = v73 + 3;
                    const float v84 = scratch[v70 * 32 + v83 + 128];
                    const float v85 = fmaf(v84, v84, v82);
                    v72 = v85;
                }
                const float v86 = tile_simd_sum_f32(v72);
                const float v87 = v86 / 32.0f;
                const float v88 = v87 + 1e-6f;
                const float v89 = __frsqrt_rn(v88);
                __syncwarp();
                for (int v90 = lane; v90 < 16; v90 += 32) {
                    const float v91 = scratch[v70 * 32 + v90 + 128];
                    const float v92 = v91 * v89;
                    const float v93 = layers[v9 * 55488 + v90 + 55424];
                    const float v94 = v92 * v93;
                    const int v95 = v90 + 16;
                    const float v96 = scratch[v70 * 32 + v95 + 128];
                    const float v97 = v96 * v89;
                    const float v98 = layers[v9 * 55488 + v95 + 55424];
                    const float v99 = v97 * v98;
                    const float v100 = rotary[position * 32 + v90 * 2];
                    const float v101 = rotary[position * 32 + v90 * 2 + 1];
                    const float v102 = v99 * v101;
                    const float v103 = -v102;
                    const float v104 = fmaf(v94, v100, v103);
                    const float v105 = v94 * v101;
                    const float v106 = fmaf(v99, v100, v105);
                    scratch[v70 * 32 + v90 + 128] = v104;
                    scratch[v70 * 32 + v95 + 128] = v106;
                }
                __syncwarp();
            }
            const bool v107 = v70 >= 4;
            if (v107) {
                float v108 = 0.0f;
                for (int v109 = v10; v109 < 32; v109 += 128) {
                    const float v111 = scratch[v70 * 32 + v109 + 128];
                    const float v112 = fmaf(v111, v111, v108);
                    const int v113 = v109 + 1;
                    const float v114 = scratch[v70 * 32 + v113 + 128];
                    const float v115 = fmaf(v114, v114, v112);
                    const int v116 = v109 + 2;
                    const float v117 = scratch[v70 * 32 + v116 + 128];
                    const float v118 = fmaf(v117, v117, v115);
                    const int v119 = v109 + 3;
                    const float v120 = scratch[v70 * 32 + v119 + 128];
                    const float v121 = fmaf(v120, v120, v118);
                    v108 = v121;
                }
                const float v122 = tile_simd_sum_f32(v108);
                const float v123 = v122 / 32.0f;
                const float v124 = v123 + 1e-6f;
                const float v125 = __frsqrt_rn(v124);
                __syncwarp();
                for (int v126 = lane; v126 < 16; v126 += 32) {
                    const float v127 = scratch[v70 * 32 + v126 + 128];
                    const float v128 = v127 * v125;
                    const float v129 = layers[v9 * 55488 + v126 + 55456];
                    const float v130 = v128 * v129;
                    const int v131 = v126 + 16;
                    const float v132 = scratch[v70 * 32 + v131 + 128];
                    const float v133 = v132 * v125;
                    const float v134 = layers[v9 * 55488 + v131 + 55456];
                    const float v135 = v133 * v134;
                    const float v136 = rotary[position * 32 + v126 * 2];
                    const float v137 = rotary[position * 32 + v126 * 2 + 1];
                    const float v138 = v135 * v137;
                    const float v139 = -v138;
                    const float v140 = fmaf(v130, v136, v139);
                    const float v141 = v130 * v137;
                    const float v142 = fmaf(v135, v136, v141);
                    scratch[v70 * 32 + v126 + 128] = v140;
                    scratch[v70 * 32 + v131 + 128] = v142;
                }
                __syncwarp();
            }
        }
        __syncthreads();
        for (int v143 = simd_group; v143 < 4; v143 += 8) {
            const int v144 = v143 / 2;
            const float v145 = scratch[v143 * 32 + lane + 128];
            const float v146 = v145 * 0.17677669f;
            float v147 = (-1e30f);
            float v148 = 0.0f;
            float v149 = 0.0f;
            for (int v150 = 0; v150 < position; v150 += 1) {
                const float v154 = keys[v9 * 4096 + v144 * 2048 + v150 * 32 + lane];
                const float v155 = values[v9 * 4096 + v144 * 2048 + v150 * 32 + lane];
                const float v156 = fmaf(v146, v154, 0.0f);
                const float v157 = tile_simd_sum_f32(v156);
                const float v158 = fmaxf(v147, v157);
                const float v159 = v147 - v158;
                const float v160 = expf(v159);
                const float v161 = v157 - v158;
                const float v162 = expf(v161);
                const float v163 = v149 * v160;
                const float v164 = fmaf(v162, v155, v163);
                const float v165 = fmaf(v148, v160, v162);
                v147 = v158;
                v148 = v165;
                v149 = v164;
            }
            const float v166 = scratch[v144 * 32 + lane + 320];
            const float v167 = scratch[v144 * 32 + lane + 256];
            const float v168 = fmaf(v146, v167, 0.0f);
            const float v169 = tile_simd_sum_f32(v168);
            const float v170 = fmaxf(v147, v169);
            const float v171 = v147 - v170;
            const float v172 = expf(v171);
            const float v173 = v169 - v170;
            const float v174 = expf(v173);
            const float v175 = v149 * v172;
            const float v176 = fmaf(v174, v166, v175);
            const float v177 = fmaf(v148, v172, v174);
            const float v178 = v176 / v177;
            scratch[v143 * 32 + lane + 128] = v178;
        }
        for (int v179 = thread_index; v179 < 64; v179 += 256) {
            const int v180 = v179 / 32;
            const int v181 = v179 % 32;
            const float v182 = scratch[v180 * 32 + v181 + 256];
            keys[v9 * 4096 + v180 * 2048 + position * 32 + v181] = v182;
            const float v183 = scratch[v180 * 32 + v181 + 320];
            values[v9 * 4096 + v180 * 2048 + position * 32 + v181] = v183;
        }
        __syncthreads();
        for (int v184 = simd_group; v184 < 64; v184 += 8) {
            float v185 = 0.0f;
            for (int v186 = lane; v186 < 32; v186 += 32) {
                const int v188 = v186 * 4;
                const float4 v189 = *(const float4*)(layers + v9 * 55488 + v184 * 128 + v188 + 16448);
                const float4 v194 = *(const float4*)(scratch + v188 + 128);
                const float v199 = fmaf(v189.x, v194.x, v185);
                const float v200 = fmaf(v189.y, v194.y, v199);
                const float v201 = fmaf(v189.z, v194.z, v200);
                const float v202 = fmaf(v189.w, v194.w, v201);
                v185 = v202;
            }
            const float v203 = tile_simd_sum_f32(v185);
            const bool v204 = lane == 0;
            if (v204) {
                const float v205 = scratch[v184];
                const float v206 = v205 + v203;
                scratch[v184] = v206;
            }
        }
        __syncthreads();
        float v207 = 0.0f;
        for (int v208 = v10; v208 < 64; v208 += 128) {
            const float v210 = scratch[v208];
            const float v211 = fmaf(v210, v210, v207);
            const int v212 = v208 + 1;
            const float v213 = scratch[v212];
            const float v214 = fmaf(v213, v213, v211);
            const int v215 = v208 + 2;
            const float v216 = scratch[v215];
            const float v217 = fmaf(v216, v216, v214);
            const int v218 = v208 + 3;
            const float v219 = scratch[v218];
            const float v220 = fmaf(v219, v219, v217);
            v207 = v220;
        }
        const float v221 = tile_simd_sum_f32(v207);
        const float v222 = v221 / 64.0f;
        const float v223 = v222 + 1e-6f;
        const float v224 = __frsqrt_rn(v223);
        for (int v225 = v0; v225 < 64; v225 += 1024) {
            const float v226 = scratch[v225];
            const float v227 = v226 * v224;
            const float v228 = layers[v9 * 55488 + v225 + 24640];
            const float v229 = v227 * v228;
            scratch[v225 + 64] = v229;
            const int v230 = v225 + 1;
            const float v231 = scratch[v230];
            const float v232 = v231 * v224;
            const float v233 = layers[v9 * 55488 + v230 + 24640];
            const float v234 = v232 * v233;
            scratch[v230 + 64] = v234;
            const int v235 = v225 + 2;
            const float v236 = scratch[v235];
            const float v237 = v236 * v224;
            const float v238 = layers[v9 * 55488 + v235 + 24640];
            const float v239 = v237 * v238;
            scratch[v235 + 64] = v239;
            const int v240 = v225 + 3;
            const float v241 = scratch[v240];
            const float v242 = v241 * v224;
            const float v243 = layers[v9 * 55488 + v240 + 24640];
            const float v244 = v242 * v243;
            scratch[v240 + 64] = v244;
        }
        __syncthreads();
        for (int v245 = simd_group; v245 < 160; v245 += 8) {
            const int v246 = v245 + 160;
            float v247 = 0.0f;
            float v248 = 0.0f;
            for (int v249 = lane; v249 < 16; v249 += 32) {
                const int v252 = v249 * 4;
                const float4 v253 = *(const float4*)(layers + v9 * 55488 + v245 * 64 + v252 + 24704);
                const float4 v258 = *(const float4*)(layers + v9 * 55488 + v246 * 64 + v252 + 24704);
                const float4 v263 = *(const float4*)(scratch + v252 + 64);
                const float v268 = fmaf(v253.x, v263.x, v247);
                const float v269 = fmaf(v253.y, v263.y, v268);
                const float v270 = fmaf(v253.z, v263.z, v269);
                const float v271 = fmaf(v253.w, v263.w, v270);
                const float v272 = fmaf(v258.x, v263.x, v248);
                const float v273 = fmaf(v258.y, v263.y, v272);
                const float v274 = fmaf(v258.z, v263.z, v273);
                const float v275 = fmaf(v258.w, v263.w, v274);
                v247 = v271;
                v248 = v275;
            }
            const float v276 = tile_simd_sum_f32(v247);
            const float v277 = tile_simd_sum_f32(v248);
            const float v278 = fabsf(v276);
            const float v279 = -v278;
            const float v280 = expf(v279);
            const bool v281 = v276 >= 0.0f;
            const float v282 = v280 + 1.0f;
            const float v283 = 1.0f / v282;
            const float v284 = v280 / v282;
            const float v285 = v281 ? v283 : v284;
            const float v286 = v276 * v285;
            const float v287 = v286 * v277;
            const bool v288 = lane == 0;
            if (v288) scratch[v245 + 128] = v287;
        }
        __syncthreads();
        for (int v289 = simd_group; v289 < 64; v289 += 8) {
            float v290 = 0.0f;
            for (int v291 = lane; v291 < 40; v291 += 32) {
                const int v293 = v291 * 4;
                const float4 v294 = *(const float4*)(layers + v9 * 55488 + v289 * 160 + v293 + 45184);
                const float4 v299 = *(const float4*)(scratch + v293 + 128);
                const float v304 = fmaf(v294.x, v299.x, v290);
                const float v305 = fmaf(v294.y, v299.y, v304);
                const float v306 = fmaf(v294.z, v299.z, v305);
                const float v307 = fmaf(v294.w, v299.w, v306);
                v290 = v307;
            }
            const float v308 = tile_simd_sum_f32(v290);
            const bool v309 = lane == 0;
            if (v309) {
                const float v310 = scratch[v289];
                const float v311 = v310 + v308;
                scratch[v289] = v311;
            }
        }
        __syncthreads();
    }
    const int v312 = lane * 4;
    float v313 = 0.0f;
    for (int v314 = v312; v314 < 64; v314 += 128) {
        const float v316 = scratch[v314];
        const float v317 = fmaf(v316, v316, v313);
        const int v318 = v314 + 1;
        const float v319 = scratch[v318];
        const float v320 = fmaf(v319, v319, v317);
        const int v321 = v314 + 2;
        const float v322 = scratch[v321];
        const float v323 = fmaf(v322, v322, v320);
        const int v324 = v314 + 3;
        const float v325 = scratch[v324];
        const float v326 = fmaf(v325, v325, v323);
        v313 = v326;
    }
    const float v327 = tile_simd_sum_f32(v313);
    const float v328 = v327 / 64.0f;
    const float v329 = v328 + 1e-6f;
    const float v330 = __frsqrt_rn(v329);
    for (int v331 = v0; v331 < 64; v331 += 1024) {
        const float v332 = scratch[v331];
        const float v333 = v332 * v330;
        const float v334 = final_norm[v331];
        const float v335 = v333 * v334;
        scratch[v331 + 64] = v335;
        const int v336 = v331 + 1;
        const float v337 = scratch[v336];
        const float v338 = v337 * v330;
        const float v339 = final_norm[v336];
        const float v340 = v338 * v339;
        scratch[v336 + 64] = v340;
        const int v341 = v331 + 2;
        const float v342 = scratch[v341];
        const float v343 = v342 * v330;
        const float v344 = final_norm[v341];
        const float v345 = v343 * v344;
        scratch[v341 + 64] = v345;
        const int v346 = v331 + 3;
        const float v347 = scratch[v346];
        const float v348 = v347 * v330;
        const float v349 = final_norm[v346];
        const float v350 = v348 * v349;
        scratch[v346 + 64] = v350;
    }
    __syncthreads();
    for (int v351 = simd_group; v351 < 512; v351 += 8) {
        float v352 = 0.0f;
        for (int v353 = lane; v353 < 16; v353 += 32) {
            const int v355 = v353 * 4;
            const float4 v356 = *(const float4*)(embedding + v351 * 64 + v355);
            const float4 v361 = *(const float4*)(scratch + v355 + 64);
            const float v366 = fmaf(v356.x, v361.x, v352);
            const float v367 = fmaf(v356.y, v361.y, v366);
            const float v368 = fmaf(v356.z, v361.z, v367);
            const float v369 = fmaf(v356.w, v361.w, v368);
            v352 = v369;
        }
        const float v370 = tile_simd_sum_f32(v352);
        const bool v371 = lane == 0;
        if (v371) logits[v351] = v370;
    }
}
