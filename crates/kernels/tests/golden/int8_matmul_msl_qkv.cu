__device__ __forceinline__ float tile_bf16_to_f32(unsigned short b) {
    return __uint_as_float((unsigned int)b << 16);
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

extern "C" __global__ void __launch_bounds__(128, 1) int8_matmul_msl_qkv(
    const float* __restrict__ a,
    const signed char* __restrict__ weights,
    const unsigned short* __restrict__ weights_scales,
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
        const unsigned short v20 = weights_scales[v18];
        const float v21 = tile_bf16_to_f32(v20);
        const char4 v22 = *(const char4*)(weights + v18 * 64 + v15);
        const float4 v23 = make_float4((float)v22.x, (float)v22.y, (float)v22.z, (float)v22.w);
        const float4 v24 = make_float4(v21, v21, v21, v21);
        const float4 v25 = make_float4(v23.x * v24.x, v23.y * v24.y, v23.z * v24.z, v23.w * v24.w);
        *(float4*)(tiles + v13 * 16 + v15 + 1024) = v25;
    }
    __syncthreads();
    const float2 v26 = make_float2(0.0f, 0.0f);
    float2 v27 = v26;
    float2 v28 = v26;
    float2 v29 = v26;
    float2 v30 = v26;
    float2 v31 = v26;
    float2 v32 = v26;
    float2 v33 = v26;
    float2 v34 = v26;
    float2 v35 = v26;
    float2 v36 = v26;
    float2 v37 = v26;
    float2 v38 = v26;
    float2 v39 = v26;
    float2 v40 = v26;
    float2 v41 = v26;
    float2 v42 = v26;
    for (int v43 = 0; v43 < 64; v43 += 32) {
        const int v60 = v43 + 16;
        for (int v61 = thread_index; v61 < 256; v61 += 128) {
            const int v62 = v61 / 4;
            const int v63 = v61 % 4;
            const int v64 = v63 * 4;
            const int v66 = v60 + v64;
            const float4 v67 = *(const float4*)(a + v62 * 64 + v66);
            *(float4*)(tiles + v62 * 16 + v64 + 2048) = v67;
        }
        for (int v68 = thread_index; v68 < 256; v68 += 128) {
            const int v69 = v68 / 4;
            const int v70 = v68 % 4;
            const int v71 = v70 * 4;
            const int v72 = v60 + v71;
            const int v74 = v69 % 64;
            const int v75 = v1 + v74;
            const unsigned short v77 = weights_scales[v75];
            const float v78 = tile_bf16_to_f32(v77);
            const char4 v79 = *(const char4*)(weights + v75 * 64 + v72);
            const float4 v80 = make_float4((float)v79.x, (float)v79.y, (float)v79.z, (float)v79.w);
            const float4 v81 = make_float4(v78, v78, v78, v78);
            const float4 v82 = make_float4(v80.x * v81.x, v80.y * v81.y, v80.z * v81.z, v80.w * v81.w);
            *(float4*)(tiles + v69 * 16 + v71 + 3072) = v82;
        }
        const float2 v83 = make_float2(tiles[(v5 + fragment_column) * 16 + fragment_row + 1024], tiles[(v5 + fragment_column + 1) * 16 + fragment_row + 1024]);
        const int v84 = v5 + 8;
        const float2 v85 = make_float2(tiles[(v84 + fragment_column) * 16 + fragment_row + 1024], tiles[(v84 + fragment_column + 1) * 16 + fragment_row + 1024]);
        const int v86 = v5 + 16;
        const float2 v87 = make_float2(tiles[(v86 + fragment_column) * 16 + fragment_row + 1024], tiles[(v86 + fragment_column + 1) * 16 + fragment_row + 1024]);
        const int v88 = v5 + 24;
        const float2 v89 = make_float2(tiles[(v88 + fragment_column) * 16 + fragment_row + 1024], tiles[(v88 + fragment_column + 1) * 16 + fragment_row + 1024]);
        const float2 v90 = make_float2(tiles[(v3 + fragment_row) * 16 + fragment_column], tiles[(v3 + fragment_row) * 16 + (fragment_column + 1)]);
        const float2 v91 = tile_multiply(v90, v83, v27);
        const float2 v92 = tile_multiply(v90, v85, v28);
        const float2 v93 = tile_multiply(v90, v87, v29);
        const float2 v94 = tile_multiply(v90, v89, v30);
        const int v95 = v3 + 8;
        const float2 v96 = make_float2(tiles[(v95 + fragment_row) * 16 + fragment_column], tiles[(v95 + fragment_row) * 16 + (fragment_column + 1)]);
        const float2 v97 = tile_multiply(v96, v83, v31);
        const float2 v98 = tile_multiply(v96, v85, v32);
        const float2 v99 = tile_multiply(v96, v87, v33);
        const float2 v100 = tile_multiply(v96, v89, v34);
        const int v101 = v3 + 16;
        const float2 v102 = make_float2(tiles[(v101 + fragment_row) * 16 + fragment_column], tiles[(v101 + fragment_row) * 16 + (fragment_column + 1)]);
        const float2 v103 = tile_multiply(v102, v83, v35);
        const float2 v104 = tile_multiply(v102, v85, v36);
        const float2 v105 = tile_multiply(v102, v87, v37);
        const float2 v106 = tile_multiply(v102, v89, v38);
        const int v107 = v3 + 24;
        const float2 v108 = make_float2(tiles[(v107 + fragment_row) * 16 + fragment_column], tiles[(v107 + fragment_row) * 16 + (fragment_column + 1)]);
        const float2 v109 = tile_multiply(v108, v83, v39);
        const float2 v110 = tile_multiply(v108, v85, v40);
        const float2 v111 = tile_multiply(v108, v87, v41);
        const float2 v112 = tile_multiply(v108, v89, v42);
        const float2 v113 = make_float2(tiles[(v5 + fragment_column) * 16 + (8 + fragment_row) + 1024], tiles[(v5 + fragment_column + 1) * 16 + (8 + fragment_row) + 1024]);
        const float2 v114 = make_float2(tiles[(v84 + fragment_column) * 16 + (8 + fragment_row) + 1024], tiles[(v84 + fragment_column + 1) * 16 + (8 + fragment_row) + 1024]);
        const float2 v115 = make_float2(tiles[(v86 + fragment_column) * 16 + (8 + fragment_row) + 1024], tiles[(v86 + fragment_column + 1) * 16 + (8 + fragment_row) + 1024]);
        const float2 v116 = make_float2(tiles[(v88 + fragment_column) * 16 + (8 + fragment_row) + 1024], tiles[(v88 + fragment_column + 1) * 16 + (8 + fragment_row) + 1024]);
        const float2 v117 = make_float2(tiles[(v3 + fragment_row) * 16 + (8 + fragment_column)], tiles[(v3 + fragment_row) * 16 + (8 + fragment_column + 1)]);
        const float2 v118 = tile_multiply(v117, v113, v91);
        const float2 v119 = tile_multiply(v117, v114, v92);
        const float2 v120 = tile_multiply(v117, v115, v93);
        const float2 v121 = tile_multiply(v117, v116, v94);
        const float2 v122 = make_float2(tiles[(v95 + fragment_row) * 16 + (8 + fragment_column)], tiles[(v95 + fragment_row) * 16 + (8 + fragment_column + 1)]);
        const float2 v123 = tile_multiply(v122, v113, v97);
        const float2 v124 = tile_multiply(v122, v114, v98);
        const float2 v125 = tile_multiply(v122, v115, v99);
        const float2 v126 = tile_multiply(v122, v116, v100);
        const float2 v127 = make_float2(tiles[(v101 + fragment_row) * 16 + (8 + fragment_column)], tiles[(v101 + fragment_row) * 16 + (8 + fragment_column + 1)]);
        const float2 v128 = tile_multiply(v127, v113, v103);
        const float2 v129 = tile_multiply(v127, v114, v104);
        const float2 v130 = tile_multiply(v127, v115, v105);
        const float2 v131 = tile_multiply(v127, v116, v106);
        const float2 v132 = make_float2(tiles[(v107 + fragment_row) * 16 + (8 + fragment_column)], tiles[(v107 + fragment_row) * 16 + (8 + fragment_column + 1)]);
        const float2 v133 = tile_multiply(v132, v113, v109);
        const float2 v134 = tile_multiply(v132, v114, v110);
        const float2 v135 = tile_multiply(v132, v115, v111);
        const float2 v136 = tile_multiply(v132, v116, v112);
        __syncthreads();
        const int v137 = v43 + 32;
        for (int v138 = thread_index; v138 < 256; v138 += 128) {
            const int v139 = v138 / 4;
            const int v140 = v138 % 4;
            const int v141 = v140 * 4;
            const int v143 = v137 + v141;
            const float4 v144 = v143 < 64 ? *(const float4*)(a + v139 * 64 + v143) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            *(float4*)(tiles + v139 * 16 + v141) = v144;
        }
        for (int v145 = thread_index; v145 < 256; v145 += 128) {
            const int v146 = v145 / 4;
            const int v147 = v145 % 4;
            const int v148 = v147 * 4;
            const int v149 = v137 + v148;
            const int v151 = v146 % 64;
            const int v152 = v1 + v151;
            const unsigned short v154 = weights_scales[v152];
            const float v155 = tile_bf16_to_f32(v154);
            const char4 v156 = v149 < 64 ? *(const char4*)(weights + v152 * 64 + v149) : make_char4((signed char)(0), (signed char)(0), (signed char)(0), (signed char)(0));
            const float4 v157 = make_float4((float)v156.x, (float)v156.y, (float)v156.z, (float)v156.w);
            const float4 v158 = make_float4(v155, v155, v155, v155);
            const float4 v159 = make_float4(v157.x * v158.x, v157.y * v158.y, v157.z * v158.z, v157.w * v158.w);
            *(float4*)(tiles + v146 * 16 + v148 + 1024) = v159;
        }
        const float2 v160 = make_float2(tiles[(v5 + fragment_column) * 16 + fragment_row + 3072], tiles[(v5 + fragment_column + 1) * 16 + fragment_row + 3072]);
        const float2 v161 = make_float2(tiles[(v84 + fragment_column) * 16 + fragment_row + 3072], tiles[(v84 + fragment_column + 1) * 16 + fragment_row + 3072]);
        const float2 v162 = make_float2(tiles[(v86 + fragment_column) * 16 + fragment_row + 3072], tiles[(v86 + fragment_column + 1) * 16 + fragment_row + 3072]);
        const float2 v163 = make_float2(tiles[(v88 + fragment_column) * 16 + fragment_row + 3072], tiles[(v88 + fragment_column + 1) * 16 + fragment_row + 3072]);
        const float2 v164 = make_float2(tiles[(v3 + fragment_row) * 16 + fragment_column + 2048], tiles[(v3 + fragment_row) * 16 + (fragment_column + 1) + 2048]);
        const float2 v165 = tile_multiply(v164, v160, v118);
        const float2 v166 = tile_multiply(v164, v161, v119);
        const float2 v167 = tile_multiply(v164, v162, v120);
        const float2 v168 = tile_multiply(v164, v163, v121);
        const float2 v169 = make_float2(tiles[(v95 + fragment_row) * 16 + fragment_column + 2048], tiles[(v95 + fragment_row) * 16 + (fragment_column + 1) + 2048]);
        const float2 v170 = tile_multiply(v169, v160, v123);
        const float2 v171 = tile_multiply(v169, v161, v124);
        const float2 v172 = tile_multiply(v169, v162, v125);
        const float2 v173 = tile_multiply(v169, v163, v126);
        const float2 v174 = make_float2(tiles[(v101 + fragment_row) * 16 + fragment_column + 2048], tiles[(v101 + fragment_row) * 16 + (fragment_column + 1) + 2048]);
        const float2 v175 = tile_multiply(v174, v160, v128);
        const float2 v176 = tile_multiply(v174, v161, v129);
        const float2 v177 = tile_multiply(v174, v162, v130);
        const float2 v178 = tile_multiply(v174, v163, v131);
        const float2 v179 = make_float2(tiles[(v107 + fragment_row) * 16 + fragment_column + 2048], tiles[(v107 + fragment_row) * 16 + (fragment_column + 1) + 2048]);
        const float2 v180 = tile_multiply(v179, v160, v133);
        const float2 v181 = tile_multiply(v179, v161, v134);
        const float2 v182 = tile_multiply(v179, v162, v135);
        const float2 v183 = tile_multiply(v179, v163, v136);
        const float2 v184 = make_float2(tiles[(v5 + fragment_column) * 16 + (8 + fragment_row) + 3072], tiles[(v5 + fragment_column + 1) * 16 + (8 + fragment_row) + 3072]);
        const float2 v185 = make_float2(tiles[(v84 + fragment_column) * 16 + (8 + fragment_row) + 3072], tiles[(v84 + fragment_column + 1) * 16 + (8 + fragment_row) + 3072]);
        const float2 v186 = make_float2(tiles[(v86 + fragment_column) * 16 + (8 + fragment_row) + 3072], tiles[(v86 + fragment_column + 1) * 16 + (8 + fragment_row) + 3072]);
        const float2 v187 = make_float2(tiles[(v88 + fragment_column) * 16 + (8 + fragment_row) + 3072], tiles[(v88 + fragment_column + 1) * 16 + (8 + fragment_row) + 3072]);
        const float2 v188 = make_float2(tiles[(v3 + fragment_row) * 16 + (8 + fragment_column) + 2048], tiles[(v3 + fragment_row) * 16 + (8 + fragment_column + 1) + 2048]);
        const float2 v189 = tile_multiply(v188, v184, v165);
        const float2 v190 = tile_multiply(v188, v185, v166);
        const float2 v191 = tile_multiply(v188, v186, v167);
        const float2 v192 = tile_multiply(v188, v187, v168);
        const float2 v193 = make_float2(tiles[(v95 + fragment_row) * 16 + (8 + fragment_column) + 2048], tiles[(v95 + fragment_row) * 16 + (8 + fragment_column + 1) + 2048]);
        const float2 v194 = tile_multiply(v193, v184, v170);
        const float2 v195 = tile_multiply(v193, v185, v171);
        const float2 v196 = tile_multiply(v193, v186, v172);
        const float2 v197 = tile_multiply(v193, v187, v173);
        const float2 v198 = make_float2(tiles[(v101 + fragment_row) * 16 + (8 + fragment_column) + 2048], tiles[(v101 + fragment_row) * 16 + (8 + fragment_column + 1) + 2048]);
        const float2 v199 = tile_multiply(v198, v184, v175);
        const float2 v200 = tile_multiply(v198, v185, v176);
        const float2 v201 = tile_multiply(v198, v186, v177);
        const float2 v202 = tile_multiply(v198, v187, v178);
        const float2 v203 = make_float2(tiles[(v107 + fragment_row) * 16 + (8 + fragment_column) + 2048], tiles[(v107 + fragment_row) * 16 + (8 + fragment_column + 1) + 2048]);
        const float2 v204 = tile_multiply(v203, v184, v180);
        const float2 v205 = tile_multiply(v203, v185, v181);
        const float2 v206 = tile_multiply(v203, v186, v182);
        const float2 v207 = tile_multiply(v203, v187, v183);
        __syncthreads();
        v27 = v189;
        v28 = v190;
        v29 = v191;
        v30 = v192;
        v31 = v194;
        v32 = v195;
        v33 = v196;
        v34 = v197;
        v35 = v199;
        v36 = v200;
        v37 = v201;
        v38 = v202;
        v39 = v204;
        v40 = v205;
        v41 = v206;
        v42 = v207;
    }
    tiles[(v3 + fragment_row) * 64 + (v5 + fragment_column)] = v27.x;
    tiles[(v3 + fragment_row) * 64 + (v5 + fragment_column + 1)] = v27.y;
    const int v208 = v5 + 8;
    tiles[(v3 + fragment_row) * 64 + (v208 + fragment_column)] = v28.x;
    tiles[(v3 + fragment_row) * 64 + (v208 + fragment_column + 1)] = v28.y;
    const int v209 = v5 + 16;
    tiles[(v3 + fragment_row) * 64 + (v209 + fragment_column)] = v29.x;
    tiles[(v3 + fragment_row) * 64 + (v209 + fragment_column + 1)] = v29.y;
    const int v210 = v5 + 24;
    tiles[(v3 + fragment_row) * 64 + (v210 + fragment_column)] = v30.x;
    tiles[(v3 + fragment_row) * 64 + (v210 + fragment_column + 1)] = v30.y;
    const int v211 = v3 + 8;
    tiles[(v211 + fragment_row) * 64 + (v5 + fragment_column)] = v31.x;
    tiles[(v211 + fragment_row) * 64 + (v5 + fragment_column + 1)] = v31.y;
    tiles[(v211 + fragment_row) * 64 + (v208 + fragment_column)] = v32.x;
    tiles[(v211 + fragment_row) * 64 + (v208 + fragment_column + 1)] = v32.y;
    tiles[(v211 + fragment_row) * 64 + (v209 + fragment_column)] = v33.x;
    tiles[(v211 + fragment_row) * 64 + (v209 + fragment_column + 1)] = v33.y;
    tiles[(v211 + fragment_row) * 64 + (v210 + fragment_column)] = v34.x;
    tiles[(v211 + fragment_row) * 64 + (v210 + fragment_column + 1)] = v34.y;
    const int v212 = v3 + 16;
    tiles[(v212 + fragment_row) * 64 + (v5 + fragment_column)] = v35.x;
    tiles[(v212 + fragment_row) * 64 + (v5 + fragment_column + 1)] = v35.y;
    tiles[(v212 + fragment_row) * 64 + (v208 + fragment_column)] = v36.x;
    tiles[(v212 + fragment_row) * 64 + (v208 + fragment_column + 1)] = v36.y;
    tiles[(v212 + fragment_row) * 64 + (v209 + fragment_column)] = v37.x;
    tiles[(v212 + fragment_row) * 64 + (v209 + fragment_column + 1)] = v37.y;
    tiles[(v212 + fragment_row) * 64 + (v210 + fragment_column)] = v38.x;
    tiles[(v212 + fragment_row) * 64 + (v210 + fragment_column + 1)] = v38.y;
    const int v213 = v3 + 24;
    tiles[(v213 + fragment_row) * 64 + (v5 + fragment_column)] = v39.x;
    tiles[(v213 + fragment_row) * 64 + (v5 + fragment_column + 1)] = v39.y;
    tiles[(v213 + fragment_row) * 64 + (v208 + fragment_column)] = v40.x;
    tiles[(v213 + fragment_row) * 64 + (v208 + fragment_column + 1)] = v40.y;
    tiles[(v213 + fragment_row) * 64 + (v209 + fragment_column)] = v41.x;
    tiles[(v213 + fragment_row) * 64 + (v209 + fragment_column + 1)] = v41.y;
    tiles[(v213 + fragment_row) * 64 + (v210 + fragment_column)] = v42.x;
    tiles[(v213 + fragment_row) * 64 + (v210 + fragment_column + 1)] = v42.y;
    __syncthreads();
    for (int v214 = thread_index; v214 < 1024; v214 += 128) {
        const int v215 = v214 / 16;
        const int v216 = v214 % 16;
        const int v217 = v216 * 4;
        const int v219 = v1 + v217;
        const float4 v220 = *(const float4*)(tiles + v215 * 64 + v217);
        *(float4*)(out + v215 * 256 + v219) = v220;
    }
}
