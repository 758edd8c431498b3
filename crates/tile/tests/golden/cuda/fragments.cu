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

__device__ __forceinline__ float2 tile_f16x2_to_f32(ushort2 v) {
    return make_float2(tile_f16_to_f32(v.x), tile_f16_to_f32(v.y));
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

extern "C" __global__ void __launch_bounds__(64) fragments(
    const unsigned short* __restrict__ a,
    const unsigned short* __restrict__ b,
    unsigned short* __restrict__ c,
    float* __restrict__ d,
    const int n
) {
    const int group_x = (int)blockIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    const int fragment_row = lane / 4, fragment_column = (lane & 3) * 2;
    __shared__ __align__(16) unsigned short edge[128];
    __shared__ __align__(16) float square[128];
    const float2 v0 = make_float2(0.0f, 0.0f);
    const int v1 = simd_group * 8;
    float2 v2 = v0;
    for (int v3 = 0; v3 < 24; v3 += 8) {
        const ushort2 v5 = make_ushort2((v3 + fragment_column) < n ? a[group_x * 480 + fragment_row * 24 + (v3 + fragment_column)] : (unsigned short)0x0000, (v3 + fragment_column + 1) < n ? a[group_x * 480 + fragment_row * 24 + (v3 + fragment_column + 1)] : (unsigned short)0x0000);
        const ushort2 v6 = make_ushort2(b[(v3 + fragment_row) * 16 + (v1 + fragment_column)], b[(v3 + fragment_row) * 16 + (v1 + fragment_column + 1)]);
        const float2 v7 = tile_multiply(tile_f16x2_to_f32(v5), tile_f16x2_to_f32(v6), v2);
        v2 = v7;
    }
    const float2 v8 = make_float2(fmaxf(v2.x, v0.x), fmaxf(v2.y, v0.y));
    const float2 v9 = make_float2(v2.x - v8.x, v2.y - v8.y);
    const float2 v10 = make_float2(0.5f, 0.5f);
    const float2 v11 = make_float2(v9.x * v10.x, v9.y * v10.y);
    const bool v12 = n > 12;
    const float2 v13 = make_float2(v12 ? v11.x : v2.x, v12 ? v11.y : v2.y);
    const float v14 = (float)n;
    const float2 v15 = make_float2(v14, v14);
    const float2 v16 = make_float2(v13.x * v15.x, v13.y * v15.y);
    const float2 v17 = make_float2(fabsf(v2.x), fabsf(v2.y));
    const float2 v18 = make_float2(1.0f, 1.0f);
    const float2 v19 = make_float2(v17.x + v18.x, v17.y + v18.y);
    const float2 v20 = make_float2(v2.x / v19.x, v2.y / v19.y);
    const float2 v21 = make_float2(v16.x + v20.x, v16.y + v20.y);
    const ushort2 v22 = make_ushort2(tile_f32_to_f16(v21.x), tile_f32_to_f16(v21.y));
    c[group_x * 320 + fragment_row * 16 + (v1 + fragment_column)] = v22.x;
    c[group_x * 320 + fragment_row * 16 + (v1 + fragment_column + 1)] = v22.y;
    float2 v23 = v0;
    for (int v24 = 0; v24 < 24; v24 += 8) {
        const ushort2 v26 = make_ushort2((v24 + fragment_column) < n ? a[group_x * 480 + (8 + fragment_row) * 24 + (v24 + fragment_column)] : (unsigned short)0x0000, (v24 + fragment_column + 1) < n ? a[group_x * 480 + (8 + fragment_row) * 24 + (v24 + fragment_column + 1)] : (unsigned short)0x0000);
        const ushort2 v27 = make_ushort2(b[(v24 + fragment_row) * 16 + (v1 + fragment_column)], b[(v24 + fragment_row) * 16 + (v1 + fragment_column + 1)]);
        const float2 v28 = tile_multiply(tile_f16x2_to_f32(v26), tile_f16x2_to_f32(v27), v23);
        v23 = v28;
    }
    const float2 v29 = make_float2(fmaxf(v23.x, v0.x), fmaxf(v23.y, v0.y));
    const float2 v30 = make_float2(v23.x - v29.x, v23.y - v29.y);
    const float2 v31 = make_float2(v30.x * v10.x, v30.y * v10.y);
    const float2 v32 = make_float2(v12 ? v31.x : v23.x, v12 ? v31.y : v23.y);
    const float2 v33 = make_float2(v32.x * v15.x, v32.y * v15.y);
    const float2 v34 = make_float2(fabsf(v23.x), fabsf(v23.y));
    const float2 v35 = make_float2(v34.x + v18.x, v34.y + v18.y);
    const float2 v36 = make_float2(v23.x / v35.x, v23.y / v35.y);
    const float2 v37 = make_float2(v33.x + v36.x, v33.y + v36.y);
    const ushort2 v38 = make_ushort2(tile_f32_to_f16(v37.x), tile_f32_to_f16(v37.y));
    c[group_x * 320 + (8 + fragment_row) * 16 + (v1 + fragment_column)] = v38.x;
    c[group_x * 320 + (8 + fragment_row) * 16 + (v1 + fragment_column + 1)] = v38.y;
    float2 v39 = v0;
    for (int v40 = 0; v40 < 24; v40 += 8) {
        const ushort2 v42 = make_ushort2((16 + fragment_row) < 20 && (v40 + fragment_column) < n ? a[group_x * 480 + (16 + fragment_row) * 24 + (v40 + fragment_column)] : (unsigned short)0x0000, (16 + fragment_row) < 20 && (v40 + fragment_column + 1) < n ? a[group_x * 480 + (16 + fragment_row) * 24 + (v40 + fragment_column + 1)] : (unsigned short)0x0000);
        const ushort2 v43 = make_ushort2(b[(v40 + fragment_row) * 16 + (v1 + fragment_column)], b[(v40 + fragment_row) * 16 + (v1 + fragment_column + 1)]);
        const float2 v44 = tile_multiply(tile_f16x2_to_f32(v42), tile_f16x2_to_f32(v43), v39);
        v39 = v44;
    }
    const float2 v45 = make_float2(fmaxf(v39.x, v0.x), fmaxf(v39.y, v0.y));
    const float2 v46 = make_float2(v39.x - v45.x, v39.y - v45.y);
    const float2 v47 = make_float2(v46.x * v10.x, v46.y * v10.y);
    const float2 v48 = make_float2(v12 ? v47.x : v39.x, v12 ? v47.y : v39.y);
    const float2 v49 = make_float2(v48.x * v15.x, v48.y * v15.y);
    const float2 v50 = make_float2(fabsf(v39.x), fabsf(v39.y));
    const float2 v51 = make_float2(v50.x + v18.x, v50.y + v18.y);
    const float2 v52 = make_float2(v39.x / v51.x, v39.y / v51.y);
    const float2 v53 = make_float2(v49.x + v52.x, v49.y + v52.y);
    const ushort2 v54 = make_ushort2(tile_f32_to_f16(v53.x), tile_f32_to_f16(v53.y));
    if ((16 + fragment_row) < 20) c[group_x * 320 + (16 + fragment_row) * 16 + (v1 + fragment_column)] = v54.x;
    if ((16 + fragment_row) < 20) c[group_x * 320 + (16 + fragment_row) * 16 + (v1 + fragment_column + 1)] = v54.y;
    const ushort2 v55 = make_ushort2(b[(8 + fragment_column) * 16 + (v1 + fragment_row)], b[(8 + fragment_column + 1) * 16 + (v1 + fragment_row)]);
    const ushort2 v56 = make_ushort2(b[(8 + fragment_row) * 16 + (v1 + fragment_column)], b[(8 + fragment_row) * 16 + (v1 + fragment_column + 1)]);
    const float2 v57 = tile_multiply(tile_f16x2_to_f32(v55), tile_f16x2_to_f32(v56), v0);
    const ushort2 v58 = make_ushort2(tile_f32_to_f16(v57.x), tile_f32_to_f16(v57.y));
    const float2 v59 = make_float2(tile_f16_to_f32(v58.x), tile_f16_to_f32(v58.y));
    const float2 v60 = make_float2(2.0f, 2.0f);
    const float2 v61 = make_float2(fmaf(v57.x, v60.x, v59.x), fmaf(v57.y, v60.y, v59.y));
    const float2 v62 = make_float2(exp2f(v61.x), exp2f(v61.y));
    const float2 v63 = make_float2(1000.0f, 1000.0f);
    const float2 v64 = make_float2(fminf(v62.x, v63.x), fminf(v62.y, v63.y));
    square[simd_group * 64 + fragment_row * 8 + fragment_column] = v64.x;
    square[simd_group * 64 + fragment_row * 8 + (fragment_column + 1)] = v64.y;
    __syncwarp();
    const int v65 = lane / 4;
    const int v66 = lane % 4;
    const int v67 = v66 * 2;
    const int v68 = v1 + v65;
    const float v69 = square[simd_group * 64 + v65 * 8 + v67];
    d[group_x * 128 + v68 * 8 + v67] = v69;
    const int v70 = v67 + 1;
    const float v71 = square[simd_group * 64 + v65 * 8 + v70];
    d[group_x * 128 + v68 * 8 + v70] = v71;
}
