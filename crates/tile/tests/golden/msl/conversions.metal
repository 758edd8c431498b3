#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

inline int float_to_int(float x) {
    return x != x ? int(0) : x >= 2147483648.0f ? 2147483647 : x <= -2147483648.0f ? (-2147483647 - 1) : int(x);
}

inline uint float_to_uint(float x) {
    return x != x ? uint(0) : x >= 4294967296.0f ? 4294967295u : x <= 0.0f ? 0u : uint(x);
}

inline char float_to_char(float x) {
    return x != x ? char(0) : char(int(fmin(fmax(x, -128.0f), 127.0f)));
}

inline uchar float_to_uchar(float x) {
    return x != x ? uchar(0) : uchar(int(fmin(fmax(x, 0.0f), 255.0f)));
}

[[max_total_threads_per_threadgroup(128)]]
kernel void conversions(
    device const float* floats [[buffer(0)]],
    device const half* halves [[buffer(1)]],
    device const bfloat* brains [[buffer(2)]],
    device const char* bytes [[buffer(3)]],
    device const uint* words [[buffer(4)]],
    device float* out_f32 [[buffer(5)]],
    device half* out_f16 [[buffer(6)]],
    device bfloat* out_bf16 [[buffer(7)]],
    device char* out_i8 [[buffer(8)]],
    device uchar* out_u8 [[buffer(9)]],
    device int* out_i32 [[buffer(10)]],
    uint thread_position [[thread_index_in_threadgroup]]
) {
    const int thread_index = int(thread_position);
    const float v0 = floats[thread_index];
    const uint v1 = words[thread_index];
    const int v2 = thread_index * 4;
    const char4 v3 = *(device const char4*)(bytes + v2);
    const int v4 = thread_index * 2;
    const bfloat2 v5 = *(device const bfloat2*)(brains + v4);
    const float2 v6 = float2(v5);
    const half v7 = halves[thread_index];
    const float v8 = float(v7);
    out_f32[thread_index] = v8;
    const float v11 = v6.x + v6.y;
    out_f32[thread_index + 128] = v11;
    const float4 v12 = float4(v3);
    const float v15 = v12.x + v12.y;
    const float v18 = v12.z + v12.w;
    const float v19 = v15 + v18;
    out_f32[thread_index + 256] = v19;
    const uint v20 = v1 >> 1u;
    const float v21 = as_type<float>(v20);
    const float v22 = fabs(v21);
    const float v23 = fmin(v22, 1e30f);
    out_f32[thread_index + 384] = v23;
    const float v24 = float(v1);
    out_f32[thread_index + 512] = v24;
    const uint v25 = v1 >> 4u;
    const int v26 = int(v25);
    const float v27 = float(v26);
    out_f32[thread_index + 640] = v27;
    const half v28 = half(v0);
    out_f16[thread_index] = v28;
    const float v29 = v0 * 1000.0f;
    const half v30 = half(v29);
    out_f16[thread_index + 128] = v30;
    const half v32 = half(float(v3.y));
    out_f16[thread_index + 256] = v32;
    const half v34 = half(float(v5.x));
    out_f16[thread_index + 384] = v34;
    const bfloat2 v35 = bfloat2(v6);
    *(device bfloat2*)(out_bf16 + v4) = v35;
    const bfloat v36 = bfloat(v0);
    out_bf16[v4 + 256] = v36;
    const int v37 = v4 + 1;
    const half v38 = halves[thread_index];
    const bfloat v39 = bfloat(float(v38));
    out_bf16[v37 + 256] = v39;
    const bfloat2 v40 = as_type<bfloat2>(v1);
    *(device bfloat2*)(out_bf16 + v4 + 512) = v40;
    const float v41 = v0 * 200.0f;
    const char v42 = float_to_char(v41);
    out_i8[thread_index] = v42;
    const char v43 = char(v1);
    out_i8[thread_index + 128] = v43;
    out_i8[thread_index + 256] = v3.w;
    const uchar4 v45 = as_type<uchar4>(v1);
    *(device uchar4*)(out_u8 + v2) = v45;
    const float4 v46 = float4(3.0f);
    const float4 v47 = v12 * v46;
    const uchar4 v48 = uchar4(float_to_uchar(v47.x), float_to_uchar(v47.y), float_to_uchar(v47.z), float_to_uchar(v47.w));
    *(device uchar4*)(out_u8 + v2 + 512) = v48;
    const float v49 = v0 * 3000000000.0f;
    const int v50 = float_to_int(v49);
    out_i32[thread_index] = v50;
    const uint v51 = float_to_uint(v49);
    const int v52 = int(v51);
    out_i32[thread_index + 128] = v52;
    const char4 v53 = as_type<char4>(v1);
    const int v54 = int(uint(7) + uint(int(v3.x) * int(v53.x) + int(v3.y) * int(v53.y) + int(v3.z) * int(v53.z) + int(v3.w) * int(v53.w)));
    out_i32[thread_index + 256] = v54;
    const int4 v55 = int4(3);
    const int4 v57 = int4(v3);
    const int v59 = int(uint(v55.z) * uint(v57.z));
    out_i32[thread_index + 384] = v59;
    const int v60 = as_type<int>(v0);
    const int v61 = v60 >> 3;
    out_i32[thread_index + 512] = v61;
}
