#include <metal_stdlib>
#include <metal_simdgroup_matrix>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(128)]]
kernel void pairs_matmul_original_qkv(
    device const float* a [[buffer(0)]],
    device const uint* weights [[buffer(1)]],
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
            const int v29 = v25 / 2;
            const uint v30 = weights[v28 * 32 + v29];
            const uint v31 = v30 << 16u;
            const float v32 = as_type<float>(v31);
            const uint v33 = v30 & 4294901760u;
            const float v34 = as_type<float>(v33);
            const int v35 = v25 % 2;
            const bool v36 = v35 == 0;
            const float v37 = v36 ? v32 : v34;
            tiles[v23 * 32 + v24 + 1024] = v37;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_float8x8 v38 = v7;
        simdgroup_float8x8 v39 = v8;
        simdgroup_float8x8 v40 = v9;
        simdgroup_float8x8 v41 = v10;
        for (int v42 = 0; v42 < 32; v42 += 8) {
            simdgroup_float8x8 v47;
            simdgroup_load(v47, tiles + v5 * 32 + v42 + 1024, 32, ulong2(0, 0), true);
            const int v48 = v5 + 8;
            simdgroup_float8x8 v49;
            simdgroup_load(v49, tiles + v48 * 32 + v42 + 1024, 32, ulong2(0, 0), true);
            simdgroup_float8x8 v50;
            simdgroup_load(v50, tiles + v3 * 32 + v42, 32);
            simdgroup_float8x8 v51;
            simdgroup_multiply_accumulate(v51, v50, v47, v38);
            simdgroup_float8x8 v52;
            simdgroup_multiply_accumulate(v52, v50, v49, v39);
            const int v53 = v3 + 8;
            simdgroup_float8x8 v54;
            simdgroup_load(v54, tiles + v53 * 32 + v42, 32);
            simdgroup_float8x8 v55;
            simdgroup_multiply_accumulate(v55, v54, v47, v40);
            simdgroup_float8x8 v56;
            simdgroup_multiply_accumulate(v56, v54, v49, v41);
            v38 = v51;
            v39 = v52;
            v40 = v55;
            v41 = v56;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v7 = v38;
        v8 = v39;
        v9 = v40;
        v10 = v41;
    }
    simdgroup_store(v7, tiles + v3 * 32 + v5, 32);
    const int v57 = v5 + 8;
    simdgroup_store(v8, tiles + v3 * 32 + v57, 32);
    const int v58 = v3 + 8;
    simdgroup_store(v9, tiles + v58 * 32 + v5, 32);
    simdgroup_store(v10, tiles + v58 * 32 + v57, 32);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int v59 = thread_index; v59 < 256; v59 += 128) {
        const int v60 = v59 / 8;
        const int v61 = v59 % 8;
        const int v62 = v61 * 4;
        const int v63 = v0 + v60;
        const int v64 = v1 + v62;
        const float4 v65 = *(threadgroup const float4*)(tiles + v60 * 32 + v62);
        *(device float4*)(out + v63 * 256 + v64) = v65;
    }
}
