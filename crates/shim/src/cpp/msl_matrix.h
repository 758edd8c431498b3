// 8×8 fragments. Lane `l` holds row `l / 4`, columns `l % 4 * 2` and the next; no text may rely on it.
#pragma once

namespace metal {

template <class T, int R, int C> struct simdgroup_matrix {
    static_assert(R == 8 && C == 8, "fragments are 8×8");
    T element[2];
    simdgroup_matrix() = default;
    T* thread_elements() { return element; }
    const T* thread_elements() const { return element; }
    static int row() { return shim::lane() / 4; }
    static int column() { return shim::lane() % 4 * 2; }
};

typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;

template <class T, int R, int C> static inline simdgroup_matrix<T, R, C> make_filled_simdgroup_matrix(T value) {
    simdgroup_matrix<T, R, C> filled;
    filled.element[0] = filled.element[1] = value;
    return filled;
}

// Loads and stores are no meetings: lanes that read what others wrote need a barrier, as on a device.
template <class T>
static inline void simdgroup_load(simdgroup_matrix<T, 8, 8>& to, const T* from, ulong stride, ulong2 origin = ulong2(0, 0),
                                  bool transposed = false) {
    from += origin.y * stride + origin.x;
    for (int n = 0; n < 2; n++) {
        const int row = to.row(), column = to.column() + n;
        to.element[n] = transposed ? from[column * stride + row] : from[row * stride + column];
    }
}

template <class T>
static inline void simdgroup_store(const simdgroup_matrix<T, 8, 8>& from, T* to, ulong stride) {
    for (int n = 0; n < 2; n++) to[from.row() * stride + from.column() + n] = from.element[n];
}

// The inner index ascending, each product fused.
template <class A, class B>
static inline void simdgroup_multiply_accumulate(simdgroup_float8x8& d, const simdgroup_matrix<A, 8, 8>& a,
                                                 const simdgroup_matrix<B, 8, 8>& b, const simdgroup_float8x8& c,
                                                 int line = __builtin_LINE()) {
    struct Pair {
        float a[2], b[2];
    };
    const Pair mine = {{float(a.element[0]), float(a.element[1])}, {float(b.element[0]), float(b.element[1])}};
    const shim::Shown<Pair> shown = shim::show(mine, line);
    const int row = d.row(), column = d.column();
    float sum[2] = {c.element[0], c.element[1]};
    for (int inner = 0; inner < 8; inner++) {
        const float left = shown.of(row * 4 + inner / 2).a[inner % 2];
        const Pair right = shown.of(inner * 4 + column / 2);
        for (int n = 0; n < 2; n++) sum[n] = __builtin_fmaf(left, right.b[n], sum[n]);
    }
    d.element[0] = sum[0];
    d.element[1] = sum[1];
}

}  // namespace metal
