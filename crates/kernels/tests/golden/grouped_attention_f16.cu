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

__device__ __forceinline__ unsigned short tile_f32_to_f16(float f) {
#ifdef __CUDA_ARCH__
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
#else
    const unsigned int bits = __float_as_uint(f), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) return (unsigned short)(sign | 0x7e00u);
    if (rest >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
    if (rest < 0x38800000u) {
        const float tiny = __uint_as_float(rest) + 0.5f;
        return (unsigned short)(sign | (__float_as_uint(tiny) - 0x3f000000u));
    }
    return (unsigned short)(sign | (rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u)) >> 13);
#endif
}

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

extern "C" __global__ void __launch_bounds__(128, 1) grouped_attention_f16(
    const float* __restrict__ q,
    const unsigned short* __restrict__ keys,
    const unsigned short* __restrict__ values,
    const int* __restrict__ control,
    float* __restrict__ out
) {
    const int group_x = (int)blockIdx.x;
    const int group_y = (int)blockIdx.y;
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    const int fragment_row = lane / 4, fragment_column = (lane & 3) * 2;
    __shared__ __align__(16) unsigned short key_tile[512];
    __shared__ __align__(16) unsigned short value_tile[512];
    __shared__ __align__(16) float scores[512];
    __shared__ __align__(16) float factors[256];
    __shared__ __align__(16) float edge[256];
    const int v0 = simd_group * 8;
    const int v1 = control[0];
    const int v2 = max(v1, 0);
    const int start_3 = min(v2, 63);
    const int v4 = control[1];
    const int v5 = max(v4, 0);
    const int valid_6 = min(v5, 64);
    const int v7 = group_y * 16;
    const int v8 = group_x * 2;
    const int v9 = simd_group / 2;
    const int head_10 = v8 + v9;
    const int v11 = simd_group % 2;
    const int v12 = v11 * 8;
    const int first_13 = v7 + v12;
    const int v14 = v7 + 16;
    const int v15 = min(v14, valid_6);
    const int v16 = start_3 + v15;
    const int v17 = min(v16, 64);
    const bool v18 = v7 < valid_6;
    const int horizon_19 = v18 ? v17 : 0;
    const float2 v20 = make_float2(q[head_10 * 32 + (first_13 + fragment_row) * 128 + fragment_column], q[head_10 * 32 + (first_13 + fragment_row) * 128 + (fragment_column + 1)]);
    const float2 v21 = make_float2(q[head_10 * 32 + (first_13 + fragment_row) * 128 + (8 + fragment_column)], q[head_10 * 32 + (first_13 + fragment_row) * 128 + (8 + fragment_column + 1)]);
    const float2 v22 = make_float2(q[head_10 * 32 + (first_13 + fragment_row) * 128 + (16 + fragment_column)], q[head_10 * 32 + (first_13 + fragment_row) * 128 + (16 + fragment_column + 1)]);
    const float2 v23 = make_float2(q[head_10 * 32 + (first_13 + fragment_row) * 128 + (24 + fragment_column)], q[head_10 * 32 + (first_13 + fragment_row) * 128 + (24 + fragment_column + 1)]);
    const float2 v24 = make_float2(0.0f, 0.0f);
    float v25 = (-1e30f);
    float v26 = (-1e30f);
    float v27 = 0.0f;
    float v28 = 0.0f;
    float2 v29 = v24;
    float2 v30 = v24;
    float2 v31 = v24;
    float2 v32 = v24;
    for (int v33 = 0; v33 < horizon_19; v33 += 16) {
        for (int v42 = thread_index; v42 < 128; v42 += 128) {
            const int v43 = v42 / 8;
            const int v44 = v42 % 8;
            const int v45 = v44 * 4;
            const int v46 = v33 + v43;
            const ushort4 v47 = v46 < horizon_19 ? *(const ushort4*)(keys + group_x * 2048 + v46 * 32 + v45) : make_ushort4((unsigned short)0x0000, (unsigned short)0x0000, (unsigned short)0x0000, (unsigned short)0x0000);
            const float4 v48 = make_float4(tile_f16_to_f32(v47.x), tile_f16_to_f32(v47.y), tile_f16_to_f32(v47.z), tile_f16_to_f32(v47.w));
            const ushort4 v49 = make_ushort4(tile_f32_to_f16(v48.x), tile_f32_to_f16(v48.y), tile_f32_to_f16(v48.z), tile_f32_to_f16(v48.w));
            *(ushort4*)(key_tile + v43 * 32 + v45) = v49;
        }
        for (int v50 = thread_index; v50 < 128; v50 += 128) {
            const int v51 = v50 / 8;
            const int v52 = v50 % 8;
            const int v53 = v52 * 4;
            const int v54 = v33 + v51;
            const ushort4 v55 = v54 < horizon_19 ? *(const ushort4*)(values + group_x * 2048 + v54 * 32 + v53) : make_ushort4((unsigned short)0x0000, (unsigned short)0x0000, (unsigned short)0x0000, (unsigned short)0x0000);
            const float4 v56 = make_float4(tile_f16_to_f32(v55.x), tile_f16_to_f32(v55.y), tile_f16_to_f32(v55.z), tile_f16_to_f32(v55.w));
            const ushort4 v57 = make_ushort4(tile_f32_to_f16(v56.x), tile_f32_to_f16(v56.y), tile_f32_to_f16(v56.z), tile_f32_to_f16(v56.w));
            *(ushort4*)(value_tile + v51 * 32 + v53) = v57;
        }
        __syncthreads();
        const ushort2 v58 = make_ushort2(key_tile[fragment_column * 32 + fragment_row], key_tile[(fragment_column + 1) * 32 + fragment_row]);
        const float2 v59 = make_float2(tile_f16_to_f32(v58.x), tile_f16_to_f32(v58.y));
        const float2 v60 = tile_multiply(v20, v59, v24);
        const ushort2 v61 = make_ushort2(key_tile[fragment_column * 32 + (8 + fragment_row)], key_tile[(fragment_column + 1) * 32 + (8 + fragment_row)]);
        const float2 v62 = make_float2(tile_f16_to_f32(v61.x), tile_f16_to_f32(v61.y));
        const float2 v63 = tile_multiply(v21, v62, v60);
        const ushort2 v64 = make_ushort2(key_tile[fragment_column * 32 + (16 + fragment_row)], key_tile[(fragment_column + 1) * 32 + (16 + fragment_row)]);
        const float2 v65 = make_float2(tile_f16_to_f32(v64.x), tile_f16_to_f32(v64.y));
        const float2 v66 = tile_multiply(v22, v65, v63);
        const ushort2 v67 = make_ushort2(key_tile[fragment_column * 32 + (24 + fragment_row)], key_tile[(fragment_column + 1) * 32 + (24 + fragment_row)]);
        const float2 v68 = make_float2(tile_f16_to_f32(v67.x), tile_f16_to_f32(v67.y));
        const float2 v69 = tile_multiply(v23, v68, v66);
        scores[(v0 + fragment_row) * 16 + fragment_column] = v69.x;
        scores[(v0 + fragment_row) * 16 + (fragment_column + 1)] = v69.y;
        const ushort2 v70 = make_ushort2(key_tile[(8 + fragment_column) * 32 + fragment_row], key_tile[(8 + fragment_column + 1) * 32 + fragment_row]);
        const float2 v71 = make_float2(tile_f16_to_f32(v70.x), tile_f16_to_f32(v70.y));
        const float2 v72 = tile_multiply(v20, v71, v24);
        const ushort2 v73 = make_ushort2(key_tile[(8 + fragment_column) * 32 + (8 + fragment_row)], key_tile[(8 + fragment_column + 1) * 32 + (8 + fragment_row)]);
        const float2 v74 = make_float2(tile_f16_to_f32(v73.x), tile_f16_to_f32(v73.y));
        const float2 v75 = tile_multiply(v21, v74, v72);
        const ushort2 v76 = make_ushort2(key_tile[(8 + fragment_column) * 32 + (16 + fragment_row)], key_tile[(8 + fragment_column + 1) * 32 + (16 + fragment_row)]);
        const float2 v77 = make_float2(tile_f16_to_f32(v76.x), tile_f16_to_f32(v76.y));
        const float2 v78 = tile_multiply(v22, v77, v75);
        const ushort2 v79 = make_ushort2(key_tile[(8 + fragment_column) * 32 + (24 + fragment_row)], key_tile[(8 + fragment_column + 1) * 32 + (24 + fragment_row)]);
        const float2 v80 = make_float2(tile_f16_to_f32(v79.x), tile_f16_to_f32(v79.y));
        const float2 v81 = tile_multiply(v23, v80, v78);
        scores[(v0 + fragment_row) * 16 + (8 + fragment_column)] = v81.x;
        scores[(v0 + fragment_row) * 16 + (8 + fragment_column + 1)] = v81.y;
        __syncwarp();
        const int v82 = lane % 8;
        const int v83 = v82 * 2;
        const int v84 = lane / 8;
        const int v85 = v0 + v84;
        const float2 v86 = *(const float2*)(scores + v85 * 16 + v83);
        const int v87 = v33 + v83;
        const int v88 = start_3 + first_13;
        const int v89 = v88 + v84;
        const bool v90 = v87 <= v89;
        const float v92 = v86.x * 0.25503486f;
        const float v93 = v90 ? v92 : (-1e30f);
        const int v94 = v87 + 1;
        const bool v95 = v94 <= v89;
        const float v97 = v86.y * 0.25503486f;
        const float v98 = v95 ? v97 : (-1e30f);
        const float v99 = fmaxf(v93, v98);
        const float v100 = __shfl_xor_sync(0xffffffffu, v99, 1);
        const float v101 = fmaxf(v99, v100);
        const float v102 = __shfl_xor_sync(0xffffffffu, v101, 2);
        const float v103 = fmaxf(v101, v102);
        const float v104 = __shfl_xor_sync(0xffffffffu, v103, 4);
        const float v105 = fmaxf(v103, v104);
        const float v106 = fmaxf(v105, v25);
        const float v107 = v93 - v106;
        const float v108 = tile_fast_exp2(v107);
        const float v109 = v98 - v106;
        const float v110 = tile_fast_exp2(v109);
        const float v111 = v25 - v106;
        const float v112 = tile_fast_exp2(v111);
        const float v113 = v108 + v110;
        const float v114 = __shfl_xor_sync(0xffffffffu, v113, 1);
        const float v115 = v113 + v114;
        const float v116 = __shfl_xor_sync(0xffffffffu, v115, 2);
        const float v117 = v115 + v116;
        const float v118 = __shfl_xor_sync(0xffffffffu, v117, 4);
        const float v119 = v117 + v118;
        const float2 v120 = make_float2(v108, v110);
        *(float2*)(scores + v85 * 16 + v83) = v120;
        factors[v85 * 8 + v82] = v112;
        const float v121 = fmaf(v27, v112, v119);
        const int v122 = v84 + 4;
        const int v123 = v0 + v122;
        const float2 v124 = *(const float2*)(scores + v123 * 16 + v83);
        const int v125 = v88 + v122;
        const bool v126 = v87 <= v125;
        const float v128 = v124.x * 0.25503486f;
        const float v129 = v126 ? v128 : (-1e30f);
        const bool v130 = v94 <= v125;
        const float v132 = v124.y * 0.25503486f;
        const float v133 = v130 ? v132 : (-1e30f);
        const float v134 = fmaxf(v129, v133);
        const float v135 = __shfl_xor_sync(0xffffffffu, v134, 1);
        const float v136 = fmaxf(v134, v135);
        const float v137 = __shfl_xor_sync(0xffffffffu, v136, 2);
        const float v138 = fmaxf(v136, v137);
        const float v139 = __shfl_xor_sync(0xffffffffu, v138, 4);
        const float v140 = fmaxf(v138, v139);
        const float v141 = fmaxf(v140, v26);
        const float v142 = v129 - v141;
        const float v143 = tile_fast_exp2(v142);
        const float v144 = v133 - v141;
        const float v145 = tile_fast_exp2(v144);
        const float v146 = v26 - v141;
        const float v147 = tile_fast_exp2(v146);
        const float v148 = v143 + v145;
        const float v149 = __shfl_xor_sync(0xffffffffu, v148, 1);
        const float v150 = v148 + v149;
        const float v151 = __shfl_xor_sync(0xffffffffu, v150, 2);
        const float v152 = v150 + v151;
        const float v153 = __shfl_xor_sync(0xffffffffu, v152, 4);
        const float v154 = v152 + v153;
        const float2 v155 = make_float2(v143, v145);
        *(float2*)(scores + v123 * 16 + v83) = v155;
        factors[v123 * 8 + v82] = v147;
        const float v156 = fmaf(v28, v147, v154);
        __syncwarp();
        const float2 v157 = make_float2(factors[(v0 + fragment_row) * 8 + fragment_column], factors[(v0 + fragment_row) * 8 + (fragment_column + 1)]);
        const float2 v158 = make_float2(scores[(v0 + fragment_row) * 16 + fragment_column], scores[(v0 + fragment_row) * 16 + (fragment_column + 1)]);
        const float2 v159 = make_float2(scores[(v0 + fragment_row) * 16 + (8 + fragment_column)], scores[(v0 + fragment_row) * 16 + (8 + fragment_column + 1)]);
        const float2 v160 = make_float2(v29.x * v157.x, v29.y * v157.y);
        const ushort2 v161 = make_ushort2(value_tile[fragment_row * 32 + fragment_column], value_tile[fragment_row * 32 + (fragment_column + 1)]);
        const float2 v162 = make_float2(tile_f16_to_f32(v161.x), tile_f16_to_f32(v161.y));
        const float2 v163 = tile_multiply(v158, v162, v160);
        const ushort2 v164 = make_ushort2(value_tile[(8 + fragment_row) * 32 + fragment_column], value_tile[(8 + fragment_row) * 32 + (fragment_column + 1)]);
        const float2 v165 = make_float2(tile_f16_to_f32(v164.x), tile_f16_to_f32(v164.y));
        const float2 v166 = tile_multiply(v159, v165, v163);
        const float2 v167 = make_float2(v30.x * v157.x, v30.y * v157.y);
        const ushort2 v168 = make_ushort2(value_tile[fragment_row * 32 + (8 + fragment_column)], value_tile[fragment_row * 32 + (8 + fragment_column + 1)]);
        const float2 v169 = make_float2(tile_f16_to_f32(v168.x), tile_f16_to_f32(v168.y));
        const float2 v170 = tile_multiply(v158, v169, v167);
        const ushort2 v171 = make_ushort2(value_tile[(8 + fragment_row) * 32 + (8 + fragment_column)], value_tile[(8 + fragment_row) * 32 + (8 + fragment_column + 1)]);
        const float2 v172 = make_float2(tile_f16_to_f32(v171.x), tile_f16_to_f32(v171.y));
        const float2 v173 = tile_multiply(v159, v172, v170);
        const float2 v174 = make_float2(v31.x * v157.x, v31.y * v157.y);
        const ushort2 v175 = make_ushort2(value_tile[fragment_row * 32 + (16 + fragment_column)], value_tile[fragment_row * 32 + (16 + fragment_column + 1)]);
        const float2 v176 = make_float2(tile_f16_to_f32(v175.x), tile_f16_to_f32(v175.y));
        const float2 v177 = tile_multiply(v158, v176, v174);
        const ushort2 v178 = make_ushort2(value_tile[(8 + fragment_row) * 32 + (16 + fragment_column)], value_tile[(8 + fragment_row) * 32 + (16 + fragment_column + 1)]);
        const float2 v179 = make_float2(tile_f16_to_f32(v178.x), tile_f16_to_f32(v178.y));
        const float2 v180 = tile_multiply(v159, v179, v177);
        const float2 v181 = make_float2(v32.x * v157.x, v32.y * v157.y);
        const ushort2 v182 = make_ushort2(value_tile[fragment_row * 32 + (24 + fragment_column)], value_tile[fragment_row * 32 + (24 + fragment_column + 1)]);
        const float2 v183 = make_float2(tile_f16_to_f32(v182.x), tile_f16_to_f32(v182.y));
        const float2 v184 = tile_multiply(v158, v183, v181);
        const ushort2 v185 = make_ushort2(value_tile[(8 + fragment_row) * 32 + (24 + fragment_column)], value_tile[(8 + fragment_row) * 32 + (24 + fragment_column + 1)]);
        const float2 v186 = make_float2(tile_f16_to_f32(v185.x), tile_f16_to_f32(v185.y));
        const float2 v187 = tile_multiply(v159, v186, v184);
        __syncthreads();
        v25 = v106;
        v26 = v141;
        v27 = v121;
        v28 = v156;
        v29 = v166;
        v30 = v173;
        v31 = v180;
        v32 = v187;
    }
    const int v188 = lane / 8;
    const int v189 = first_13 + v188;
    const bool v190 = v189 < valid_6;
    const float v191 = fmaxf(v27, 1e-30f);
    const float v192 = v190 ? v191 : __int_as_float(0x7f800000);
    const int v193 = v0 + v188;
    const int v194 = lane % 8;
    factors[v193 * 8 + v194] = v192;
    const int v195 = v188 + 4;
    const int v196 = first_13 + v195;
    const bool v197 = v196 < valid_6;
    const float v198 = fmaxf(v28, 1e-30f);
    const float v199 = v197 ? v198 : __int_as_float(0x7f800000);
    const int v200 = v0 + v195;
    factors[v200 * 8 + v194] = v199;
    __syncwarp();
    const float2 v201 = make_float2(factors[(v0 + fragment_row) * 8 + fragment_column], factors[(v0 + fragment_row) * 8 + (fragment_column + 1)]);
    const float2 v202 = make_float2(v29.x / v201.x, v29.y / v201.y);
    out[head_10 * 32 + (first_13 + fragment_row) * 128 + fragment_column] = v202.x;
    out[head_10 * 32 + (first_13 + fragment_row) * 128 + (fragment_column + 1)] = v202.y;
    const float2 v203 = make_float2(v30.x / v201.x, v30.y / v201.y);
    out[head_10 * 32 + (first_13 + fragment_row) * 128 + (8 + fragment_column)] = v203.x;
    out[head_10 * 32 + (first_13 + fragment_row) * 128 + (8 + fragment_column + 1)] = v203.y;
    const float2 v204 = make_float2(v31.x / v201.x, v31.y / v201.y);
    out[head_10 * 32 + (first_13 + fragment_row) * 128 + (16 + fragment_column)] = v204.x;
    out[head_10 * 32 + (first_13 + fragment_row) * 128 + (16 + fragment_column + 1)] = v204.y;
    const float2 v205 = make_float2(v32.x / v201.x, v32.y / v201.y);
    out[head_10 * 32 + (first_13 + fragment_row) * 128 + (24 + fragment_column)] = v205.x;
    out[head_10 * 32 + (first_13 + fragment_row) * 128 + (24 + fragment_column + 1)] = v205.y;
}
