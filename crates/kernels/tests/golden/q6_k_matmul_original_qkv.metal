#include <metal_stdlib>
#include <metal_simdgroup_matrix>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(128)]]
kernel void q6_k_matmul_original_qkv(
    device const float* a [[buffer(0)]],
    device const uint* weights [[buffer(1)]],
    device const uchar* weights_tops [[buffer(2)]],
    device const char* weights_scales [[buffer(3)]],
    device const half* weights_steps [[buffer(4)]],
    device float* out [[buffer(5)]],
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
            const half v30 = weights_steps[v28];
            const float v31 = float(v30);
            const int v32 = v25 / 16;
            const char v33 = weights_scales[v28 * 4 + v32];
            const float v34 = float(v33);
            const float v35 = v31 * v34;
            const int v36 = v25 / 4;
            const uchar v37 = weights_tops[v28 * 16 + v36];
            const uint v38 = uint(v37);
            const int v39 = v25 % 4;
            const int v40 = v39 * 2;
            const uint v41 = uint(v40);
            const uint v42 = v38 >> v41;
            const int v43 = v25 / 8;
            const uint v44 = weights[v28 * 8 + v43];
            const int v45 = v25 % 8;
            const int v46 = v45 * 4;
            const uint v47 = uint(v46);
            const uint v48 = v44 >> v47;
            const uint v49 = v48 & 15u;
            const uint v50 = v42 & 3u;
            const uint v51 = v50 << 4u;
            const uint v52 = v49 | v51;
            const float v53 = float(v52);
            const float v54 = v53 - 32.0f;
            const float v55 = v54 * v35;
            tiles[v23 * 32 + v24 + 1024] = v55;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_float8x8 v56 = v7;
        simdgroup_float8x8 v57 = v8;
        simdgroup_float8x8 v58 = v9;
        simdgroup_float8x8 v59 = v10;
        for (int v60 = 0; v60 < 32; v60 += 8) {
            simdgroup_float8x8 v65;
            simdgroup_load(v65, tiles + v5 * 32 + v60 + 1024, 32, ulong2(0, 0), true);
            const int v66 = v5 + 8;
            simdgroup_float8x8 v67;
            simdgroup_load(v67, tiles + v66 * 32 + v60 + 1024, 32, ulong2(0, 0), true);
            simdgroup_float8x8 v68;
            simdgroup_load(v68, tiles + v3 * 32 + v60, 32);
            simdgroup_float8x8 v69;
            simdgroup_multiply_accumulate(v69, v68, v65, v56);
            simdgroup_float8x8 v70;
            simdgroup_multiply_accumulate(v70, v68, v67, v57);
            const int v71 = v3 + 8;
            simdgroup_float8x8 v72;
            simdgroup_load(v72, tiles + v71 * 32 + v60, 32);
            simdgroup_float8x8 v73;
            simdgroup_multiply_accumulate(v73, v72, v65, v58);
            simdgroup_float8x8 v74;
            simdgroup_multiply_accumulate(v74, v72, v67, v59);
            v56 = v69;
            v57 = v70;
            v58 = v73;
            v59 = v74;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v7 = v56;
        v8 = v57;
        v9 = v58;
        v10 = v59;
    }
    simdgroup_store(v7, tiles + v3 * 32 + v5, 32);
    const int v75 = v5 + 8;
    simdgroup_store(v8, tiles + v3 * 32 + v75, 32);
    const int v76 = v3 + 8;
    simdgroup_store(v9, tiles + v76 * 32 + v5, 32);
    simdgroup_store(v10, tiles + v76 * 32 + v75, 32);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int v77 = thread_index; v77 < 256; v77 += 128) {
        const int v78 = v77 / 8;
        const int v79 = v77 % 8;
        const int v80 = v79 * 4;
        const int v81 = v0 + v78;
        const int v82 = v1 + v80;
        const float4 v83 = *(threadgroup const float4*)(tiles + v78 * 32 + v80);
        *(device float4*)(out + v81 * 256 + v82) = v83;
    }
}
