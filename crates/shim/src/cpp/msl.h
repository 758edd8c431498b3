// Metal Shading Language as C++: as much of it as emitted kernels use, and stricter where C++ allows. Half and bfloat
// convert explicitly and have no arithmetic; vectors do not mix with scalars.
#pragma once

#include "lanes.h"
#include "numbers.h"

namespace metal {

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

struct half {
    ushort word;
    half() = default;
    explicit half(float f) : word(shim::float_to_half(f)) {}
    explicit operator float() const { return shim::half_to_float(word); }
};

struct bfloat {
    ushort word;
    bfloat() = default;
    explicit bfloat(float f) : word(shim::float_to_brain(f)) {}
    explicit operator float() const { return shim::brain_to_float(word); }
};

template <class T, int N> struct vec;

template <class T> struct alignas(2 * sizeof(T)) vec<T, 2> {
    T x, y;
    vec() = default;
    explicit vec(T v) : x(v), y(v) {}
    vec(T a, T b) : x(a), y(b) {}
    template <class S> explicit vec(const vec<S, 2>& v) : x(T(v.x)), y(T(v.y)) {}
    T& operator[](int n) { return (&x)[n]; }
    const T& operator[](int n) const { return (&x)[n]; }
};

template <class T> struct alignas(4 * sizeof(T)) vec<T, 3> {
    T x, y, z;
};

template <class T> struct alignas(4 * sizeof(T)) vec<T, 4> {
    T x, y, z, w;
    vec() = default;
    explicit vec(T v) : x(v), y(v), z(v), w(v) {}
    vec(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}
    template <class S> explicit vec(const vec<S, 4>& v) : x(T(v.x)), y(T(v.y)), z(T(v.z)), w(T(v.w)) {}
    T& operator[](int n) { return (&x)[n]; }
    const T& operator[](int n) const { return (&x)[n]; }
};

#define SHIM_VECTORS(T)      \
    typedef vec<T, 2> T##2;  \
    typedef vec<T, 3> T##3;  \
    typedef vec<T, 4> T##4;
SHIM_VECTORS(float)
SHIM_VECTORS(half)
SHIM_VECTORS(bfloat)
SHIM_VECTORS(char)
SHIM_VECTORS(uchar)
SHIM_VECTORS(ushort)
SHIM_VECTORS(int)
SHIM_VECTORS(uint)
SHIM_VECTORS(ulong)
#undef SHIM_VECTORS

#define SHIM_EACH(...)                              \
    vec<T, N> r;                                    \
    for (int n = 0; n < N; n++) r[n] = __VA_ARGS__; \
    return r;
#define SHIM_OPERATOR(op)                                                            \
    template <class T, int N>                                                        \
    static inline vec<T, N> operator op(const vec<T, N>& a, const vec<T, N>& b) {    \
        SHIM_EACH(T(a[n] op b[n]))                                                   \
    }
SHIM_OPERATOR(+)
SHIM_OPERATOR(-)
SHIM_OPERATOR(*)
SHIM_OPERATOR(/)
SHIM_OPERATOR(%)
SHIM_OPERATOR(&)
SHIM_OPERATOR(|)
SHIM_OPERATOR(^)
SHIM_OPERATOR(<<)
SHIM_OPERATOR(>>)
#undef SHIM_OPERATOR
template <class T, int N> static inline vec<T, N> operator-(const vec<T, N>& a) { SHIM_EACH(-a[n]) }
template <class T, int N> static inline vec<T, N> operator~(const vec<T, N>& a) { SHIM_EACH(~a[n]) }

// A function of floats, alone and in vectors.
#define SHIM_ONE(name, value)                            \
    static inline float name(float x) { return value; }  \
    template <class T, int N> static inline vec<T, N> name(const vec<T, N>& a) { SHIM_EACH(name(a[n])) }
#define SHIM_TWO(name, type, value)                               \
    static inline type name(type a, type b) { return value; }     \
    template <int N>                                              \
    static inline vec<type, N> name(const vec<type, N>& a, const vec<type, N>& b) { \
        typedef type T;                                           \
        SHIM_EACH(name(a[n], b[n]))                               \
    }
SHIM_ONE(fabs, shim::f_abs(x))
SHIM_ONE(floor, shim::f_floor(x))
SHIM_TWO(fmin, float, __builtin_fminf(a, b))
SHIM_TWO(fmax, float, __builtin_fmaxf(a, b))
SHIM_TWO(min, int, a < b ? a : b)
SHIM_TWO(max, int, a < b ? b : a)
SHIM_TWO(min, uint, a < b ? a : b)
SHIM_TWO(max, uint, a < b ? b : a)
static inline int abs(int a) { return a < 0 ? int(0u - uint(a)) : a; }
template <int N> static inline vec<int, N> abs(const vec<int, N>& a) {
    typedef int T;
    SHIM_EACH(abs(a[n]))
}
static inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
template <class T, int N>
static inline vec<T, N> fma(const vec<T, N>& a, const vec<T, N>& b, const vec<T, N>& c) {
    SHIM_EACH(fma(a[n], b[n], c[n]))
}
namespace precise {
SHIM_ONE(sqrt, shim::f_sqrt(x))
SHIM_ONE(rsqrt, shim::f_rsqrt(x))
SHIM_ONE(exp, shim::f_exp(x))
SHIM_ONE(exp2, shim::f_exp2(x))
SHIM_ONE(log, shim::f_log(x))
SHIM_ONE(sin, shim::f_sin(x))
SHIM_ONE(cos, shim::f_cos(x))
SHIM_ONE(tanh, shim::f_tanh(x))
}  // namespace precise
namespace fast {
SHIM_ONE(exp, shim::f_exp(x))
SHIM_ONE(exp2, shim::f_exp2(x))
SHIM_ONE(sin, shim::f_sin(x))
SHIM_ONE(cos, shim::f_cos(x))
}  // namespace fast
#undef SHIM_ONE
#undef SHIM_TWO
#undef SHIM_EACH

template <class To, class From> static inline To as_type(const From& from) { return shim::bits<To>(from); }

enum class mem_flags { mem_none, mem_device, mem_threadgroup };
static inline void threadgroup_barrier(mem_flags, int line = __builtin_LINE()) { shim::meet(shim::GROUP, line); }
static inline void simdgroup_barrier(mem_flags, int line = __builtin_LINE()) { shim::meet(shim::SIMD, line); }

template <class T> static inline T simd_sum(T v, int line = __builtin_LINE()) {
    return shim::combine(v, line, [](T a, T b) { return T(a + b); });
}
// Sums of signed integers wrap.
static inline int simd_sum(int v, int line = __builtin_LINE()) { return int(simd_sum(uint(v), line)); }
template <class T> static inline T simd_max(T v, int line = __builtin_LINE()) {
    return shim::combine(v, line, [](T a, T b) { return max(a, b); });
}
template <class T> static inline T simd_min(T v, int line = __builtin_LINE()) {
    return shim::combine(v, line, [](T a, T b) { return min(a, b); });
}
static inline float simd_max(float v, int line = __builtin_LINE()) {
    return shim::combine(v, line, [](float a, float b) { return fmax(a, b); });
}
static inline float simd_min(float v, int line = __builtin_LINE()) {
    return shim::combine(v, line, [](float a, float b) { return fmin(a, b); });
}
template <class T> static inline T simd_shuffle(T v, ushort source, int line = __builtin_LINE()) {
    return shim::from_lane(v, source, line);
}
template <class T> static inline T simd_shuffle_xor(T v, ushort mask, int line = __builtin_LINE()) {
    return shim::from_lane(v, shim::lane() ^ mask, line);
}

}  // namespace metal

#include "msl_matrix.h"
#include "msl_tensor.h"

#define device
#define constant const
#define threadgroup
#define kernel static
