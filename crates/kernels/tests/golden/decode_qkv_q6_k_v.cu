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

__device__ __forceinline__ float tile_simd_sum_f32(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const float w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = v + w;
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(256) decode_qkv_q6_k_v(
    const float* __restrict__ x,
    const unsigned int* __restrict__ weights,
    const unsigned char* __restrict__ weights_tops,
    const signed char* __restrict__ weights_scales,
    const unsigned short* __restrict__ weights_steps,
    float* __restrict__ y
) {
    const int group_x = (int)blockIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    const int v0 = group_x * 8;
    const int row_1 = v0 + simd_group;
    float v2 = 0.0f;
    for (int v3 = lane; v3 < 8; v3 += 32) {
        const int v5 = v3 * 8;
        const unsigned int v6 = weights[row_1 * 8 + v3];
        const int v7 = v3 * 2;
        const uchar2 v8 = *(const uchar2*)(weights_tops + row_1 * 16 + v7);
        const uint2 v9 = make_uint2((unsigned int)v8.x, (unsigned int)v8.y);
        const unsigned int v10 = v6 & 15u;
        const unsigned int v12 = v9.x & 3u;
        const unsigned int v13 = v12 << 4u;
        const unsigned int v14 = v10 | v13;
        const float v15 = (float)v14;
        const float v16 = v15 - 32.0f;
        const unsigned int v17 = v6 >> 4u;
        const unsigned int v18 = v17 & 15u;
        const unsigned int v19 = v9.x >> 2u;
        const unsigned int v20 = v19 & 3u;
        const unsigned int v21 = v20 << 4u;
        const unsigned int v22 = v18 | v21;
        const float v23 = (float)v22;
        const float v24 = v23 - 32.0f;
        const unsigned int v25 = v6 >> 8u;
        const unsigned int v26 = v25 & 15u;
        const unsigned int v27 = v9.x >> 4u;
        const unsigned int v28 = v27 & 3u;
        const unsigned int v29 = v28 << 4u;
        const unsigned int v30 = v26 | v29;
        const float v31 = (float)v30;
        const float v32 = v31 - 32.0f;
        const unsigned int v33 = v6 >> 12u;
        const unsigned int v34 = v33 & 15u;
        const unsigned int v35 = v9.x >> 6u;
        const unsigned int v36 = v35 & 3u;
        const unsigned int v37 = v36 << 4u;
        const unsigned int v38 = v34 | v37;
        const float v39 = (float)v38;
        const float v40 = v39 - 32.0f;
        const unsigned int v41 = v6 >> 16u;
        const unsigned int v42 = v41 & 15u;
        const unsigned int v44 = v9.y & 3u;
        const unsigned int v45 = v44 << 4u;
        const unsigned int v46 = v42 | v45;
        const float v47 = (float)v46;
        const float v48 = v47 - 32.0f;
        const unsigned int v49 = v6 >> 20u;
        const unsigned int v50 = v49 & 15u;
        const unsigned int v51 = v9.y >> 2u;
        const unsigned int v52 = v51 & 3u;
        const unsigned int v53 = v52 << 4u;
        const unsigned int v54 = v50 | v53;
        const float v55 = (float)v54;
        const float v56 = v55 - 32.0f;
        const unsigned int v57 = v6 >> 24u;
        const unsigned int v58 = v57 & 15u;
        const unsigned int v59 = v9.y >> 4u;
        const unsigned int v60 = v59 & 3u;
        const unsigned int v61 = v60 << 4u;
        const unsigned int v62 = v58 | v61;
        const float v63 = (float)v62;
        const float v64 = v63 - 32.0f;
        const unsigned int v65 = v6 >> 28u;
        const unsigned int v66 = v65 & 15u;
        const unsigned int v67 = v9.y >> 6u;
        const unsigned int v68 = v67 & 3u;
        const unsigned int v69 = v68 << 4u;
        const unsigned int v70 = v66 | v69;
        const float v71 = (float)v70;
        const float v72 = v71 - 32.0f;
        const unsigned short v74 = weights_steps[row_1];
        const float v75 = tile_f16_to_f32(v74);
        const int v76 = v5 / 16;
        const signed char v77 = weights_scales[row_1 * 4 + v76];
        const float v78 = (float)v77;
        const float v79 = v75 * v78;
        const float4 v80 = *(const float4*)(x + v5);
        const int v85 = v5 + 4;
        const float4 v86 = *(const float4*)(x + v85);
        const float v91 = v16 * v80.x;
        const float v92 = fmaf(v24, v80.y, v91);
        const float v93 = fmaf(v32, v80.z, v92);
        const float v94 = fmaf(v40, v80.w, v93);
        const float v95 = fmaf(v48, v86.x, v94);
        const float v96 = fmaf(v56, v86.y, v95);
        const float v97 = fmaf(v64, v86.z, v96);
        const float v98 = fmaf(v72, v86.w, v97);
        const float v99 = fmaf(v79, v98, v2);
        v2 = v99;
    }
    const float v100 = tile_simd_sum_f32(v2);
    const bool v101 = lane == 0;
    const int v102 = row_1 + 192;
    if (v101) {
        y[v102] = v100;
    }
}
