__device__ __forceinline__ float tile_fast_exp2(float x) {
#ifdef __CUDA_ARCH__
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return exp2f(x);
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

extern "C" __global__ void __launch_bounds__(128, 1) matrix_attention_separate_f32(
    const float* __restrict__ q,
    const float* __restrict__ keys,
    const float* __restrict__ values,
    const int* __restrict__ control,
    float* __restrict__ out
) {
    const int group_x = (int)blockIdx.x;
    const int group_y = (int)blockIdx.y;
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    const int fragment_row = lane / 4, fragment_column = (lane & 3) * 2;
    __shared__ __align__(16) float queries[1024];
    __shared__ __align__(16) float key_or_value_tile[512];
    __shared__ __align__(16) float scores[512];
    __shared__ __align__(16) float factors[256];
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
        const float4 v20 = *(const float4*)(q + group_x * 32 + v19 * 128 + v18);
        *(float4*)(queries + v16 * 32 + v18) = v20;
    }
    const float2 v21 = make_float2(0.0f, 0.0f);
    float v22 = (-1e30f);
    float v23 = (-1e30f);
    float v24 = 0.0f;
    float v25 = 0.0f;
    float2 v26 = v21;
    float2 v27 = v21;
    float2 v28 = v21;
    float2 v29 = v21;
    for (int v30 = 0; v30 < horizon_13; v30 += 16) {
        for (int v39 = thread_index; v39 < 128; v39 += 128) {
            const int v40 = v39 / 8;
            const int v41 = v39 % 8;
            const int v42 = v41 * 4;
            const int v43 = v30 + v40;
            const float4 v44 = v43 < horizon_13 ? *(const float4*)(keys + v14 * 2048 + v43 * 32 + v42) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            *(float4*)(key_or_value_tile + v40 * 32 + v42) = v44;
        }
        __syncthreads();
        const float2 v45 = make_float2(queries[(v0 + fragment_row) * 32 + fragment_column], queries[(v0 + fragment_row) * 32 + (fragment_column + 1)]);
        const float2 v46 = make_float2(queries[(v0 + fragment_row) * 32 + (8 + fragment_column)], queries[(v0 + fragment_row) * 32 + (8 + fragment_column + 1)]);
        const float2 v47 = make_float2(queries[(v0 + fragment_row) * 32 + (16 + fragment_column)], queries[(v0 + fragment_row) * 32 + (16 + fragment_column + 1)]);
        const float2 v48 = make_float2(queries[(v0 + fragment_row) * 32 + (24 + fragment_column)], queries[(v0 + fragment_row) * 32 + (24 + fragment_column + 1)]);
        const float2 v49 = make_float2(key_or_value_tile[fragment_column * 32 + fragment_row], key_or_value_tile[(fragment_column + 1) * 32 + fragment_row]);
        const float2 v50 = tile_multiply(v45, v49, v21);
        const float2 v51 = make_float2(key_or_value_tile[fragment_column * 32 + (8 + fragment_row)], key_or_value_tile[(fragment_column + 1) * 32 + (8 + fragment_row)]);
        const float2 v52 = tile_multiply(v46, v51, v50);
        const float2 v53 = make_float2(key_or_value_tile[fragment_column * 32 + (16 + fragment_row)], key_or_value_tile[(fragment_column + 1) * 32 + (16 + fragment_row)]);
        const float2 v54 = tile_multiply(v47, v53, v52);
        const float2 v55 = make_float2(key_or_value_tile[fragment_column * 32 + (24 + fragment_row)], key_or_value_tile[(fragment_column + 1) * 32 + (24 + fragment_row)]);
        const float2 v56 = tile_multiply(v48, v55, v54);
        scores[(v0 + fragment_row) * 16 + fragment_column] = v56.x;
        scores[(v0 + fragment_row) * 16 + (fragment_column + 1)] = v56.y;
        const float2 v57 = make_float2(key_or_value_tile[(8 + fragment_column) * 32 + fragment_row], key_or_value_tile[(8 + fragment_column + 1) * 32 + fragment_row]);
        const float2 v58 = tile_multiply(v45, v57, v21);
        const float2 v59 = make_float2(key_or_value_tile[(8 + fragment_column) * 32 + (8 + fragment_row)], key_or_value_tile[(8 + fragment_column + 1) * 32 + (8 + fragment_row)]);
        const float2 v60 = tile_multiply(v46, v59, v58);
        const float2 v61 = make_float2(key_or_value_tile[(8 + fragment_column) * 32 + (16 + fragment_row)], key_or_value_tile[(8 + fragment_column + 1) * 32 + (16 + fragment_row)]);
        const float2 v62 = tile_multiply(v47, v61, v60);
        const float2 v63 = make_float2(key_or_value_tile[(8 + fragment_column) * 32 + (24 + fragment_row)], key_or_value_tile[(8 + fragment_column + 1) * 32 + (24 + fragment_row)]);
        const float2 v64 = tile_multiply(v48, v63, v62);
        scores[(v0 + fragment_row) * 16 + (8 + fragment_column)] = v64.x;
        scores[(v0 + fragment_row) * 16 + (8 + fragment_column + 1)] = v64.y;
        __syncthreads();
        const int v65 = lane % 8;
        const int v66 = v65 * 2;
        const int v67 = lane / 8;
        const int v68 = v0 + v67;
        const float2 v69 = *(const float2*)(scores + v68 * 16 + v66);
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
        const float v82 = fmaxf(v76, v81);
        const float v83 = __shfl_xor_sync(0xffffffffu, v82, 1);
        const float v84 = fmaxf(v82, v83);
        const float v85 = __shfl_xor_sync(0xffffffffu, v84, 2);
        const float v86 = fmaxf(v84, v85);
        const float v87 = __shfl_xor_sync(0xffffffffu, v86, 4);
        const float v88 = fmaxf(v86, v87);
        const float v89 = fmaxf(v88, v22);
        const float v90 = v76 - v89;
        const float v91 = tile_fast_exp2(v90);
        const float v92 = v81 - v89;
        const float v93 = tile_fast_exp2(v92);
        const float v94 = v22 - v89;
        const float v95 = tile_fast_exp2(v94);
        const float v96 = v91 + v93;
        const float v97 = __shfl_xor_sync(0xffffffffu, v96, 1);
        const float v98 = v96 + v97;
        const float v99 = __shfl_xor_sync(0xffffffffu, v98, 2);
        const float v100 = v98 + v99;
        const float v101 = __shfl_xor_sync(0xffffffffu, v100, 4);
        const float v102 = v100 + v101;
        const float2 v103 = make_float2(v91, v93);
        *(float2*)(scores + v68 * 16 + v66) = v103;
        factors[v68 * 8 + v65] = v95;
        const float v104 = fmaf(v24, v95, v102);
        const int v105 = v67 + 4;
        const int v106 = v0 + v105;
        const float2 v107 = *(const float2*)(scores + v106 * 16 + v66);
        const int v108 = v71 + v106;
        const bool v109 = v70 <= v108;
        const float v111 = v107.x * 0.25503486f;
        const float v112 = v109 ? v111 : (-1e30f);
        const bool v113 = v77 <= v108;
        const float v115 = v107.y * 0.25503486f;
        const float v116 = v113 ? v115 : (-1e30f);
        const float v117 = fmaxf(v112, v116);
        const float v118 = __shfl_xor_sync(0xffffffffu, v117, 1);
        const float v119 = fmaxf(v117, v118);
        const float v120 = __shfl_xor_sync(0xffffffffu, v119, 2);
        const float v121 = fmaxf(v119, v120);
        const float v122 = __shfl_xor_sync(0xffffffffu, v121, 4);
        const float v123 = fmaxf(v121, v122);
        const float v124 = fmaxf(v123, v23);
        const float v125 = v112 - v124;
        const float v126 = tile_fast_exp2(v125);
        const float v127 = v116 - v124;
        const float v128 = tile_fast_exp2(v127);
        const float v129 = v23 - v124;
        const float v130 = tile_fast_exp2(v129);
        const float v131 = v126 + v128;
        const float v132 = __shfl_xor_sync(0xffffffffu, v131, 1);
        const float v133 = v131 + v132;
        const float v134 = __shfl_xor_sync(0xffffffffu, v133, 2);
        const float v135 = v133 + v134;
        const float v136 = __shfl_xor_sync(0xffffffffu, v135, 4);
        const float v137 = v135 + v136;
        const float2 v138 = make_float2(v126, v128);
        *(float2*)(scores + v106 * 16 + v66) = v138;
        factors[v106 * 8 + v65] = v130;
        const float v139 = fmaf(v25, v130, v137);
        for (int v140 = thread_index; v140 < 128; v140 += 128) {
            const int v141 = v140 / 8;
            const int v142 = v140 % 8;
            const int v143 = v142 * 4;
            const int v144 = v30 + v141;
            const float4 v145 = v144 < horizon_13 ? *(const float4*)(values + v14 * 2048 + v144 * 32 + v143) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            *(float4*)(key_or_value_tile + v141 * 32 + v143) = v145;
        }
        __syncthreads();
        const float2 v146 = make_float2(factors[(v0 + fragment_row) * 8 + fragment_column], factors[(v0 + fragment_row) * 8 + (fragment_column + 1)]);
        const float2 v147 = make_float2(scores[(v0 + fragment_row) * 16 + fragment_column], scores[(v0 + fragment_row) * 16 + (fragment_column + 1)]);
        const float2 v148 = make_float2(scores[(v0 + fragment_row) * 16 + (8 + fragment_column)], scores[(v0 + fragment_row) * 16 + (8 + fragment_column + 1)]);
        const float2 v149 = make_float2(v26.x * v146.x, v26.y * v146.y);
        const float2 v150 = make_float2(key_or_value_tile[fragment_row * 32 + fragment_column], key_or_value_tile[fragment_row * 32 + (fragment_column + 1)]);
        const float2 v151 = tile_multiply(v147, v150, v149);
        const float2 v152 = make_float2(key_or_value_tile[(8 + fragment_row) * 32 + fragment_column], key_or_value_tile[(8 + fragment_row) * 32 + (fragment_column + 1)]);
        const float2 v153 = tile_multiply(v148, v152, v151);
        const float2 v154 = make_float2(v27.x * v146.x, v27.y * v146.y);
        const float2 v155 = make_float2(key_or_value_tile[fragment_row * 32 + (8 + fragment_column)], key_or_value_tile[fragment_row * 32 + (8 + fragment_column + 1)]);
        const float2 v156 = tile_multiply(v147, v155, v154);
        const float2 v157 = make_float2(key_or_value_tile[(8 + fragment_row) * 32 + (8 + fragment_column)], key_or_value_tile[(8 + fragment_row) * 32 + (8 + fragment_column + 1)]);
        const float2 v158 = tile_multiply(v148, v157, v156);
        const float2 v159 = make_float2(v28.x * v146.x, v28.y * v146.y);
        const float2 v160 = make_float2(key_or_value_tile[fragment_row * 32 + (16 + fragment_column)], key_or_value_tile[fragment_row * 32 + (16 + fragment_column + 1)]);
        const float2 v161 = tile_multiply(v147, v160, v159);
        const float2 v162 = make_float2(key_or_value_tile[(8 + fragment_row) * 32 + (16 + fragment_column)], key_or_value_tile[(8 + fragment_row) * 32 + (16 + fragment_column + 1)]);
        const float2 v163 = tile_multiply(v148, v162, v161);
        const float2 v164 = make_float2(v29.x * v146.x, v29.y * v146.y);
        const float2 v165 = make_float2(key_or_value_tile[fragment_row * 32 + (24 + fragment_column)], key_or_value_tile[fragment_row * 32 + (24 + fragment_column + 1)]);
        const float2 v166 = tile_multiply(v147, v165, v164);
        const float2 v167 = make_float2(key_or_value_tile[(8 + fragment_row) * 32 + (24 + fragment_column)], key_or_value_tile[(8 + fragment_row) * 32 + (24 + fragment_column + 1)]);
        const float2 v168 = tile_multiply(v148, v167, v166);
        __syncthreads();
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
    const float v173 = fmaxf(v24, 1e-30f);
    const float v174 = v172 ? v173 : __int_as_float(0x7f800000);
    const int v175 = lane % 8;
    factors[v170 * 8 + v175] = v174;
    const int v176 = v169 + 4;
    const int v177 = v0 + v176;
    const int v178 = v7 + v177;
    const bool v179 = v178 < valid_6;
    const float v180 = fmaxf(v25, 1e-30f);
    const float v181 = v179 ? v180 : __int_as_float(0x7f800000);
    factors[v177 * 8 + v175] = v181;
    __syncthreads();
    const float2 v182 = make_float2(factors[(v0 + fragment_row) * 8 + fragment_column], factors[(v0 + fragment_row) * 8 + (fragment_column + 1)]);
    const float2 v183 = make_float2(v26.x / v182.x, v26.y / v182.y);
    queries[(v0 + fragment_row) * 32 + fragment_column] = v183.x;
    queries[(v0 + fragment_row) * 32 + (fragment_column + 1)] = v183.y;
    const float2 v184 = make_float2(v27.x / v182.x, v27.y / v182.y);
    queries[(v0 + fragment_row) * 32 + (8 + fragment_column)] = v184.x;
    queries[(v0 + fragment_row) * 32 + (8 + fragment_column + 1)] = v184.y;
    const float2 v185 = make_float2(v28.x / v182.x, v28.y / v182.y);
    queries[(v0 + fragment_row) * 32 + (16 + fragment_column)] = v185.x;
    queries[(v0 + fragment_row) * 32 + (16 + fragment_column + 1)] = v185.y;
    const float2 v186 = make_float2(v29.x / v182.x, v29.y / v182.y);
    queries[(v0 + fragment_row) * 32 + (24 + fragment_column)] = v186.x;
    queries[(v0 + fragment_row) * 32 + (24 + fragment_column + 1)] = v186.y;
    __syncwarp();
    for (int v187 = lane; v187 < 64; v187 += 32) {
        const int v188 = v187 / 8;
        const int v189 = v187 % 8;
        const int v190 = v0 + v188;
        const int v191 = v189 * 4;
        const int v192 = v7 + v190;
        const float4 v193 = *(const float4*)(queries + v190 * 32 + v191);
        *(float4*)(out + group_x * 32 + v192 * 128 + v191) = v193;
    }
}
