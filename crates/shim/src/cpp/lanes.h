// Lanes of a SIMD group showing each other values. A line number is the meeting's identity.
#pragma once

#include "fibers.h"

namespace shim {

template <class T> static inline T take(const u8* bytes) {
    T value;
    __builtin_memcpy((void*)&value, bytes, sizeof(T));
    return value;
}

// What the lanes of my SIMD group showed.
template <class T> struct Shown {
    int base;
    u32 turn;
    T of(int lane) const { return take<T>(state.slot[base + lane].bytes[turn]); }
};

// Shows `value`; returns when all lanes have shown theirs.
template <class T> static inline Shown<T> show(const T& value, int line) {
    static_assert(sizeof(T) <= 32, "a slot has 32 bytes");
    const int me = state.current;
    const u32 turn = state.fiber[me].turn++ & 1;
    __builtin_memcpy(state.slot[me].bytes[turn], (const void*)&value, sizeof(T));
    meet(SIMD, line);
    return Shown<T>{me - me % LANES, turn};
}

template <class T> static inline T from_lane(T value, u32 source, int line) {
    if (source >= (u32)LANES) fail("a lane from 32 on is asked for", line, source, line);
    return show(value, line).of(source);
}

// All lanes combined, 16 apart first, by the lane that resumes first.
template <class T, class F> static inline T combine(T value, int line, F f) {
    const Shown<T> shown = show(value, line);
    u8* result = state.result[simd_group()].bytes[shown.turn];
    if (state.current == first_of(SIMD)) {
        T tree[LANES];
        for (int n = 0; n < LANES; n++) tree[n] = shown.of(n);
        for (int apart = LANES / 2; apart > 0; apart /= 2) {
            for (int n = 0; n < apart; n++) tree[n] = f(tree[n], tree[n + apart]);
        }
        __builtin_memcpy(result, tree, sizeof(T));
    }
    return take<T>(result);
}

}  // namespace shim
