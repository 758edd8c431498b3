#include <metal_stdlib>
#include <metal_simdgroup_matrix>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(128)]]
kernel void q8_0_matmul_original_qkv(
    device const float* a [[buffer(0)]],
    device const char* weights [[buffer(1)]],
    device const half* weights_scales [[buffer(2)]],
    device float* out [[buffer(3)]],
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
            const int v29 = v25 / 32;
            const half v30 = weights_scales[v28 * 2 + v29];
            const float v31 = float(v30);
            const char v32 = weights[v28 * 64 + v25];
            const float v33 = float(v32);
            const float v34 = v33 * v31;
            tiles[v23 * 32 + v24 + 1024] = v34;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_float8x8 v35 = v7;
        simdgroup_float8x8 v36 = v8;
        simdgroup_float8x8 v37 = v9;
        simdgroup_float8x8 v38 = v10;
        for (int v39 = 0; v39 < 32; v39 += 8) {
            simdgroup_float8x8 v44;
            simdgroup_load(v44, tiles + v5 * 32 + v39 + 1024, 32, ulong2(0, 0), true);
            const int v45 = v5 + 8;
            simdgroup_float8x8 v46;
            simdgroup_load(v46, tiles + v45 * 32 + v39 + 1024, 32, ulong2(0, 0), true);
            simdgroup_float8x8 v47;
            simdgroup_load(v47, tiles + v3 * 32 + v39, 32);
            simdgroup_float8x8 v48;
            simdgroup_multiply_accumulate(v48, v47, v44, v35);
            simdgroup_float8x8 v49;
            simdgroup_multiply_accumulate(v49, v47, v46, v36);
            const int v50 = v3 + 8;
            simdgroup_float8x8 v51;
            simdgroup_load(v51, tiles + v50 * 32 + v39, 32);
            simdgroup_float8x8 v52;
            simdgroup_multiply_accumulate(v52, v51, v44, v37);
            simdgroup_float8x8 v53;
            simdgroup_multiply_accumulate(v53, v51, v46, v38);
            v35 = v48;
            v36 = v49;
            v37 = v52;
            v38 = v53;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v7 = v35;
        v8 = v36;
        v9 = v37;
        v10 = v38;
    }
    simdgroup_store(v7, tiles + v3 * 32 + v5, 32);
    const int v54 = v5 + 8;
    simdgroup_store(v8, tiles + v3 * 32 + v54, 32);
    const int v55 = v3 + 8;
    simdgroup_store(v9, tiles + v55 * 32 + v5, 32);
    simdgroup_store(v10, tiles + v55 * 32 + v54, 32);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int v56 = thread_index; v56 < 256; v56 += 128) {
        const int v57 = v56 / 8;
        const int v58 = v56 % 8;
        const int v59 = v58 * 4;
        const int v60 = v0 + v57;
        const int v61 = v1 + v59;
        const float4 v62 = *(threadgroup const float4*)(tiles + v57 * 32 + v59);
        *(device float4*)(out + v60 * 256 + v61) = v62;
    }
}
