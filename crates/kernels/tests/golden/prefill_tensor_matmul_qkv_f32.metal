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
kernel void prefill_tensor_matmul_qkv_f32(
    device const float* a [[buffer(0)]],
    device const float* b [[buffer(1)]],
    device float* c [[buffer(2)]],
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
            const int v17 = v4 + v14;
            const int v18 = v1 + v16;
            const float4 v19 = *(device const float4*)(b + v17 * 256 + v18);
            *(threadgroup float4*)(tiles + v14 * 64 + v16 + 4096) = v19;
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
    const int v21 = thread_index * 4;
    for (int v22 = v21; v22 < 4096; v22 += 512) {
        const int v23 = v22 / 64;
        const int v25 = v22 % 64;
        const int v26 = v1 + v25;
        const float v27 = tiles[v23 * 64 + v25];
        c[v23 * 256 + v26] = v27;
        const int v28 = v22 + 1;
        const int v29 = v28 / 64;
        const int v31 = v28 % 64;
        const int v32 = v1 + v31;
        const float v33 = tiles[v29 * 64 + v31];
        c[v29 * 256 + v32] = v33;
        const int v34 = v22 + 2;
        const int v35 = v34 / 64;
        const int v37 = v34 % 64;
        const int v38 = v1 + v37;
        const float v39 = tiles[v35 * 64 + v37];
        c[v35 * 256 + v38] = v39;
        const int v40 = v22 + 3;
        const int v41 = v40 / 64;
        const int v43 = v40 % 64;
        const int v44 = v1 + v43;
        const float v45 = tiles[v41 * 64 + v43];
        c[v41 * 256 + v44] = v45;
    }
}
