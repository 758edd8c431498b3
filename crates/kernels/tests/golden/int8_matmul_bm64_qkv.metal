#include <metal_stdlib>
#include <metal_simdgroup_matrix>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(128)]]
kernel void int8_matmul_bm64_qkv(
    device const float* a [[buffer(0)]],
    device const char* weights [[buffer(1)]],
    device const bfloat* weights_scales [[buffer(2)]],
    device float* out [[buffer(3)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]]
) {
    const int group_x = int(group_position.x);
    const int thread_index = int(thread_position);
    const int simd_group = int(simd_group_index);
    alignas(16) threadgroup float tiles[3072];
    const int v1 = group_x * 32;
    const int v2 = simd_group / 2;
    const int v3 = v2 * 32;
    const int v4 = simd_group % 2;
    const int v5 = v4 * 16;
    const simdgroup_float8x8 v6 = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    simdgroup_float8x8 v7 = v6;
    simdgroup_float8x8 v8 = v6;
    simdgroup_float8x8 v9 = v6;
    simdgroup_float8x8 v10 = v6;
    simdgroup_float8x8 v11 = v6;
    simdgroup_float8x8 v12 = v6;
    simdgroup_float8x8 v13 = v6;
    simdgroup_float8x8 v14 = v6;
    for (int v15 = 0; v15 < 64; v15 += 32) {
        for (int v24 = thread_index; v24 < 2048; v24 += 128) {
            const int v25 = v24 / 32;
            const int v26 = v24 % 32;
            const int v28 = v15 + v26;
            const float v29 = a[v25 * 64 + v28];
            tiles[v25 * 32 + v26] = v29;
        }
        for (int v30 = thread_index; v30 < 1024; v30 += 128) {
            const int v31 = v30 / 32;
            const int v32 = v30 % 32;
            const int v33 = v15 + v32;
            const int v35 = v31 % 32;
            const int v36 = v1 + v35;
            const bfloat v38 = weights_scales[v36];
            const float v39 = float(v38);
            const char v40 = weights[v36 * 64 + v33];
            const float v41 = float(v40);
            const float v42 = v41 * v39;
            tiles[v31 * 32 + v32 + 2048] = v42;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_float8x8 v43 = v7;
        simdgroup_float8x8 v44 = v8;
        simdgroup_float8x8 v45 = v9;
        simdgroup_float8x8 v46 = v10;
        simdgroup_float8x8 v47 = v11;
        simdgroup_float8x8 v48 = v12;
        simdgroup_float8x8 v49 = v13;
        simdgroup_float8x8 v50 = v14;
        for (int v51 = 0; v51 < 32; v51 += 8) {
            simdgroup_float8x8 v60;
            simdgroup_load(v60, tiles + v5 * 32 + v51 + 2048, 32, ulong2(0, 0), true);
            const int v61 = v5 + 8;
            simdgroup_float8x8 v62;
            simdgroup_load(v62, tiles + v61 * 32 + v51 + 2048, 32, ulong2(0, 0), true);
            simdgroup_float8x8 v63;
            simdgroup_load(v63, tiles + v3 * 32 + v51, 32);
            simdgroup_float8x8 v64;
            simdgroup_multiply_accumulate(v64, v63, v60, v43);
            simdgroup_float8x8 v65;
            simdgroup_multiply_accumulate(v65, v63, v62, v44);
            const int v66 = v3 + 8;
            simdgroup_float8x8 v67;
            simdgroup_load(v67, tiles + v66 * 32 + v51, 32);
            simdgroup_float8x8 v68;
            simdgroup_multiply_accumulate(v68, v67, v60, v45);
            simdgroup_float8x8 v69;
            simdgroup_multiply_accumulate(v69, v67, v62, v46);
            const int v70 = v3 + 16;
            simdgroup_float8x8 v71;
            simdgroup_load(v71, tiles + v70 * 32 + v51, 32);
            simdgroup_float8x8 v72;
            simdgroup_multiply_accumulate(v72, v71, v60, v47);
            simdgroup_float8x8 v73;
            simdgroup_multiply_accumulate(v73, v71, v62, v48);
            const int v74 = v3 + 24;
            simdgroup_float8x8 v75;
            simdgroup_load(v75, tiles + v74 * 32 + v51, 32);
            simdgroup_float8x8 v76;
            simdgroup_multiply_accumulate(v76, v75, v60, v49);
            simdgroup_float8x8 v77;
            simdgroup_multiply_accumulate(v77, v75, v62, v50);
            v43 = v64;
            v44 = v65;
            v45 = v68;
            v46 = v69;
            v47 = v72;
            v48 = v73;
            v49 = v76;
            v50 = v77;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v7 = v43;
        v8 = v44;
        v9 = v45;
        v10 = v46;
        v11 = v47;
        v12 = v48;
        v13 = v49;
        v14 = v50;
    }
    simdgroup_store(v7, tiles + v3 * 32 + v5, 32);
    const int v78 = v5 + 8;
    simdgroup_store(v8, tiles + v3 * 32 + v78, 32);
    const int v79 = v3 + 8;
    simdgroup_store(v9, tiles + v79 * 32 + v5, 32);
    simdgroup_store(v10, tiles + v79 * 32 + v78, 32);
    const int v80 = v3 + 16;
    simdgroup_store(v11, tiles + v80 * 32 + v5, 32);
    simdgroup_store(v12, tiles + v80 * 32 + v78, 32);
    const int v81 = v3 + 24;
    simdgroup_store(v13, tiles + v81 * 32 + v5, 32);
    simdgroup_store(v14, tiles + v81 * 32 + v78, 32);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int v82 = thread_index; v82 < 512; v82 += 128) {
        const int v83 = v82 / 8;
        const int v84 = v82 % 8;
        const int v85 = v84 * 4;
        const int v87 = v1 + v85;
        const float4 v88 = *(threadgroup const float4*)(tiles + v83 * 32 + v85);
        *(device float4*)(out + v83 * 256 + v87) = v88;
    }
}
