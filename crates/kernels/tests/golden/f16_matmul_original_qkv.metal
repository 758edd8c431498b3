#include <metal_stdlib>
#include <metal_simdgroup_matrix>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(128)]]
kernel void f16_matmul_original_qkv(
    device const float* a [[buffer(0)]],
    device const half* weights [[buffer(1)]],
    device float* out [[buffer(2)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]]
) {
    const int group_x = int(group_position.x);
    const int group_y = int(group_position.y);
    const int thread_index = int(thread_position);
    const int simd_group = int(simd_group_index);
    alignas(16) threadgroup float tiles[2048];
    const int v0 = group_y * 32;
    const int v1 = group_x * 32;
    const int v2 = simd_group / 2;
    const int v3 = v2 * 16;
    const int v4 = simd_group % 2;
    const int v5 = v4 * 16;
    const simdgroup_float8x8 v6 = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    simdgroup_float8x8 v7 = v6;
    simdgroup_float8x8 v8 = v6;
    simdgroup_float8x8 v9 = v6;
    simdgroup_float8x8 v10 = v6;
    for (int v11 = 0; v11 < 64; v11 += 32) {
        for (int v16 = thread_index; v16 < 1024; v16 += 128) {
            const int v17 = v16 / 32;
            const int v18 = v16 % 32;
            const int v19 = v0 + v17;
            const int v20 = v11 + v18;
            const float v21 = a[v19 * 64 + v20];
            tiles[v17 * 32 + v18] = v21;
        }
        for (int v22 = thread_index; v22 < 1024; v22 += 128) {
            const int v23 = v22 / 32;
            const int v24 = v22 % 32;
            const int v25 = v11 + v24;
            const int v27 = v23 % 32;
            const int v28 = v1 + v27;
            const half v29 = weights[v28 * 64 + v25];
            const float v30 = float(v29);
            tiles[v23 * 32 + v24 + 1024] = v30;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_float8x8 v31 = v7;
        simdgroup_float8x8 v32 = v8;
        simdgroup_float8x8 v33 = v9;
        simdgroup_float8x8 v34 = v10;
        for (int v35 = 0; v35 < 32; v35 += 8) {
            simdgroup_float8x8 v40;
            simdgroup_load(v40, tiles + v5 * 32 + v35 + 1024, 32, ulong2(0, 0), true);
            const int v41 = v5 + 8;
            simdgroup_float8x8 v42;
            simdgroup_load(v42, tiles + v41 * 32 + v35 + 1024, 32, ulong2(0, 0), true);
            simdgroup_float8x8 v43;
            simdgroup_load(v43, tiles + v3 * 32 + v35, 32);
            simdgroup_float8x8 v44;
            simdgroup_multiply_accumulate(v44, v43, v40, v31);
            simdgroup_float8x8 v45;
            simdgroup_multiply_accumulate(v45, v43, v42, v32);
            const int v46 = v3 + 8;
            simdgroup_float8x8 v47;
            simdgroup_load(v47, tiles + v46 * 32 + v35, 32);
            simdgroup_float8x8 v48;
            simdgroup_multiply_accumulate(v48, v47, v40, v33);
            simdgroup_float8x8 v49;
            simdgroup_multiply_accumulate(v49, v47, v42, v34);
            v31 = v44;
            v32 = v45;
            v33 = v48;
            v34 = v49;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v7 = v31;
        v8 = v32;
        v9 = v33;
        v10 = v34;
    }
    simdgroup_store(v7, tiles + v3 * 32 + v5, 32);
    const int v50 = v5 + 8;
    simdgroup_store(v8, tiles + v3 * 32 + v50, 32);
    const int v51 = v3 + 8;
    simdgroup_store(v9, tiles + v51 * 32 + v5, 32);
    simdgroup_store(v10, tiles + v51 * 32 + v50, 32);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int v52 = thread_index; v52 < 256; v52 += 128) {
        const int v53 = v52 / 8;
        const int v54 = v52 % 8;
        const int v55 = v54 * 4;
        const int v56 = v0 + v53;
        const int v57 = v1 + v55;
        const float4 v58 = *(threadgroup const float4*)(tiles + v53 * 32 + v55);
        *(device float4*)(out + v56 * 256 + v57) = v58;
    }
}
