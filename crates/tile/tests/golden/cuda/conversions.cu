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

extern "C" __global__ void __launch_bounds__(128) conversions(
    const float* __restrict__ floats,
    const unsigned short* __restrict__ halves,
    const unsigned short* __restrict__ brains,
    const signed char* __restrict__ bytes,
    const unsigned int* __restrict__ words,
    float* __restrict__ out_f32,
    unsigned short* __restrict__ out_f16,
    unsigned short* __restrict__ out_bf16,
    signed char* __restrict__ out_i8,
    unsigned char* __restrict__ out_u8,
    int* __restrict__ out_i32
) {
    const int thread_index = (int)threadIdx.x;
    const float v0 = floats[thread_index];
    const unsigned int v1 = words[thread_index];
    const int v2 = thread_index * 4;
    const char4 v3 = *(const char4*)(bytes + v2);
    const int v4 = thread_index * 2;
    const ushort2 v5 = *(const ushort2*)(brains + v4);
    const float2 v6 = make_float2(tile_bf16_to_f32(v5.x), tile_bf16_to_f32(v5.y));
    const unsigned short v7 = halves[thread_index];
    const float v8 = tile_f16_to_f32(v7);
    out_f32[thread_index] = v8;
    const float v11 = v6.x + v6.y;
    out_f32[thread_index + 128] = v11;
    const float4 v12 = make_float4((float)v3.x, (float)v3.y, (float)v3.z, (float)v3.w);
    const float v15 = v12.x + v12.y;
    const float v18 = v12.z + v12.w;
    const float v19 = v15 + v18;
    out_f32[thread_index + 256] = v19;
    const unsigned int v20 = v1 >> 1u;
    const float v21 = __uint_as_float(v20);
    const float v22 = fabsf(v21);
    const float v23 = fminf(v22, 1e30f);
    out_f32[thread_index + 384] = v23;
    const float v24 = (float)v1;
    out_f32[thread_index + 512] = v24;
    const unsigned int v25 = v1 >> 4u;
    const int v26 = (int)v25;
    const float v27 = (float)v26;
    out_f32[thread_index + 640] = v27;
    const unsigned short v28 = tile_f32_to_f16(v0);
    out_f16[thread_index] = v28;
    const float v29 = v0 * 1000.0f;
    const unsigned short v30 = tile_f32_to_f16(v29);
    out_f16[thread_index + 128] = v30;
    const unsigned short v32 = tile_f32_to_f16((float)v3.y);
    out_f16[thread_index + 256] = v32;
    const unsigned short v34 = tile_f32_to_f16(tile_bf16_to_f32(v5.x));
    out_f16[thread_index + 384] = v34;
    const ushort2 v35 = make_ushort2(tile_f32_to_bf16(v6.x), tile_f32_to_bf16(v6.y));
    *(ushort2*)(out_bf16 + v4) = v35;
    const unsigned short v36 = tile_f32_to_bf16(v0);
    out_bf16[v4 + 256] = v36;
    const int v37 = v4 + 1;
    const unsigned short v38 = halves[thread_index];
    const unsigned short v39 = tile_f32_to_bf16(tile_f16_to_f32(v38));
    out_bf16[v37 + 256] = v39;
    const ushort2 v40 = tile_bits<ushort2>(v1);
    *(ushort2*)(out_bf16 + v4 + 512) = v40;
    const float v41 = v0 * 200.0f;
    const signed char v42 = (signed char)max(-128, min(127, __float2int_rz(v41)));
    out_i8[thread_index] = v42;
    const signed char v43 = (signed char)v1;
    out_i8[thread_index + 128] = v43;
    out_i8[thread_index + 256] = v3.w;
    const uchar4 v45 = tile_bits<uchar4>(v1);
    *(uchar4*)(out_u8 + v2) = v45;
    const float4 v46 = make_float4(3.0f, 3.0f, 3.0f, 3.0f);
    const float4 v47 = make_float4(v12.x * v46.x, v12.y * v46.y, v12.z * v46.z, v12.w * v46.w);
    const uchar4 v48 = make_uchar4((unsigned char)max(0, min(255, __float2int_rz(v47.x))), (unsigned char)max(0, min(255, __float2int_rz(v47.y))), (unsigned char)max(0, min(255, __float2int_rz(v47.z))), (unsigned char)max(0, min(255, __float2int_rz(v47.w))));
    *(uchar4*)(out_u8 + v2 + 512) = v48;
    const float v49 = v0 * 3000000000.0f;
    const int v50 = __float2int_rz(v49);
    out_i32[thread_index] = v50;
    const unsigned int v51 = __float2uint_rz(v49);
    const int v52 = (int)v51;
    out_i32[thread_index + 128] = v52;
    const char4 v53 = tile_bits<char4>(v1);
    const int v54 = __dp4a(tile_bits<int>(v3), tile_bits<int>(v53), 7);
    out_i32[thread_index + 256] = v54;
    const int4 v55 = make_int4(3, 3, 3, 3);
    const int4 v57 = make_int4((int)v3.x, (int)v3.y, (int)v3.z, (int)v3.w);
    const int v59 = (int)((unsigned int)(v55.z) * (unsigned int)(v57.z));
    out_i32[thread_index + 384] = v59;
    const int v60 = __float_as_int(v0);
    const int v61 = v60 >> 3;
    out_i32[thread_index + 512] = v61;
}
