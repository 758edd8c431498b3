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

extern "C" __global__ void __launch_bounds__(128, 1) matrix_attention_reused_f32(
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
    __shared__ __align__(16) float storage[1024];
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
        *(float4*)(storage + v16 * 32 + v18) = v20;
    }
    __syncthreads();
    const float2 v21 = make_float2(storage[(v0 + fragment_row) * 32 + fragment_column], storage[(v0 + fragment_row) * 32 + (fragment_column + 1)]);
    const float2 v22 = make_float2(storage[(v0 + fragment_row) * 32 + (8 + fragment_column)], storage[(v0 + fragment_row) * 32 + (8 + fragment_column + 1)]);
    const float2 v23 = make_float2(storage[(v0 + fragment_row) * 32 + (16 + fragment_column)], storage[(v0 + fragment_row) * 32 + (16 + fragment_column + 1)]);
    const float2 v24 = make_float2(storage[(v0 + fragment_row) * 32 + (24 + fragment_column)], storage[(v0 + fragment_row) * 32 + (24 + fragment_column + 1)]);
    __syncthreads();
    const float2 v25 = make_float2(0.0f, 0.0f);
    float v26 = (-1e30f);
    float v27 = (-1e30f);
    float v28 = 0.0f;
    float v29 = 0.0f;
    float2 v30 = v25;
    float2 v31 = v25;
    float2 v32 = v25;
    float2 v33 = v25;
    for (int v34 = 0; v34 < horizon_13; v34 += 16) {
        for (int v43 = thread_index; v43 < 128; v43 += 128) {
            const int v44 = v43 / 8;
            const int v45 = v43 % 8;
            const int v46 = v45 * 4;
            const int v47 = v34 + v44;
            const float4 v48 = v47 < horizon_13 ? *(const float4*)(keys + v14 * 2048 + v47 * 32 + v46) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            *(float4*)(storage + v44 * 32 + v46) = v48;
        }
        for (int v49 = thread_index; v49 < 128; v49 += 128) {
            const int v50 = v49 / 8;
            const int v51 = v49 % 8;
            const int v52 = v51 * 4;
            const int v53 = v34 + v50;
            const float4 v54 = v53 < horizon_13 ? *(const float4*)(values + v14 * 2048 + v53 * 32 + v52) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            *(float4*)(storage + v50 * 32 + v52 + 512) = v54;
        }
        __syncthreads();
        const float2 v55 = make_float2(storage[fragment_column * 32 + fragment_row], storage[(fragment_column + 1) * 32 + fragment_row]);
        const float2 v56 = tile_multiply(v21, v55, v25);
        const float2 v57 = make_float2(storage[fragment_column * 32 + (8 + fragment_row)], storage[(fragment_column + 1) * 32 + (8 + fragment_row)]);
        const float2 v58 = tile_multiply(v22, v57, v56);
        const float2 v59 = make_float2(storage[fragment_column * 32 + (16 + fragment_row)], storage[(fragment_column + 1) * 32 + (16 + fragment_row)]);
        const float2 v60 = tile_multiply(v23, v59, v58);
        const float2 v61 = make_float2(storage[fragment_column * 32 + (24 + fragment_row)], storage[(fragment_column + 1) * 32 + (24 + fragment_row)]);
        const float2 v62 = tile_multiply(v24, v61, v60);
        scores[(v0 + fragment_row) * 16 + fragment_column] = v62.x;
        scores[(v0 + fragment_row) * 16 + (fragment_column + 1)] = v62.y;
        const float2 v63 = make_float2(storage[(8 + fragment_column) * 32 + fragment_row], storage[(8 + fragment_column + 1) * 32 + fragment_row]);
        const float2 v64 = tile_multiply(v21, v63, v25);
        const float2 v65 = make_float2(storage[(8 + fragment_column) * 32 + (8 + fragment_row)], storage[(8 + fragment_column + 1) * 32 + (8 + fragment_row)]);
        const float2 v66 = tile_multiply(v22, v65, v64);
        const float2 v67 = make_float2(storage[(8 + fragment_column) * 32 + (16 + fragment_row)], storage[(8 + fragment_column + 1) * 32 + (16 + fragment_row)]);
        const float2 v68 = tile_multiply(v23, v67, v66);
        const float2 v69 = make_float2(storage[(8 + fragment_column) * 32 + (24 + fragment_row)], storage[(8 + fragment_column + 1) * 32 + (24 + fragment_row)]);
        const float2 v70 = tile_multiply(v24, v69, v68);
        scores[(v0 + fragment_row) * 16 + (8 + fragment_column)] = v70.x;
        scores[(v0 + fragment_row) * 16 + (8 + fragment_column + 1)] = v70.y;
        __syncwarp();
        const int v71 = lane % 8;
        const int v72 = v71 * 2;
        const int v73 = lane / 8;
        const int v74 = v0 + v73;
        const float2 v75 = *(const float2*)(scores + v74 * 16 + v72);
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
        const float v88 = fmaxf(v82, v87);
        const float v89 = __shfl_xor_sync(0xffffffffu, v88, 1);
        const float v90 = fmaxf(v88, v89);
        const float v91 = __shfl_xor_sync(0xffffffffu, v90, 2);
        const float v92 = fmaxf(v90, v91);
        const float v93 = __shfl_xor_sync(0xffffffffu, v92, 4);
        const float v94 = fmaxf(v92, v93);
        const float v95 = fmaxf(v94, v26);
        const float v96 = v82 - v95;
        const float v97 = tile_fast_exp2(v96);
        const float v98 = v87 - v95;
        const float v99 = tile_fast_exp2(v98);
        const float v100 = v26 - v95;
        const float v101 = tile_fast_exp2(v100);
        const float v102 = v97 + v99;
        const float v103 = __shfl_xor_sync(0xffffffffu, v102, 1);
        const float v104 = v102 + v103;
        const float v105 = __shfl_xor_sync(0xffffffffu, v104, 2);
        const float v106 = v104 + v105;
        const float v107 = __shfl_xor_sync(0xffffffffu, v106, 4);
        const float v108 = v106 + v107;
        const float2 v109 = make_float2(v97, v99);
        *(float2*)(scores + v74 * 16 + v72) = v109;
        factors[v74 * 8 + v71] = v101;
        const float v110 = fmaf(v28, v101, v108);
        const int v111 = v73 + 4;
        const int v112 = v0 + v111;
        const float2 v113 = *(const float2*)(scores + v112 * 16 + v72);
        const int v114 = v77 + v112;
        const bool v115 = v76 <= v114;
        const float v117 = v113.x * 0.25503486f;
        const float v118 = v115 ? v117 : (-1e30f);
        const bool v119 = v83 <= v114;
        const float v121 = v113.y * 0.25503486f;
        const float v122 = v119 ? v121 : (-1e30f);
        const float v123 = fmaxf(v118, v122);
        const float v124 = __shfl_xor_sync(0xffffffffu, v123, 1);
        const float v125 = fmaxf(v123, v124);
        const float v126 = __shfl_xor_sync(0xffffffffu, v125, 2);
        const float v127 = fmaxf(v125, v126);
        const float v128 = __shfl_xor_sync(0xffffffffu, v127, 4);
        const float v129 = fmaxf(v127, v128);
        const float v130 = fmaxf(v129, v27);
        const float v131 = v118 - v130;
        const float v132 = tile_fast_exp2(v131);
        const float v133 = v122 - v130;
        const float v134 = tile_fast_exp2(v133);
        const float v135 = v27 - v130;
        const float v136 = tile_fast_exp2(v135);
        const float v137 = v132 + v134;
        const float v138 = __shfl_xor_sync(0xffffffffu, v137, 1);
        const float v139 = v137 + v138;
        const float v140 = __shfl_xor_sync(0xffffffffu, v139, 2);
        const float v141 = v139 + v140;
        const float v142 = __shfl_xor_sync(0xffffffffu, v141, 4);
        const float v143 = v141 + v142;
        const float2 v144 = make_float2(v132, v134);
        *(float2*)(scores + v112 * 16 + v72) = v144;
        factors[v112 * 8 + v71] = v136;
        const float v145 = fmaf(v29, v136, v143);
        __syncwarp();
        const float2 v146 = make_float2(factors[(v0 + fragment_row) * 8 + fragment_column], factors[(v0 + fragment_row) * 8 + (fragment_column + 1)]);
        const float2 v147 = make_float2(scores[(v0 + fragment_row) * 16 + fragment_column], scores[(v0 + fragment_row) * 16 + (fragment_column + 1)]);
        const float2 v148 = make_float2(scores[(v0 + fragment_row) * 16 + (8 + fragment_column)], scores[(v0 + fragment_row) * 16 + (8 + fragment_column + 1)]);
        const float2 v149 = make_float2(v30.x * v146.x, v30.y * v146.y);
        const float2 v150 = make_float2(storage[fragment_row * 32 + fragment_column + 512], storage[fragment_row * 32 + (fragment_column + 1) + 512]);
        const float2 v151 = tile_multiply(v147, v150, v149);
        const float2 v152 = make_float2(storage[(8 + fragment_row) * 32 + fragment_column + 512], storage[(8 + fragment_row) * 32 + (fragment_column + 1) + 512]);
        const float2 v153 = tile_multiply(v148, v152, v151);
        const float2 v154 = make_float2(v31.x * v146.x, v31.y * v146.y);
        const float2 v155 = make_float2(storage[fragment_row * 32 + (8 + fragment_column) + 512], storage[fragment_row * 32 + (8 + fragment_column + 1) + 512]);
        const float2 v156 = tile_multiply(v147, v155, v154);
        const float2 v157 = make_float2(storage[(8 + fragment_row) * 32 + (8 + fragment_column) + 512], storage[(8 + fragment_row) * 32 + (8 + fragment_column + 1) + 512]);
        const float2 v158 = tile_multiply(v148, v157, v156);
        const float2 v159 = make_float2(v32.x * v146.x, v32.y * v146.y);
        const float2 v160 = make_float2(storage[fragment_row * 32 + (16 + fragment_column) + 512], storage[fragment_row * 32 + (16 + fragment_column + 1) + 512]);
        const float2 v161 = tile_multiply(v147, v160, v159);
        const float2 v162 = make_float2(storage[(8 + fragment_row) * 32 + (16 + fragment_column) + 512], storage[(8 + fragment_row) * 32 + (16 + fragment_column + 1) + 512]);
        const float2 v163 = tile_multiply(v148, v162, v161);
        const float2 v164 = make_float2(v33.x * v146.x, v33.y * v146.y);
        const float2 v165 = make_float2(storage[fragment_row * 32 + (24 + fragment_column) + 512], storage[fragment_row * 32 + (24 + fragment_column + 1) + 512]);
        const float2 v166 = tile_multiply(v147, v165, v164);
        const float2 v167 = make_float2(storage[(8 + fragment_row) * 32 + (24 + fragment_column) + 512], storage[(8 + fragment_row) * 32 + (24 + fragment_column + 1) + 512]);
        const float2 v168 = tile_multiply(v148, v167, v166);
        __syncthreads();
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
    const float v173 = fmaxf(v28, 1e-30f);
    const float v174 = v172 ? v173 : __int_as_float(0x7f800000);
    const int v175 = lane % 8;
    factors[v170 * 8 + v175] = v174;
    const int v176 = v169 + 4;
    const int v177 = v0 + v176;
    const int v178 = v7 + v177;
    const bool v179 = v178 < valid_6;
    const float v180 = fmaxf(v29, 1e-30f);
    const float v181 = v179 ? v180 : __int_as_float(0x7f800000);
    factors[v177 * 8 + v175] = v181;
    __syncwarp();
    const float2 v182 = make_float2(factors[(v0 + fragment_row) * 8 + fragment_column], factors[(v0 + fragment_row) * 8 + (fragment_column + 1)]);
    const float2 v183 = make_float2(v30.x / v182.x, v30.y / v182.y);
    storage[(v0 + fragment_row) * 32 + fragment_column] = v183.x;
    storage[(v0 + fragment_row) * 32 + (fragment_column + 1)] = v183.y;
    const float2 v184 = make_float2(v31.x / v182.x, v31.y / v182.y);
    storage[(v0 + fragment_row) * 32 + (8 + fragment_column)] = v184.x;
    storage[(v0 + fragment_row) * 32 + (8 + fragment_column + 1)] = v184.y;
    const float2 v185 = make_float2(v32.x / v182.x, v32.y / v182.y);
    storage[(v0 + fragment_row) * 32 + (16 + fragment_column)] = v185.x;
    storage[(v0 + fragment_row) * 32 + (16 + fragment_column + 1)] = v185.y;
    const float2 v186 = make_float2(v33.x / v182.x, v33.y / v182.y);
    storage[(v0 + fragment_row) * 32 + (24 + fragment_column)] = v186.x;
    storage[(v0 + fragment_row) * 32 + (24 + fragment_column + 1)] = v186.y;
    __syncwarp();
    for (int v187 = lane; v187 < 64; v187 += 32) {
        const int v188 = v187 / 8;
        const int v189 = v187 % 8;
        const int v190 = v0 + v188;
        const int v191 = v189 * 4;
        const int v192 = v7 + v190;
        const float4 v193 = *(const float4*)(storage + v190 * 32 + v191);
        *(float4*)(out + group_x * 32 + v192 * 128 + v191) = v193;
    }
}
