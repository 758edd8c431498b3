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

__device__ __forceinline__ float tile_bf16_to_f32(unsigned short b) {
    return __uint_as_float((unsigned int)b << 16);
}

__device__ __forceinline__ unsigned short tile_f32_to_bf16(float f) {
    const unsigned int bits = __float_as_uint(f);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (unsigned short)(bits >> 16 | 0x40u);
    return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

template <class To, class From> __device__ __forceinline__ To tile_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "bits");
    union { From from; To to; } both;
    both.from = from;
    return both.to;
}

__device__ __forceinline__ float tile_simd_sum_f32(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const float w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = v + w;
    }
    return v;
}

__device__ __forceinline__ int tile_simd_sum_i32(int v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const int w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = (int)((unsigned int)v + (unsigned int)w);
    }
    return v;
}

__device__ __forceinline__ unsigned int tile_simd_sum_u32(unsigned int v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const unsigned int w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = v + w;
    }
    return v;
}

__device__ __forceinline__ float tile_simd_max_f32(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const float w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = fmaxf(v, w);
    }
    return v;
}

__device__ __forceinline__ int tile_simd_max_i32(int v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const int w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = max(v, w);
    }
    return v;
}

__device__ __forceinline__ unsigned int tile_simd_max_u32(unsigned int v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const unsigned int w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = max(v, w);
    }
    return v;
}

__device__ __forceinline__ float tile_simd_min_f32(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const float w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = fminf(v, w);
    }
    return v;
}

__device__ __forceinline__ int tile_simd_min_i32(int v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const int w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = min(v, w);
    }
    return v;
}

__device__ __forceinline__ unsigned int tile_simd_min_u32(unsigned int v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const unsigned int w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = min(v, w);
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(128) lanes(
    const float* __restrict__ x,
    float* __restrict__ floats,
    int* __restrict__ ints
) {
    const int group_x = (int)blockIdx.x;
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    __shared__ __align__(16) float partial0[4];
    __shared__ __align__(16) float partial1[4];
    __shared__ __align__(16) float partial2[4];
    __shared__ __align__(16) int partial3[4];
    __shared__ __align__(16) unsigned int partial4[4];
    const float v0 = x[group_x * 128 + thread_index];
    const float v1 = v0 * 1000.0f;
    const int v2 = __float2int_rz(v1);
    const float v3 = tile_simd_sum_f32(v0);
    const float v4 = tile_simd_max_f32(v0);
    const float v5 = tile_simd_min_f32(v0);
    const float v6 = __shfl_xor_sync(0xffffffffu, v0, 5);
    const float v7 = __shfl_down_sync(0xffffffffu, v0, 3);
    const int v8 = v2 & 31;
    const float v9 = __shfl_sync(0xffffffffu, v0, v8);
    const float v10 = tile_simd_sum_f32(v0);
    const bool v11 = lane == 0;
    if (v11) partial0[simd_group] = v10;
    __syncthreads();
    const float v12 = lane < 4 ? partial0[lane] : (-0.0f);
    const float v13 = tile_simd_sum_f32(v12);
    const float v14 = tile_simd_max_f32(v0);
    if (v11) partial1[simd_group] = v14;
    __syncthreads();
    const float v15 = lane < 4 ? partial1[lane] : __int_as_float(0xff800000);
    const float v16 = tile_simd_max_f32(v15);
    const float v17 = tile_simd_min_f32(v0);
    if (v11) partial2[simd_group] = v17;
    __syncthreads();
    const float v18 = lane < 4 ? partial2[lane] : __int_as_float(0x7f800000);
    const float v19 = tile_simd_min_f32(v18);
    floats[group_x * 1152 + thread_index] = v3;
    floats[group_x * 1152 + thread_index + 128] = v4;
    floats[group_x * 1152 + thread_index + 256] = v5;
    floats[group_x * 1152 + thread_index + 384] = v6;
    floats[group_x * 1152 + thread_index + 512] = v7;
    floats[group_x * 1152 + thread_index + 640] = v9;
    floats[group_x * 1152 + thread_index + 768] = v13;
    floats[group_x * 1152 + thread_index + 896] = v16;
    floats[group_x * 1152 + thread_index + 1024] = v19;
    const unsigned int v20 = tile_bits<unsigned int>(v2);
    const int v21 = tile_simd_sum_i32(v2);
    const int v22 = tile_simd_max_i32(v2);
    const int v23 = tile_simd_min_i32(v2);
    const unsigned int v24 = tile_simd_max_u32(v20);
    const int v25 = (int)v24;
    const unsigned int v26 = tile_simd_min_u32(v20);
    const unsigned int v27 = tile_simd_sum_u32(v20);
    const unsigned int v28 = v26 + v27;
    const int v29 = (int)v28;
    const bool v30 = v0 > 0.0f;
    const bool v31 = __shfl_xor_sync(0xffffffffu, (int)v30, 1) != 0;
    const int v32 = (int)v31;
    const int v33 = tile_simd_max_i32(v2);
    if (v11) partial3[simd_group] = v33;
    __syncthreads();
    const int v34 = lane < 4 ? partial3[lane] : (-2147483647 - 1);
    const int v35 = tile_simd_max_i32(v34);
    const unsigned int v36 = tile_simd_min_u32(v20);
    if (v11) partial4[simd_group] = v36;
    __syncthreads();
    const unsigned int v37 = lane < 4 ? partial4[lane] : 4294967295u;
    const unsigned int v38 = tile_simd_min_u32(v37);
    const int v39 = (int)v38;
    const unsigned short v40 = tile_f32_to_bf16(v0);
    const unsigned short v41 = (unsigned short)__shfl_down_sync(0xffffffffu, (int)v40, 1);
    const float v42 = tile_bf16_to_f32(v41);
    const float v43 = v42 * 8.0f;
    const unsigned short v44 = tile_f32_to_f16(v0);
    const unsigned short v45 = (unsigned short)__shfl_xor_sync(0xffffffffu, (int)v44, 2);
    const float v46 = tile_f16_to_f32(v45);
    const float v47 = v46 * 8.0f;
    const float v48 = v43 + v47;
    const signed char v49 = (signed char)v2;
    const signed char v50 = (signed char)__shfl_sync(0xffffffffu, (int)v49, 3);
    const float v51 = (float)v50;
    const float v52 = v48 + v51;
    const int v53 = __float2int_rz(v52);
    ints[group_x * 1152 + thread_index] = v21;
    ints[group_x * 1152 + thread_index + 128] = v22;
    ints[group_x * 1152 + thread_index + 256] = v23;
    ints[group_x * 1152 + thread_index + 384] = v25;
    ints[group_x * 1152 + thread_index + 512] = v29;
    ints[group_x * 1152 + thread_index + 640] = v32;
    ints[group_x * 1152 + thread_index + 768] = v35;
    ints[group_x * 1152 + thread_index + 896] = v39;
    ints[group_x * 1152 + thread_index + 1024] = v53;
    const bool v54 = simd_group == 1;
    if (v54) {
        const float v55 = tile_simd_sum_f32(v0);
        const float v56 = v55 * 2.0f;
        floats[group_x * 1152 + thread_index] = v56;
    }
}
