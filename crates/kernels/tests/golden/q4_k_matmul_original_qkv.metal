#include <metal_stdlib>
#include <metal_simdgroup_matrix>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(128)]]
kernel void q4_k_matmul_original_qkv(
    device const float* a [[buffer(0)]],
    device const uchar* weights_scales [[buffer(1)]],
    device const half* weights_steps [[buffer(2)]],
    device const uint* weights [[buffer(3)]],
    device float* out [[buffer(4)]],
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
            const uchar2 v30 = *(device const uchar2*)(weights_scales + v28 * 4 + v29 * 2);
            const float2 v31 = float2(v30);
            const half2 v33 = *(device const half2*)(weights_steps + v28 * 2);
            const float2 v34 = float2(v33);
            const float2 v35 = v34 * v31;
            const int v38 = v25 / 8;
            const uint v39 = weights[v28 * 8 + v38];
            const int v40 = v25 % 8;
            const int v41 = v40 * 4;
            const uint v42 = uint(v41);
            const uint v43 = v39 >> v42;
            const uint v44 = v43 & 15u;
            const float v45 = float(v44);
            const float v46 = v45 * v35.x;
            const float v47 = v46 - v35.y;
            tiles[v23 * 32 + v24 + 1024] = v47;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_float8x8 v48 = v7;
        simdgroup_float8x8 v49 = v8;
        simdgroup_float8x8 v50 = v9;
        simdgroup_float8x8 v51 = v10;
        for (int v52 = 0; v52 < 32; v52 += 8) {
            simdgroup_float8x8 v57;
            simdgroup_load(v57, tiles + v5 * 32 + v52 + 1024, 32, ulong2(0, 0), true);
            const int v58 = v5 + 8;
            simdgroup_float8x8 v59;
            simdgroup_load(v59, tiles + v58 * 32 + v52 + 1024, 32, ulong2(0, 0), true);
            simdgroup_float8x8 v60;
            simdgroup_load(v60, tiles + v3 * 32 + v52, 32);
            simdgroup_float8x8 v61;
            simdgroup_multiply_accumulate(v61, v60, v57, v48);
            simdgroup_float8x8 v62;
            simdgroup_multiply_accumulate(v62, v60, v59, v49);
            const int v63 = v3 + 8;
            simdgroup_float8x8 v64;
            simdgroup_load(v64, tiles + v63 * 32 + v52, 32);
            simdgroup_float8x8 v65;
            simdgroup_multiply_accumulate(v65, v64, v57, v50);
            simdgroup_float8x8 v66;
            simdgroup_multiply_accumulate(v66, v64, v59, v51);
            v48 = v61;
            v49 = v62;
            v50 = v65;
            v51 = v66;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v7 = v48;
        v8 = v49;
        v9 = v50;
        v10 = v51;
    }
    simdgroup_store(v7, tiles + v3 * 32 + v5, 32);
    const int v67 = v5 + 8;
    simdgroup_store(v8, tiles + v3 * 32 + v67, 32);
    const int v68 = v3 + 8;
    simdgroup_store(v9, tiles + v68 * 32 + v5, 32);
    simdgroup_store(v10, tiles + v68 * 32 + v67, 32);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int v69 = thread_index; v69 < 256; v69 += 128) {
        const int v70 = v69 / 8;
        const int v71 = v69 % 8;
        const int v72 = v71 * 4;
        const int v73 = v0 + v70;
        const int v74 = v1 + v72;
        const float4 v75 = *(threadgroup const float4*)(tiles + v70 * 32 + v72);
        *(device float4*)(out + v73 * 256 + v74) = v75;
    }
}
