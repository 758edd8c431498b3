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

extern "C" __global__ void __launch_bounds__(256) decode_qkv_q4_k_qk(
    const float* __restrict__ x,
    const unsigned int* __restrict__ weights,
    const unsigned char* __restrict__ weights_scales,
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
        const unsigned int v7 = v6 & 15u;
        const float v8 = (float)v7;
        const unsigned int v9 = v6 >> 4u;
        const unsigned int v10 = v9 & 15u;
        const float v11 = (float)v10;
        const unsigned int v12 = v6 >> 8u;
        const unsigned int v13 = v12 & 15u;
        const float v14 = (float)v13;
        const unsigned int v15 = v6 >> 12u;
        const unsigned int v16 = v15 & 15u;
        const float v17 = (float)v16;
        const unsigned int v18 = v6 >> 16u;
        const unsigned int v19 = v18 & 15u;
        const float v20 = (float)v19;
        const unsigned int v21 = v6 >> 20u;
        const unsigned int v22 = v21 & 15u;
        const float v23 = (float)v22;
        const unsigned int v24 = v6 >> 24u;
        const unsigned int v25 = v24 & 15u;
        const float v26 = (float)v25;
        const unsigned int v27 = v6 >> 28u;
        const unsigned int v28 = v27 & 15u;
        const float v29 = (float)v28;
        const int v30 = v5 / 32;
        const uchar2 v31 = *(const uchar2*)(weights_scales + row_1 * 4 + v30 * 2);
        const float2 v32 = make_float2((float)v31.x, (float)v31.y);
        const ushort2 v34 = *(const ushort2*)(weights_steps + row_1 * 2);
        const float2 v35 = make_float2(tile_f16_to_f32(v34.x), tile_f16_to_f32(v34.y));
        const float2 v36 = make_float2(v35.x * v32.x, v35.y * v32.y);
        const float4 v39 = *(const float4*)(x + v5);
        const int v44 = v5 + 4;
        const float4 v45 = *(const float4*)(x + v44);
        const float v50 = v8 * v39.x;
        const float v51 = fmaf(v11, v39.y, v50);
        const float v52 = fmaf(v14, v39.z, v51);
        const float v53 = fmaf(v17, v39.w, v52);
        const float v54 = fmaf(v20, v45.x, v53);
        const float v55 = fmaf(v23, v45.y, v54);
        const float v56 = fmaf(v26, v45.z, v55);
        const float v57 = fmaf(v29, v45.w, v56);
        const float v58 = fmaf(v36.x, v57, v2);
        const float v59 = v39.x + v39.y;
        const float v60 = v59 + v39.z;
        const float v61 = v60 + v39.w;
        const float v62 = v61 + v45.x;
        const float v63 = v62 + v45.y;
        const float v64 = v63 + v45.z;
        const float v65 = v64 + v45.w;
        const float v66 = -v36.y;
        const float v67 = fmaf(v66, v65, v58);
        v2 = v67;
    }
    const float v68 = tile_simd_sum_f32(v2);
    const bool v69 = lane == 0;
    if (v69) {
        y[row_1] = v68;
    }
}
