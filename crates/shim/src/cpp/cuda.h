// CUDA C++ as C++: as much of it as emitted kernels use.
#pragma once

#include "lanes.h"
#include "numbers.h"

// Vector types and their makers.
#define SHIM_VECTOR(name, T)                                                                     \
    struct alignas(2 * sizeof(T)) name##2 {                                                      \
        T x, y;                                                                                  \
    };                                                                                           \
    struct alignas(4 * sizeof(T)) name##4 {                                                      \
        T x, y, z, w;                                                                            \
    };                                                                                           \
    static inline name##2 make_##name##2(T x, T y) { return {x, y}; }                            \
    static inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
SHIM_VECTOR(float, float)
SHIM_VECTOR(int, int)
SHIM_VECTOR(uint, unsigned int)
SHIM_VECTOR(ushort, unsigned short)
SHIM_VECTOR(char, signed char)
SHIM_VECTOR(uchar, unsigned char)
#undef SHIM_VECTOR

struct uint3 {
    unsigned int x, y, z;
};
#define threadIdx (uint3{(unsigned int)shim::state.current, 0, 0})
#define blockIdx (uint3{shim::state.group[0], shim::state.group[1], shim::state.group[2]})

namespace shim_cuda {

#define SHIM_ONE(name, value) \
    static inline float name(float x) { return value; }
SHIM_ONE(fabsf, shim::f_abs(x))
SHIM_ONE(floorf, shim::f_floor(x))
SHIM_ONE(__fsqrt_rn, shim::f_sqrt(x))
SHIM_ONE(__frsqrt_rn, shim::f_rsqrt(x))
SHIM_ONE(expf, shim::f_exp(x))
SHIM_ONE(exp2f, shim::f_exp2(x))
SHIM_ONE(logf, shim::f_log(x))
SHIM_ONE(sinf, shim::f_sin(x))
SHIM_ONE(cosf, shim::f_cos(x))
SHIM_ONE(tanhf, shim::f_tanh(x))
SHIM_ONE(__expf, shim::f_exp(x))
SHIM_ONE(__sinf, shim::f_sin(x))
SHIM_ONE(__cosf, shim::f_cos(x))
#undef SHIM_ONE
static inline float fminf(float a, float b) { return __builtin_fminf(a, b); }
static inline float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
static inline float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a < b ? b : a; }
static inline unsigned int min(unsigned int a, unsigned int b) { return a < b ? a : b; }
static inline unsigned int max(unsigned int a, unsigned int b) { return a < b ? b : a; }
static inline int abs(int a) { return a < 0 ? (int)(0u - (unsigned int)a) : a; }

// Conversions towards zero that hold at the ends of the range and give zero for NaN.
static inline int __float2int_rz(float x) {
    return x != x ? 0 : x >= 2147483648.0f ? 2147483647 : x <= -2147483648.0f ? -2147483647 - 1 : (int)x;
}
static inline unsigned int __float2uint_rz(float x) {
    return x != x || x <= 0.0f ? 0u : x >= 4294967296.0f ? 4294967295u : (unsigned int)x;
}
static inline int __float_as_int(float x) { return shim::bits<int>(x); }
static inline unsigned int __float_as_uint(float x) { return shim::bits<unsigned int>(x); }
static inline float __int_as_float(int x) { return shim::bits<float>(x); }
static inline float __uint_as_float(unsigned int x) { return shim::bits<float>(x); }

static inline int __dp4a(int a, int b, int c) {
    unsigned int sum = (unsigned int)c;
    for (int n = 0; n < 32; n += 8) sum += (unsigned int)((signed char)(a >> n) * (signed char)(b >> n));
    return (int)sum;
}

static inline void __syncthreads(int line = __builtin_LINE()) { shim::meet(shim::GROUP, line); }
static inline void __syncwarp(int line = __builtin_LINE()) { shim::meet(shim::SIMD, line); }

static inline void full(unsigned int mask, int line) {
    if (mask != 0xffffffffu) shim::fail("a shuffle of part of a warp", line, 0, line);
}
template <class T> static inline T __shfl_sync(unsigned int mask, T v, int source, int line = __builtin_LINE()) {
    full(mask, line);
    return shim::from_lane(v, source, line);
}
template <class T> static inline T __shfl_xor_sync(unsigned int mask, T v, int bits, int line = __builtin_LINE()) {
    full(mask, line);
    return shim::from_lane(v, shim::lane() ^ bits, line);
}
template <class T> static inline T __shfl_down_sync(unsigned int mask, T v, int by, int line = __builtin_LINE()) {
    full(mask, line);
    const int source = shim::lane() + by;
    return shim::from_lane(v, source < shim::LANES ? source : shim::lane(), line);
}

}  // namespace shim_cuda

#define __global__ static
#define __device__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ SHIM_SHARED
#define __align__(bytes) __attribute__((aligned(bytes)))
