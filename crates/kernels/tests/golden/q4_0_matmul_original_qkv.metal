#include <metal_stdlib>
#include <metal_simdgroup_matrix>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(128)]]
kernel void q4_0_matmul_original_qkv(
    device const float* a [[buffer(0)]],
    device const uint* weights [[buffer(1)]],
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
            const int v32 = v25 / 8;
            const uint v33 = weights[v28 * 8 + v32];
            const int v34 = v25 % 8;
            const int v35 = v34 * 4;
            const uint v36 = uint(v35);
            const uint v37 = v33 >> v36;
            const uint v38 = v37 & 15u;
            const float v39 = float(v38);
            const float v40 = v39 - 8.0f;
            const float v41 = v40 * v31;
            tiles[v23 * 32 + v24 + 1024] = v41;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_float8x8 v42 = v7;
        simdgroup_float8x8 v43 = v8;
        simdgroup_float8x8 v44 = v9;
        simdgroup_float8x8 v45 = v10;
        for (int v46 = 0; v46 < 32; v46 += 8) {
            simdgroup_float8x8 v51;
            simdgroup_load(v51, tiles + v5 * 32 + v46 + 1024, 32, ulong2(0, 0), true);
            const int v52 = v5 + 8;
            simdgroup_float8x8 v53;
            simdgroup_load(v53, tiles + v52 * 32 + v46 + 1024, 32, ulong2(0, 0), true);
            simdgroup_float8x8 v54;
            simdgroup_load(v54, tiles + v3 * 32 + v46, 32);
            simdgroup_float8x8 v55;
            simdgroup_multiply_accumulate(v55, v54, v51, v42);
            simdgroup_float8x8 v56;
            simdgroup_multiply_accumulate(v56, v54, v53, v43);
            const int v57 = v3 + 8;
            simdgroup_float8x8 v58;
            simdgroup_load(v58, tiles + v57 * 32 + v46, 32);
            simdgroup_float8x8 v59;
            simdgroup_multiply_accumulate(v59, v58, v51, v44);
            simdgroup_float8x8 v60;
            simdgroup_multiply_accumulate(v60, v58, v53, v45);
            v42 = v55;
            v43 = v56;
            v44 = v59;
            v45 = v60;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v7 = v42;
        v8 = v43;
        v9 = v44;
        v10 = v45;
    }
    simdgroup_store(v7, tiles + v3 * 32 + v5, 32);
    const int v61 = v5 + 8;
    simdgroup_store(v8, tiles + v3 * 32 + v61, 32);
    const int v62 = v3 + 8;
    simdgroup_store(v9, tiles + v62 * 32 + v5, 32);
    simdgroup_store(v10, tiles + v62 * 32 + v61, 32);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int v63 = thread_index; v63 < 256; v63 += 128) {
        const int v64 = v63 / 8;
        const int v65 = v63 % 8;
        const int v66 = v65 * 4;
        const int v67 = v0 + v64;
        const int v68 = v1 + v66;
        const float4 v69 = *(threadgroup const float4*)(tiles + v64 * 32 + v66);
        *(device float4*)(out + v67 * 256 + v68) = v69;
    }
}
