// Metal Shading Language as C++ for OpenCL, for clang to judge; nothing here is ever run. The two languages have the
// same address spaces, and vectors that C++ lacks. With the generic address space turned off, a pointer without an
// address space is an error, as in Metal.
#pragma once
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
// A floating-point type apart from the others. That float becomes one without being asked to is a warning made an
// error.
typedef double bfloat;

#define VECTORS(T)                                                        \
    typedef T T##2 __attribute__((ext_vector_type(2)));                   \
    typedef T T##3 __attribute__((ext_vector_type(3)));                   \
    typedef T T##4 __attribute__((ext_vector_type(4)));                   \
    T##2 make_##T##2(T);                                                  \
    T##2 make_##T##2(T, T);                                               \
    T##4 make_##T##4(T);                                                  \
    T##4 make_##T##4(T, T, T, T);                                         \
    template <class S> auto make_##T##2(S v)->decltype(__builtin_convertvector(v, T##2)); \
    template <class S> auto make_##T##4(S v)->decltype(__builtin_convertvector(v, T##4));
VECTORS(float)
VECTORS(half)
VECTORS(bfloat)
VECTORS(char)
VECTORS(uchar)
VECTORS(ushort)
VECTORS(int)
VECTORS(uint)
VECTORS(ulong)
#undef VECTORS

// A type's name before a parenthesis makes a vector; anywhere else it is the type.
#define float2(...) make_float2(__VA_ARGS__)
#define float4(...) make_float4(__VA_ARGS__)
#define half2(...) make_half2(__VA_ARGS__)
#define half4(...) make_half4(__VA_ARGS__)
#define bfloat2(...) make_bfloat2(__VA_ARGS__)
#define bfloat4(...) make_bfloat4(__VA_ARGS__)
#define char2(...) make_char2(__VA_ARGS__)
#define char4(...) make_char4(__VA_ARGS__)
#define uchar2(...) make_uchar2(__VA_ARGS__)
#define uchar4(...) make_uchar4(__VA_ARGS__)
#define int2(...) make_int2(__VA_ARGS__)
#define int4(...) make_int4(__VA_ARGS__)
#define uint2(...) make_uint2(__VA_ARGS__)
#define uint4(...) make_uint4(__VA_ARGS__)
#define ulong2(...) make_ulong2(__VA_ARGS__)

namespace metal {

template <class T> struct Size { static constexpr int bytes = sizeof(T); };
template <> struct Size<bfloat> { static constexpr int bytes = 2; };
template <> struct Size<bfloat2> { static constexpr int bytes = 4; };
template <> struct Size<bfloat4> { static constexpr int bytes = 8; };
template <class To, class From> To as_type(From from) {
    static_assert(Size<To>::bytes == Size<From>::bytes, "as_type keeps the size");
    return To();
}

#define FLOATS(F) F(float) F(float2) F(float4) F(half) F(half2) F(half4)
#define FUNCTIONS(T) T exp(T); T exp2(T); T log(T); T sin(T); T cos(T); T tanh(T); T sqrt(T); T rsqrt(T);
#define SIMPLE(T) T fabs(T); T floor(T); T fmin(T, T); T fmax(T, T); T fma(T, T, T);
FLOATS(SIMPLE)
namespace precise { FLOATS(FUNCTIONS) }
namespace fast { FLOATS(FUNCTIONS) }
float dot(float2, float2);
float dot(float4, float4);
#define INTEGERS(T) T abs(T); T min(T, T); T max(T, T);
INTEGERS(int) INTEGERS(int2) INTEGERS(int4) INTEGERS(uint) INTEGERS(uint2) INTEGERS(uint4)

enum class mem_flags { mem_none, mem_device, mem_threadgroup };
void threadgroup_barrier(mem_flags);
void simdgroup_barrier(mem_flags);
#define REDUCTIONS(T) T simd_sum(T); T simd_max(T); T simd_min(T);
REDUCTIONS(float) REDUCTIONS(int) REDUCTIONS(uint)
#define SHUFFLES(T) T simd_shuffle(T, ushort); T simd_shuffle_xor(T, ushort);
SHUFFLES(float) SHUFFLES(half) SHUFFLES(int) SHUFFLES(uint) SHUFFLES(ushort) SHUFFLES(char) SHUFFLES(uchar)
#undef FLOATS
#undef FUNCTIONS
#undef SIMPLE
#undef INTEGERS
#undef REDUCTIONS
#undef SHUFFLES

template <class T, int R, int C> struct simdgroup_matrix {
    static_assert(R == 8 && C == 8, "fragments are 8×8");
    __private T* thread_elements() __private;
    const __private T* thread_elements() const __private;
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;
template <class T, int R, int C> simdgroup_matrix<T, R, C> make_filled_simdgroup_matrix(T);
#define MEMORY(space)                                                                                             \
    template <class T> void simdgroup_load(__private simdgroup_matrix<T, 8, 8>&, const space T*, ulong, ulong2 = 0, \
                                           bool = false);                                                         \
    template <class T> void simdgroup_store(const __private simdgroup_matrix<T, 8, 8>&, space T*, ulong, ulong2 = 0, \
                                            bool = false);
MEMORY(__global)
MEMORY(__local)
#undef MEMORY
template <class A, class B>
void simdgroup_multiply_accumulate(__private simdgroup_float8x8&, const __private simdgroup_matrix<A, 8, 8>&,
                                   const __private simdgroup_matrix<B, 8, 8>&, const __private simdgroup_float8x8&);

struct tensor_inline {};
template <class I, int... N> struct extents {};
template <int N> struct execution_simdgroups {};
template <class T, class Extents, class Kind> struct tensor {
    tensor(T*, Extents) __private;
};
template <class T> struct cooperative_tensor {
    ushort get_capacity() const __private;
    bool is_valid_element(ushort) const __private;
    __private T& operator[](ushort) __private;
    template <int C, int R>
    void store(__private tensor<__local T, extents<int, C, R>, tensor_inline>&) const __private;
};

}  // namespace metal

// A class in Metal, whose constants are arguments of templates; here the name of a class and of a function.
namespace mpp {
namespace tensor_ops {
struct matmul2d_descriptor {
    enum class mode { multiply, multiply_accumulate };
};
constexpr int matmul2d_descriptor(int m, int n, int, bool, bool, bool, enum matmul2d_descriptor::mode) {
    return m * 1024 + n;
}
template <int Descriptor, class Scope> struct matmul2d {
    template <class Left, class Right, class T>
    metal::cooperative_tensor<T> get_destination_cooperative_tensor() const __private;
    template <class L, class R, int C, int K, int N>
    void run(__private metal::tensor<__local L, metal::extents<int, K, N>, metal::tensor_inline>&,
             __private metal::tensor<__local R, metal::extents<int, C, K>, metal::tensor_inline>&,
             __private metal::cooperative_tensor<float>&) const __private;
};
}  // namespace tensor_ops
}  // namespace mpp

#define device __global
#define constant __constant const
#define threadgroup __local
#define thread __private
#define kernel __kernel
