// Numbers as the language means them: f32 operations rounded once, functions computed in double and rounded once,
// narrow floats for storage only.
#pragma once

namespace shim {

template <class To, class From> static inline To bits(const From& from) {
    static_assert(sizeof(To) == sizeof(From), "sizes differ");
    To to;
    __builtin_memcpy((void*)&to, (const void*)&from, sizeof(To));
    return to;
}

#define SHIM_FUNCTION(name, value) \
    static inline float name(float x) { return (float)(value); }
SHIM_FUNCTION(f_rsqrt, 1.0 / __builtin_sqrt((double)x))
SHIM_FUNCTION(f_exp, __builtin_exp((double)x))
SHIM_FUNCTION(f_exp2, __builtin_exp2((double)x))
SHIM_FUNCTION(f_log, __builtin_log((double)x))
SHIM_FUNCTION(f_sin, __builtin_sin((double)x))
SHIM_FUNCTION(f_cos, __builtin_cos((double)x))
SHIM_FUNCTION(f_tanh, __builtin_tanh((double)x))
SHIM_FUNCTION(f_sqrt, __builtin_sqrtf(x))
SHIM_FUNCTION(f_abs, __builtin_fabsf(x))
SHIM_FUNCTION(f_floor, __builtin_floorf(x))
#undef SHIM_FUNCTION

static inline float half_to_float(unsigned short h) {
    const unsigned sign = (h & 0x8000u) << 16, exponent = h >> 10 & 31u, fraction = h & 0x3ffu;
    if (exponent == 31) return bits<float>(sign | 0x7f800000u | fraction << 13);
    if (exponent != 0) return bits<float>(sign | (exponent + 112) << 23 | fraction << 13);
    const float small = (float)fraction * 0x1p-24f;
    return sign ? -small : small;
}

// To nearest even: the sum with a power of two rounds away what a half does not hold.
static inline unsigned short float_to_half(float f) {
    const unsigned word = bits<unsigned>(f), sign = word >> 16 & 0x8000u, size = word & 0x7fffffffu;
    if (size > 0x7f800000u) return (unsigned short)(sign | 0x7e00u);
    if (size >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
    if (size < 0x38800000u) {
        return (unsigned short)(sign | (bits<unsigned>(bits<float>(size) + 0.5f) - 0x3f000000u));
    }
    return (unsigned short)(sign | (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13);
}

static inline float brain_to_float(unsigned short b) { return bits<float>((unsigned)b << 16); }

static inline unsigned short float_to_brain(float f) {
    const unsigned word = bits<unsigned>(f);
    if ((word & 0x7fffffffu) > 0x7f800000u) return (unsigned short)(word >> 16 | 0x40u);
    return (unsigned short)((word + 0x7fffu + (word >> 16 & 1u)) >> 16);
}

}  // namespace shim
