#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

typedef mpp::tensor_ops::matmul2d<
    mpp::tensor_ops::matmul2d_descriptor(64, 64, 64, false, false, false, mpp::tensor_ops::matmul2d_descriptor::mode::multiply_accumulate),
    execution_simdgroups<4>> tile_product;
typedef tensor<threadgroup float, extents<int, 64, 64>, tensor_inline> tile_factor;
typedef tensor<threadgroup float, extents<int, 64, 64>, tensor_inline> tile_result;

[[max_total_threads_per_threadgroup(128)]]
kernel void filled_tile(
    device float* y [[buffer(0)]],
    uint thread_position [[thread_index_in_threadgroup]]
) {
    const int thread_index = int(thread_position);
    alignas(16) threadgroup float tile[4096];
    auto v0 = tile_product().get_destination_cooperative_tensor<tile_factor, tile_factor, float>();
    for (ushort e = 0; e < v0.get_capacity(); e++) {
        if (v0.is_valid_element(e)) v0[e] = 2.5f;
    }
    {
        tile_result tile_to(tile, extents<int, 64, 64>());
        v0.store(tile_to);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int v1 = thread_index; v1 < 4096; v1 += 128) {
        const int v2 = v1 / 64;
        const int v3 = v1 % 64;
        const float v4 = tile[v2 * 64 + v3];
        y[v2 * 64 + v3] = v4;
    }
}
