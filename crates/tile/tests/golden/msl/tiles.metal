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
kernel void tiles(
    device const float* a [[buffer(0)]],
    device const float* b [[buffer(1)]],
    device float* c [[buffer(2)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]]
) {
    const int group_x = int(group_position.x);
    const int group_y = int(group_position.y);
    const int thread_index = int(thread_position);
    alignas(16) threadgroup float factors[8192];
    const int v0 = group_y * 64;
    const int v1 = group_x * 64;
    auto v2 = tile_product().get_destination_cooperative_tensor<tile_factor, tile_factor, float>();
    for (ushort e = 0; e < v2.get_capacity(); e++) {
        if (v2.is_valid_element(e)) v2[e] = 0.0f;
    }
    for (int v4 = 0; v4 < 72; v4 += 64) {
        for (int v6 = thread_index; v6 < 4096; v6 += 128) {
            const int v7 = v6 / 64;
            const int v8 = v6 % 64;
            const int v9 = v0 + v7;
            const int v10 = v4 + v8;
            const float v11 = v9 < 70 && v10 < 72 ? a[v9 * 72 + v10] : 0.0f;
            factors[v7 * 64 + v8] = v11;
            const int v12 = v4 + v7;
            const int v13 = v1 + v8;
            const float v14 = v12 < 72 && v13 < 68 ? b[v12 * 68 + v13] : 0.0f;
            factors[v7 * 64 + v8 + 4096] = v14;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        {
            tile_factor tile_left(factors, extents<int, 64, 64>()), tile_right(factors + 4096, extents<int, 64, 64>());
            tile_product().run(tile_left, tile_right, v2);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    {
        tile_result tile_to(factors, extents<int, 64, 64>());
        v2.store(tile_to);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int v16 = thread_index; v16 < 4096; v16 += 128) {
        const int v17 = v16 / 64;
        const int v18 = v0 + v17;
        const int v19 = v16 % 64;
        const int v20 = v1 + v19;
        const float v21 = factors[v17 * 64 + v19];
        if (v18 < 70 && v20 < 68) c[v18 * 68 + v20] = v21;
    }
}
