__device__ __forceinline__ float tile_f16_to_f32(unsigned short h) {
#ifdef __CUDA_ARCH__
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
#else
    const unsigned int sign = (unsigned int)(h & 0x8000u) << 16, rest = h & 0x7fffu;
    if (rest >= 0x7c00u) return __uint_as_float(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    const float f = __uint_as_float(rest << 13) * __uint_as_float(0x77800000u);
    return __uint_as_float(sign | __float_as_uint(f));
#endif
}

__device__ __forceinline__ float2 tile_multiply(float2 a, float2 b, float2 c) {
    const int lane = threadIdx.x & 31;
#pragma unroll 1
    for (int k = 0; k < 8; k += 2) {
        const int left = (lane & 28) + k / 2, upper = k * 4 + (lane & 3), lower = upper + 4;
        const float left_x = __shfl_sync(0xffffffffu, a.x, left);
        const float left_y = __shfl_sync(0xffffffffu, a.y, left);
        c.x = fmaf(left_x, __shfl_sync(0xffffffffu, b.x, upper), c.x);
        c.y = fmaf(left_x, __shfl_sync(0xffffffffu, b.y, upper), c.y);
        c.x = fmaf(left_y, __shfl_sync(0xffffffffu, b.x, lower), c.x);
        c.y = fmaf(left_y, __shfl_sync(0xffffffffu, b.y, lower), c.y);
    }
    return c;
}

extern "C" __global__ void __launch_bounds__(128, 1) q4_k_matmul_msl_qkv_qk(
    const float* __restrict__ a,
    const unsigned char* __restrict__ weights_scales,
    const unsigned short* __restrict__ weights_steps,
    const unsigned int* __restrict__ weights,
    float* __restrict__ out
) {
    const int group_x = (int)blockIdx.x;
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    const int fragment_row = lane / 4, fragment_column = (lane & 3) * 2;
    __shared__ __align__(16) float tiles[4096];
    const int v1 = group_x * 64;
    const int v2 = simd_group / 2;
    const int v3 = v2 * 32;
    const int v4 = simd_group % 2;
    const int v5 = v4 * 32;
    for (int v6 = thread_index; v6 < 256; v6 += 128) {
        const int v7 = v6 / 4;
        const int v8 = v6 % 4;
        const int v9 = v8 * 4;
        const float4 v11 = *(const float4*)(a + v7 * 64 + v9);
        *(float4*)(tiles + v7 * 16 + v9) = v11;
    }
    for (int v12 = thread_index; v12 < 256; v12 += 128) {
        const int v13 = v12 / 4;
        const int v14 = v12 % 4;
        const int v15 = v14 * 4;
        const int v17 = v13 % 64;
        const int v18 = v1 + v17;
        const uchar2 v20 = *(const uchar2*)(weights_scales + v18 * 4);
        const float2 v21 = make_float2((float)v20.x, (float)v20.y);
        const ushort2 v23 = *(const ushort2*)(weights_steps + v18 * 2);
        const float2 v24 = make_float2(tile_f16_to_f32(v23.x), tile_f16_to_f32(v23.y));
        const float2 v25 = make_float2(v24.x * v21.x, v24.y * v21.y);
        const int v28 = v15 / 8;
        const unsigned int v29 = weights[v18 * 8 + v28];
        const int v30 = v15 % 8;
        const int v31 = v30 * 4;
        const unsigned int v32 = (unsigned int)v31;
        const unsigned int v33 = v29 >> v32;
        const unsigned int v34 = v33 & 15u;
        const float v35 = (float)v34;
        const unsigned int v36 = v33 >> 4u;
        const unsigned int v37 = v36 & 15u;
        const float v38 = (float)v37;
        const unsigned int v39 = v33 >> 8u;
        const unsigned int v40 = v39 & 15u;
        const float v41 = (float)v40;
        const unsigned int v42 = v33 >> 12u;
        const unsigned int v43 = v42 & 15u;
        const float v44 = (float)v43;
        const float4 v45 = make_float4(v35, v38, v41, v44);
        const float4 v46 = make_float4(v25.x, v25.x, v25.x, v25.x);
        const float4 v47 = make_float4(v45.x * v46.x, v45.y * v46.y, v45.z * v46.z, v45.w * v46.w);
        const float4 v48 = make_float4(v25.y, v25.y, v25.y, v25.y);
        const float4 v49 = make_float4(v47.x - v48.x, v47.y - v48.y, v47.z - v48.z, v47.w - v48.w);
        *(float4*)(tiles + v13 * 16 + v15 + 1024) = v49;
    }
    __syncthreads();
    const float2 v50 = make_float2(0.0f, 0.0f);
    float2 v51 = v50;
    float2 v52 = v50;
    float2 v53 = v50;
    float2 v54 = v50;
    float2 v55 = v50;
    float2 v56 = v50;
    float2 v57 = v50;
    float2 v58 = v50;
    float2 v59 = v50;
    float2 v60 = v50;
    float2 v61 = v50;
    float2 v62 = v50;
    float2 v63 = v50;
    float2 v64 = v50;
    float2 v65 = v50;
    float2 v66 = v50;
    for (int v67 = 0; v67 < 64; v67 += 32) {
        const int v84 = v67 + 16;
        for (int v85 = thread_index; v85 < 256; v85 += 128) {
            const int v86 = v85 / 4;
            const int v87 = v85 % 4;
            const int v88 = v87 * 4;
            const int v90 = v84 + v88;
            const float4 v91 = *(const float4*)(a + v86 * 64 + v90);
            *(float4*)(tiles + v86 * 16 + v88 + 2048) = v91;
        }
        for (int v92 = thread_index; v92 < 256; v92 += 128) {
            const int v93 = v92 / 4;
            const int v94 = v92 % 4;
            const int v95 = v94 * 4;
            const int v96 = v84 + v95;
            const int v98 = v93 % 64;
            const int v99 = v1 + v98;
            const int v100 = v96 / 32;
            const uchar2 v101 = *(const uchar2*)(weights_scales + v99 * 4 + v100 * 2);
            const float2 v102 = make_float2((float)v101.x, (float)v101.y);
            const ushort2 v104 = *(const ushort2*)(weights_steps + v99 * 2);
            const float2 v105 = make_float2(tile_f16_to_f32(v104.x), tile_f16_to_f32(v104.y));
            const float2 v106 = make_float2(v105.x * v102.x, v105.y * v102.y);
            const int v109 = v96 / 8;
            const unsigned int v110 = weights[v99 * 8 + v109];
            const int v111 = v96 % 8;
            const int v112 = v111 * 4;
            const unsigned int v113 = (unsigned int)v112;
            const unsigned int v114 = v110 >> v113;
            const unsigned int v115 = v114 & 15u;
            const float v116 = (float)v115;
            const unsigned int v117 = v114 >> 4u;
            const unsigned int v118 = v117 & 15u;
            const float v119 = (float)v118;
            const unsigned int v120 = v114 >> 8u;
            const unsigned int v121 = v120 & 15u;
            const float v122 = (float)v121;
            const unsigned int v123 = v114 >> 12u;
            const unsigned int v124 = v123 & 15u;
            const float v125 = (float)v124;
            const float4 v126 = make_float4(v116, v119, v122, v125);
            const float4 v127 = make_float4(v106.x, v106.x, v106.x, v106.x);
            const float4 v128 = make_float4(v126.x * v127.x, v126.y * v127.y, v126.z * v127.z, v126.w * v127.w);
            const float4 v129 = make_float4(v106.y, v106.y, v106.y, v106.y);
            const float4 v130 = make_float4(v128.x - v129.x, v128.y - v129.y, v128.z - v129.z, v128.w - v129.w);
            *(float4*)(tiles + v93 * 16 + v95 + 3072) = v130;
        }
        const float2 v131 = make_float2(tiles[(v5 + fragment_column) * 16 + fragment_row + 1024], tiles[(v5 + fragment_column + 1) * 16 + fragment_row + 1024]);
        const int v132 = v5 + 8;
        const float2 v133 = make_float2(tiles[(v132 + fragment_column) * 16 + fragment_row + 1024], tiles[(v132 + fragment_column + 1) * 16 + fragment_row + 1024]);
        const int v134 = v5 + 16;
        const float2 v135 = make_float2(tiles[(v134 + fragment_column) * 16 + fragment_row + 1024], tiles[(v134 + fragment_column + 1) * 16 + fragment_row + 1024]);
        const int v136 = v5 + 24;
        const float2 v137 = make_float2(tiles[(v136 + fragment_column) * 16 + fragment_row + 1024], tiles[(v136 + fragment_column + 1) * 16 + fragment_row + 1024]);
        const float2 v138 = make_float2(tiles[(v3 + fragment_row) * 16 + fragment_column], tiles[(v3 + fragment_row) * 16 + (fragment_column + 1)]);
        const float2 v139 = tile_multiply(v138, v131, v51);
        const float2 v140 = tile_multiply(v138, v133, v52);
        const float2 v141 = tile_multiply(v138, v135, v53);
        const float2 v142 = tile_multiply(v138, v137, v54);
        const int v143 = v3 + 8;
        const float2 v144 = make_float2(tiles[(v143 + fragment_row) * 16 + fragment_column], tiles[(v143 + fragment_row) * 16 + (fragment_column + 1)]);
        const float2 v145 = tile_multiply(v144, v131, v55);
        const float2 v146 = tile_multiply(v144, v133, v56);
        const float2 v147 = tile_multiply(v144, v135, v57);
        const float2 v148 = tile_multiply(v144, v137, v58);
        const int v149 = v3 + 16;
        const float2 v150 = make_float2(tiles[(v149 + fragment_row) * 16 + fragment_column], tiles[(v149 + fragment_row) * 16 + (fragment_column + 1)]);
        const float2 v151 = tile_multiply(v150, v131, v59);
        const float2 v152 = tile_multiply(v150, v133, v60);
        const float2 v153 = tile_multiply(v150, v135, v61);
        const float2 v154 = tile_multiply(v150, v137, v62);
        const int v155 = v3 + 24;
        const float2 v156 = make_float2(tiles[(v155 + fragment_row) * 16 + fragment_column], tiles[(v155 + fragment_row) * 16 + (fragment_column + 1)]);
        const float2 v157 = tile_multiply(v156, v131, v63);
        const float2 v158 = tile_multiply(v156, v133, v64);
        const float2 v159 = tile_multiply(v156, v135, v65);
        const float2 v160 = tile_multiply(v156, v137, v66);
        const float2 v161 = make_float2(tiles[(v5 + fragment_column) * 16 + (8 + fragment_row) + 1024], tiles[(v5 + fragment_column + 1) * 16 + (8 + fragment_row) + 1024]);
        const float2 v162 = make_float2(tiles[(v132 + fragment_column) * 16 + (8 + fragment_row) + 1024], tiles[(v132 + fragment_column + 1) * 16 + (8 + fragment_row) + 1024]);
        const float2 v163 = make_float2(tiles[(v134 + fragment_column) * 16 + (8 + fragment_row) + 1024], tiles[(v134 + fragment_column + 1) * 16 + (8 + fragment_row) + 1024]);
        const float2 v164 = make_float2(tiles[(v136 + fragment_column) * 16 + (8 + fragment_row) + 1024], tiles[(v136 + fragment_column + 1) * 16 + (8 + fragment_row) + 1024]);
        const float2 v165 = make_float2(tiles[(v3 + fragment_row) * 16 + (8 + fragment_column)], tiles[(v3 + fragment_row) * 16 + (8 + fragment_column + 1)]);
        const float2 v166 = tile_multiply(v165, v161, v139);
        const float2 v167 = tile_multiply(v165, v162, v140);
        const float2 v168 = tile_multiply(v165, v163, v141);
        const float2 v169 = tile_multiply(v165, v164, v142);
        const float2 v170 = make_float2(tiles[(v143 + fragment_row) * 16 + (8 + fragment_column)], tiles[(v143 + fragment_row) * 16 + (8 + fragment_column + 1)]);
        const float2 v171 = tile_multiply(v170, v161, v145);
        const float2 v172 = tile_multiply(v170, v162, v146);
        const float2 v173 = tile_multiply(v170, v163, v147);
        const float2 v174 = tile_multiply(v170, v164, v148);
        const float2 v175 = make_float2(tiles[(v149 + fragment_row) * 16 + (8 + fragment_column)], tiles[(v149 + fragment_row) * 16 + (8 + fragment_column + 1)]);
        const float2 v176 = tile_multiply(v175, v161, v151);
        const float2 v177 = tile_multiply(v175, v162, v152);
        const float2 v178 = tile_multiply(v175, v163, v153);
        const float2 v179 = tile_multiply(v175, v164, v154);
        const float2 v180 = make_float2(tiles[(v155 + fragment_row) * 16 + (8 + fragment_column)], tiles[(v155 + fragment_row) * 16 + (8 + fragment_column + 1)]);
        const float2 v181 = tile_multiply(v180, v161, v157);
        const float2 v182 = tile_multiply(v180, v162, v158);
        const float2 v183 = tile_multiply(v180, v163, v159);
        const float2 v184 = tile_multiply(v180, v164, v160);
        __syncthreads();
        const int v185 = v67 + 32;
        for (int v186 = thread_index; v186 < 256; v186 += 128) {
            const int v187 = v186 / 4;
            const int v188 = v186 % 4;
            const int v189 = v188 * 4;
            const int v191 = v185 + v189;
            const float4 v192 = v191 < 64 ? *(const float4*)(a + v187 * 64 + v191) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            *(float4*)(tiles + v187 * 16 + v189) = v192;
        }
        for (int v193 = thread_index; v193 < 256; v193 += 128) {
            const int v194 = v193 / 4;
            const int v195 = v193 % 4;
            const int v196 = v195 * 4;
            const int v197 = v185 + v196;
            const int v199 = v194 % 64;
            const int v200 = v1 + v199;
            const int v201 = v197 / 32;
            const uchar2 v202 = v201 < 2 ? *(const uchar2*)(weights_scales + v200 * 4 + v201 * 2) : make_uchar2((unsigned char)(0), (unsigned char)(0));
            const float2 v203 = make_float2((float)v202.x, (float)v202.y);
            const ushort2 v205 = *(const ushort2*)(weights_steps + v200 * 2);
            const float2 v206 = make_float2(tile_f16_to_f32(v205.x), tile_f16_to_f32(v205.y));
            const float2 v207 = make_float2(v206.x * v203.x, v206.y * v203.y);
            const int v210 = v197 / 8;
            const unsigned int v211 = v210 < 8 ? weights[v200 * 8 + v210] : 0u;
            const int v212 = v197 % 8;
            const int v213 = v212 * 4;
            const unsigned int v214 = (unsigned int)v213;
            const unsigned int v215 = v211 >> v214;
            const unsigned int v216 = v215 & 15u;
            const float v217 = (float)v216;
            const unsigned int v218 = v215 >> 4u;
            const unsigned int v219 = v218 & 15u;
            const float v220 = (float)v219;
            const unsigned int v221 = v215 >> 8u;
            const unsigned int v222 = v221 & 15u;
            const float v223 = (float)v222;
            const unsigned int v224 = v215 >> 12u;
            const unsigned int v225 = v224 & 15u;
            const float v226 = (float)v225;
            const float4 v227 = make_float4(v217, v220, v223, v226);
            const float4 v228 = make_float4(v207.x, v207.x, v207.x, v207.x);
            const float4 v229 = make_float4(v227.x * v228.x, v227.y * v228.y, v227.z * v228.z, v227.w * v228.w);
            const float4 v230 = make_float4(v207.y, v207.y, v207.y, v207.y);
            const float4 v231 = make_float4(v229.x - v230.x, v229.y - v230.y, v229.z - v230.z, v229.w - v230.w);
            *(float4*)(tiles + v194 * 16 + v196 + 1024) = v231;
        }
        const float2 v232 = make_float2(tiles[(v5 + fragment_column) * 16 + fragment_row + 3072], tiles[(v5 + fragment_column + 1) * 16 + fragment_row + 3072]);
        const float2 v233 = make_float2(tiles[(v132 + fragment_column) * 16 + fragment_row + 3072], tiles[(v132 + fragment_column + 1) * 16 + fragment_row + 3072]);
        const float2 v234 = make_float2(tiles[(v134 + fragment_column) * 16 + fragment_row + 3072], tiles[(v134 + fragment_column + 1) * 16 + fragment_row + 3072]);
        const float2 v235 = make_float2(tiles[(v136 + fragment_column) * 16 + fragment_row + 3072], tiles[(v136 + fragment_column + 1) * 16 + fragment_row + 3072]);
        const float2 v236 = make_float2(tiles[(v3 + fragment_row) * 16 + fragment_column + 2048], tiles[(v3 + fragment_row) * 16 + (fragment_column + 1) + 2048]);
        const float2 v237 = tile_multiply(v236, v232, v166);
        const float2 v238 = tile_multiply(v236, v233, v167);
        const float2 v239 = tile_multiply(v236, v234, v168);
        const float2 v240 = tile_multiply(v236, v235, v169);
        const float2 v241 = make_float2(tiles[(v143 + fragment_row) * 16 + fragment_column + 2048], tiles[(v143 + fragment_row) * 16 + (fragment_column + 1) + 2048]);
        const float2 v242 = tile_multiply(v241, v232, v171);
        const float2 v243 = tile_multiply(v241, v233, v172);
        const float2 v244 = tile_multiply(v241, v234, v173);
        const float2 v245 = tile_multiply(v241, v235, v174);
        const float2 v246 = make_float2(tiles[(v149 + fragment_row) * 16 + fragment_column + 2048], tiles[(v149 + fragment_row) * 16 + (fragment_column + 1) + 2048]);
        const float2 v247 = tile_multiply(v246, v232, v176);
        const float2 v248 = tile_multiply(v246, v233, v177);
        const float2 v249 = tile_multiply(v246, v234, v178);
        const float2 v250 = tile_multiply(v246, v235, v179);
        const float2 v251 = make_float2(tiles[(v155 + fragment_row) * 16 + fragment_column + 2048], tiles[(v155 + fragment_row) * 16 + (fragment_column + 1) + 2048]);
        const float2 v252 = tile_multiply(v251, v232, v181);
        const float2 v253 = tile_multiply(v251, v233, v182);
        const float2 v254 = tile_multiply(v251, v234, v183);
        const float2 v255 = tile_multiply(v251, v235, v184);
        const float2 v256 = make_float2(tiles[(v5 + fragment_column) * 16 + (8 + fragment_row) + 3072], tiles[(v5 + fragment_column + 1) * 16 + (8 + fragment_row) + 3072]);
        const float2 v257 = make_float2(tiles[(v132 + fragment_column) * 16 + (8 + fragment_row) + 3072], tiles[(v132 + fragment_column + 1) * 16 + (8 + fragment_row) + 3072]);
        const float2 v258 = make_float2(tiles[(v134 + fragment_column) * 16 + (8 + fragment_row) + 3072], tiles[(v134 + fragment_column + 1) * 16 + (8 + fragment_row) + 3072]);
        const float2 v259 = make_float2(tiles[(v136 + fragment_column) * 16 + (8 + fragment_row) + 3072], tiles[(v136 + fragment_column + 1) * 16 + (8 + fragment_row) + 3072]);
        const float2 v260 = make_float2(tiles[(v3 + fragment_row) * 16 + (8 + fragment_column) + 2048], tiles[(v3 + fragment_row) * 16 + (8 + fragment_column + 1) + 2048]);
        const float2 v261 = tile_multiply(v260, v256, v237);
        const float2 v262 = tile_multiply(v260, v257, v238);
        const float2 v263 = tile_multiply(v260, v258, v239);
        const float2 v264 = tile_multiply(v260, v259, v240);
        const float2 v265 = make_float2(tiles[(v143 + fragment_row) * 16 + (8 + fragment_column) + 2048], tiles[(v143 + fragment_row) * 16 + (8 + fragment_column + 1) + 2048]);
        const float2 v266 = tile_multiply(v265, v256, v242);
        const float2 v267 = tile_multiply(v265, v257, v243);
        const float2 v268 = tile_multiply(v265, v258, v244);
        const float2 v269 = tile_multiply(v265, v259, v245);
        const float2 v270 = make_float2(tiles[(v149 + fragment_row) * 16 + (8 + fragment_column) + 2048], tiles[(v149 + fragment_row) * 16 + (8 + fragment_column + 1) + 2048]);
        const float2 v271 = tile_multiply(v270, v256, v247);
        const float2 v272 = tile_multiply(v270, v257, v248);
        const float2 v273 = tile_multiply(v270, v258, v249);
        const float2 v274 = tile_multiply(v270, v259, v250);
        const float2 v275 = make_float2(tiles[(v155 + fragment_row) * 16 + (8 + fragment_column) + 2048], tiles[(v155 + fragment_row) * 16 + (8 + fragment_column + 1) + 2048]);
        const float2 v276 = tile_multiply(v275, v256, v252);
        const float2 v277 = tile_multiply(v275, v257, v253);
        const float2 v278 = tile_multiply(v275, v258, v254);
        const float2 v279 = tile_multiply(v275, v259, v255);
        __syncthreads();
        v51 = v261;
        v52 = v262;
        v53 = v263;
        v54 = v264;
        v55 = v266;
        v56 = v267;
        v57 = v268;
        v58 = v269;
        v59 = v271;
        v60 = v272;
        v61 = v273;
        v62 = v274;
        v63 = v276;
        v64 = v277;
        v65 = v278;
        v66 = v279;
    }
    tiles[(v3 + fragment_row) * 64 + (v5 + fragment_column)] = v51.x;
    tiles[(v3 + fragment_row) * 64 + (v5 + fragment_column + 1)] = v51.y;
    const int v280 = v5 + 8;
    tiles[(v3 + fragment_row) * 64 + (v280 + fragment_column)] = v52.x;
    tiles[(v3 + fragment_row) * 64 + (v280 + fragment_column + 1)] = v52.y;
    const int v281 = v5 + 16;
    tiles[(v3 + fragment_row) * 64 + (v281 + fragment_column)] = v53.x;
    tiles[(v3 + fragment_row) * 64 + (v281 + fragment_column + 1)] = v53.y;
    const int v282 = v5 + 24;
    tiles[(v3 + fragment_row) * 64 + (v282 + fragment_column)] = v54.x;
    tiles[(v3 + fragment_row) * 64 + (v282 + fragment_column + 1)] = v54.y;
    const int v283 = v3 + 8;
    tiles[(v283 + fragment_row) * 64 + (v5 + fragment_column)] = v55.x;
    tiles[(v283 + fragment_row) * 64 + (v5 + fragment_column + 1)] = v55.y;
    tiles[(v283 + fragment_row) * 64 + (v280 + fragment_column)] = v56.x;
    tiles[(v283 + fragment_row) * 64 + (v280 + fragment_column + 1)] = v56.y;
    tiles[(v283 + fragment_row) * 64 + (v281 + fragment_column)] = v57.x;
    tiles[(v283 + fragment_row) * 64 + (v281 + fragment_column + 1)] = v57.y;
    tiles[(v283 + fragment_row) * 64 + (v282 + fragment_column)] = v58.x;
    tiles[(v283 + fragment_row) * 64 + (v282 + fragment_column + 1)] = v58.y;
    const int v284 = v3 + 16;
    tiles[(v284 + fragment_row) * 64 + (v5 + fragment_column)] = v59.x;
    tiles[(v284 + fragment_row) * 64 + (v5 + fragment_column + 1)] = v59.y;
    tiles[(v284 + fragment_row) * 64 + (v280 + fragment_column)] = v60.x;
    tiles[(v284 + fragment_row) * 64 + (v280 + fragment_column + 1)] = v60.y;
    tiles[(v284 + fragment_row) * 64 + (v281 + fragment_column)] = v61.x;
    tiles[(v284 + fragment_row) * 64 + (v281 + fragment_column + 1)] = v61.y;
    tiles[(v284 + fragment_row) * 64 + (v282 + fragment_column)] = v62.x;
    tiles[(v284 + fragment_row) * 64 + (v282 + fragment_column + 1)] = v62.y;
    const int v285 = v3 + 24;
    tiles[(v285 + fragment_row) * 64 + (v5 + fragment_column)] = v63.x;
    tiles[(v285 + fragment_row) * 64 + (v5 + fragment_column + 1)] = v63.y;
    tiles[(v285 + fragment_row) * 64 + (v280 + fragment_column)] = v64.x;
    tiles[(v285 + fragment_row) * 64 + (v280 + fragment_column + 1)] = v64.y;
    tiles[(v285 + fragment_row) * 64 + (v281 + fragment_column)] = v65.x;
    tiles[(v285 + fragment_row) * 64 + (v281 + fragment_column + 1)] = v65.y;
    tiles[(v285 + fragment_row) * 64 + (v282 + fragment_column)] = v66.x;
    tiles[(v285 + fragment_row) * 64 + (v282 + fragment_column + 1)] = v66.y;
    __syncthreads();
    for (int v286 = thread_index; v286 < 1024; v286 += 128) {
        const int v287 = v286 / 16;
        const int v288 = v286 % 16;
        const int v289 = v288 * 4;
        const int v291 = v1 + v289;
        const float4 v292 = *(const float4*)(tiles + v287 * 64 + v289);
        *(float4*)(out + v287 * 256 + v291) = v292;
    }
}
