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
            keys[group_x * 2048 + position_2 * 32 + v65] = v79;
            own[v70] = v81;
            keys[group_x * 2048 + position_2 * 32 + v70] = v81;
        }
        for (int v82 = lane; v82 < 32; v82 += 32) {
            const int v83 = group_x + 6;
            const float v84 = qkv[v83 * 32 + v82];
            own[v82 + 32] = v84;
            values[group_x * 2048 + position_2 * 32 + v82] = v84;
        }
    }
    __syncthreads();
    const int v85 = simd_group / 16;
    const int v86 = simd_group % 16;
    const float v87 = queries[v85 * 32 + lane];
    float v88 = (-1e30f);
    float v89 = 0.0f;
    float v90 = 0.0f;
    for (int v91 = v86; v91 < position_2; v91 += 16) {
        const float v95 = keys[group_x * 2048 + v91 * 32 + lane];
        const float v96 = values[group_x * 2048 + v91 * 32 + lane];
        const float v97 = fmaf(v87, v95, 0.0f);
        const float v98 = tile_simd_sum_f32(v97);
        const float v99 = fmaxf(v88, v98);
        const float v100 = v88 - v99;
        const float v101 = expf(v100);
        const float v102 = v98 - v99;
        const float v103 = expf(v102);
        const float v104 = v90 * v101;
        const float v105 = fmaf(v103, v96, v104);
        const float v106 = fmaf(v89, v101, v103);
        v88 = v99;
        v89 = v106;
        v90 = v105;
    }
    const float v107 = own[lane];
    const float v108 = own[lane + 32];
    const bool v109 = v86 == 0;
    const float v110 = fmaf(v87, v107, 0.0f);
    const float v111 = tile_simd_sum_f32(v110);
    const float v112 = v109 ? v111 : (-1e30f);
    const float v113 = fmaxf(v88, v112);
    const float v114 = v88 - v113;
    const float v115 = expf(v114);
    const float v116 = v112 - v113;
    const float v117 = expf(v116);
    const float v118 = v90 * v115;
    const float v119 = fmaf(v117, v108, v118);
    const float v120 = fmaf(v89, v115, v117);
    const bool v121 = lane == 0;
    if (v121) maxima_of[v85 * 16 + v86] = v113;
    if (v121) sums_of[v85 * 16 + v86] = v120;
    mixtures_of[v85 * 512 + v86 * 32 + lane] = v119;
    __syncthreads();
    for (int v122 = thread_index; v122 < 64; v122 += 1024) {
        const int v123 = v122 / 32;
        const int v124 = v122 % 32;
        float v125 = (-1e30f);
        for (int v126 = 0; v126 < 16; v126 += 1) {
            const float v128 = maxima_of[v123 * 16 + v126];
            const float v129 = fmaxf(v125, v128);
            v125 = v129;
        }
        float v130 = 0.0f;
        for (int v131 = 0; v131 < 16; v131 += 1) {
            const float v133 = maxima_of[v123 * 16 + v131];
            const float v134 = v133 - v125;
            const float v135 = expf(v134);
            const float v136 = sums_of[v123 * 16 + v131];
            const float v137 = fmaf(v135, v136, v130);
            v130 = v137;
        }
        float v138 = 0.0f;
        for (int v139 = 0; v139 < 16; v139 += 1) {
            const float v141 = maxima_of[v123 * 16 + v139];
            const float v142 = v141 - v125;
            const float v143 = expf(v142);
            const float v144 = mixtures_of[v123 * 512 + v139 * 32 + v124];
            const float v145 = fmaf(v143, v144, v138);
            v138 = v145;
        }
        const float v146 = v138 / v130;
        mixed[group_x * 64 + v122] = v146;
    }
}
