#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

typedef mpp::tensor_ops::matmul2d<
    mpp::tensor_ops::matmul2d_descriptor(64, 64, 64, false, true, false, mpp::tensor_ops::matmul2d_descriptor::mode::multiply_accumulate),
    execution_simdgroups<4>> tile_product;
typedef tensor<threadgroup float, extents<int, 64, 64>, tensor_inline> tile_factor;
typedef tensor<threadgroup float, extents<int, 64, 64>, tensor_inline> tile_result;

[[max_total_threads_per_threadgroup(128)]]
kernel void int8_matmul_tensor_qkv(
    device const float* a [[buffer(0)]],
    device const char* weights [[buffer(1)]],
    device const bfloat* weights_scales [[buffer(2)]],
    device float* out [[buffer(3)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]]
) {
    const int group_x = int(group_position.x);
    const int thread_index = int(thread_position);
    alignas(16) threadgroup float tiles[8192];
    const int v1 = group_x * 64;
    auto v2 = tile_product().get_destination_cooperative_tensor<tile_factor, tile_factor, float>();
    for (ushort e = 0; e < v2.get_capacity(); e++) {
        if (v2.is_valid_element(e)) v2[e] = 0.0f;
    }
    for (int v4 = 0; v4 < 64; v4 += 64) {
        for (int v6 = thread_index; v6 < 1024; v6 += 128) {
            const int v7 = v6 / 16;
            const int v8 = v6 % 16;
            const int v9 = v8 * 4;
            const int v11 = v4 + v9;
            const float4 v12 = *(device const float4*)(a + v7 * 64 + v11);
            *(threadgroup float4*)(tiles + v7 * 64 + v9) = v12;
        }
        for (int v13 = thread_index; v13 < 1024; v13 += 128) {
            const int v14 = v13 / 16;
            const int v15 = v13 % 16;
            const int v16 = v15 * 4;
            const int v17 = v4 + v16;
            const int v19 = v14 % 64;
            const int v20 = v1 + v19;
            const bfloat v22 = weights_scales[v20];
            const float v23 = float(v22);
            const char4 v24 = *(device const char4*)(weights + v20 * 64 + v17);
            const float4 v25 = float4(v24);
            const float4 v26 = float4(v23);
            const float4 v27 = v25 * v26;
            *(threadgroup float4*)(tiles + v14 * 64 + v16 + 4096) = v27;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        {
            tile_factor tile_left(tiles, extents<int, 64, 64>()), tile_right(tiles + 4096, extents<int, 64, 64>());
            tile_product().run(tile_left, tile_right, v2);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    {
        tile_result tile_to(tiles, extents<int, 64, 64>());
        v2.store(tile_to);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int v29 = thread_index; v29 < 1024; v29 += 128) {
        const int v30 = v29 / 16;
        const int v31 = v29 % 16;
        const int v32 = v31 * 4;
        const int v34 = v1 + v32;
        const float4 v35 = *(threadgroup const float4*)(tiles + v30 * 64 + v32);
        *(device float4*)(out + v30 * 256 + v34) = v35;
    }
}
