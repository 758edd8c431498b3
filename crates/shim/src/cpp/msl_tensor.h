// The tensor operations of Metal 4, as much of them as emitted kernels use: products of 64×64 tiles of shared memory into a
// cooperative tensor of four SIMD groups. Which thread holds which element is nobody's business: here a thread has every
// 128th, from the last, and a slot that holds none. No text may rely on it.
#pragma once

namespace metal {

struct tensor_inline {};
template <class I, int... N> struct extents {};
template <int N> struct execution_simdgroups {};

template <class T, class Extents, class Kind> struct tensor;

// Columns come first, as in Metal.
template <class T> struct tensor<T, extents<int, 64, 64>, tensor_inline> {
    T* data;
    tensor(T* data, extents<int, 64, 64>) : data(data) {}
    T& at(int row, int column) { return data[row * 64 + column]; }
};

template <class T> struct cooperative_tensor {
    T element[33];
    cooperative_tensor() { __builtin_memset(element, 0xff, sizeof element); }
    ushort get_capacity() const { return 33; }
    bool is_valid_element(ushort n) const { return n != 0; }
    static int place(int n) { return 4095 - (n - 1) * 128 - shim::state.current; }
    T& operator[](ushort n) {
        if (!is_valid_element(n)) shim::fail("a slot without an element is used", 0, shim::state.current, 0);
        return element[n];
    }
    // As with fragments, no meeting: threads that read what others wrote need a barrier.
    template <class To> void store(To& to) {
        for (int n = 1; n < 33; n++) to.at(place(n) / 64, place(n) % 64) = element[n];
    }
};

}  // namespace metal

namespace mpp {
namespace tensor_ops {

// In Metal a class, whose constants are arguments of templates. C++17 has numbers there only: so the name is that of a class,
// for its modes, and of a function, which gives a number for the one kind of product that there is and a negative one for others.
struct matmul2d_descriptor {
    enum class mode { multiply, multiply_accumulate };
};
constexpr int matmul2d_descriptor(int m, int n, int k, bool transpose_left, bool transpose_right, bool relaxed,
                                  enum matmul2d_descriptor::mode mode) {
    const bool served = m == 64 && n == 64 && k == 64 && !transpose_left && !relaxed &&
                        mode == matmul2d_descriptor::mode::multiply_accumulate;
    return served ? transpose_right : -1;
}

template <int Descriptor, class Scope> struct matmul2d {
    static_assert(Descriptor >= 0 && __is_same(Scope, metal::execution_simdgroups<4>), "64×64×64 by four SIMD groups");

    template <class Left, class Right, class T> metal::cooperative_tensor<T> get_destination_cooperative_tensor() const {
        if (shim::state.launch->threads != 128) {
            shim::fail("a product of four SIMD groups needs 128 threads", 0, shim::state.current, 0);
        }
        return metal::cooperative_tensor<T>();
    }

    // The inner index ascending, each product fused.
    template <class Left, class Right>
    void run(Left& left, Right& right, metal::cooperative_tensor<float>& sums) const {
        for (int n = 1; n < 33; n++) {
            const int row = sums.place(n) / 64, column = sums.place(n) % 64;
            for (int k = 0; k < 64; k++) {
                const float factor = float(Descriptor ? right.at(column, k) : right.at(k, column));
                sums[n] = __builtin_fmaf(float(left.at(row, k)), factor, sums[n]);
            }
        }
    }
};

}  // namespace tensor_ops
}  // namespace mpp
