#include <metal_stdlib>
#include <metal_simdgroup_matrix>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(128)]]
kernel void gemm(
    device const float* a [[buffer(0)]],
    device const float* b [[buffer(1)]],
    device float* c [[buffer(2)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int group_x = int(group_position.x);
    const int group_y = int(group_position.y);
    const int thread_index = int(thread_position);
    const int simd_group = int(simd_group_index);
    const int lane = int(lane_index);
    threadgroup float tile_a[512];
    threadgroup float tile_b[512];
    threadgroup float edge[256];
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
    for (int v11 = 0; v11 < 48; v11 += 16) {
        for (int v16 = thread_index; v16 < 512; v16 += 128) {
            const int v17 = v16 / 16;
            const int v18 = v16 % 16;
            const int v19 = v0 + v17;
            const int v20 = v11 + v18;
            const float v21 = v19 < 40 ? a[v19 * 48 + v20] : 0.0f;
            tile_a[v17 * 16 + v18] = v21;
            const int v22 = v16 / 32;
            const int v23 = v16 % 32;
            const int v24 = v11 + v22;
            const int v25 = v1 + v23;
            const float v26 = b[v24 * 64 + v25];
            tile_b[v22 * 32 + v23] = v26;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_float8x8 v27;
        simdgroup_load(v27, tile_a + v3 * 16, 16);
        simdgroup_float8x8 v28;
        simdgroup_load(v28, tile_b + v5, 32);
        simdgroup_float8x8 v29;
        simdgroup_multiply_accumulate(v29, v27, v28, v7);
        const int v30 = v5 + 8;
        simdgroup_float8x8 v31;
        simdgroup_load(v31, tile_b + v30, 32);
        simdgroup_float8x8 v32;
        simdgroup_multiply_accumulate(v32, v27, v31, v8);
        const int v33 = v3 + 8;
        simdgroup_float8x8 v34;
        simdgroup_load(v34, tile_a + v33 * 16, 16);
        simdgroup_float8x8 v35;
        simdgroup_load(v35, tile_b + v5, 32);
        simdgroup_float8x8 v36;
        simdgroup_multiply_accumulate(v36, v34, v35, v9);
        simdgroup_float8x8 v37;
        simdgroup_load(v37, tile_b + v30, 32);
        simdgroup_float8x8 v38;
        simdgroup_multiply_accumulate(v38, v34, v37, v10);
        simdgroup_float8x8 v39;
        simdgroup_load(v39, tile_a + v3 * 16 + 8, 16);
        simdgroup_float8x8 v40;
        simdgroup_load(v40, tile_b + v5 + 256, 32);
        simdgroup_float8x8 v41;
        simdgroup_multiply_accumulate(v41, v39, v40, v29);
        simdgroup_float8x8 v42;
        simdgroup_load(v42, tile_b + v30 + 256, 32);
        simdgroup_float8x8 v43;
        simdgroup_multiply_accumulate(v43, v39, v42, v32);
        simdgroup_float8x8 v44;
        simdgroup_load(v44, tile_a + v33 * 16 + 8, 16);
        simdgroup_float8x8 v45;
        simdgroup_load(v45, tile_b + v5 + 256, 32);
        simdgroup_float8x8 v46;
        simdgroup_multiply_accumulate(v46, v44, v45, v36);
        simdgroup_float8x8 v47;
        simdgroup_load(v47, tile_b + v30 + 256, 32);
        simdgroup_float8x8 v48;
        simdgroup_multiply_accumulate(v48, v44, v47, v38);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v7 = v41;
        v8 = v43;
        v9 = v46;
        v10 = v48;
    }
    const int v49 = v0 + v3;
    const int v50 = v1 + v5;
    if (v49 < 33) {
        simdgroup_store(v7, c + v49 * 64 + v50, 64);
    } else {
        simdgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_store(v7, edge + simd_group * 64, 8);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (int e = lane; e < 64; e += 32) {
            if ((v49 + e / 8) < 40) c[(v49 + e / 8) * 64 + (v50 + e % 8)] = (edge + simd_group * 64)[e];
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
    const int v51 = v50 + 8;
    if (v49 < 33) {
        simdgroup_store(v8, c + v49 * 64 + v51, 64);
    } else {
        simdgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_store(v8, edge + simd_group * 64, 8);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (int e = lane; e < 64; e += 32) {
            if ((v49 + e / 8) < 40) c[(v49 + e / 8) * 64 + (v51 + e % 8)] = (edge + simd_group * 64)[e];
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
    const int v52 = v49 + 8;
    if (v52 < 33) {
        simdgroup_store(v9, c + v52 * 64 + v50, 64);
    } else {
        simdgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_store(v9, edge + simd_group * 64, 8);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (int e = lane; e < 64; e += 32) {
            if ((v52 + e / 8) < 40) c[(v52 + e / 8) * 64 + (v50 + e % 8)] = (edge + simd_group * 64)[e];
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (v52 < 33) {
        simdgroup_store(v10, c + v52 * 64 + v51, 64);
    } else {
        simdgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_store(v10, edge + simd_group * 64, 8);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (int e = lane; e < 64; e += 32) {
            if ((v52 + e / 8) < 40) c[(v52 + e / 8) * 64 + (v51 + e % 8)] = (edge + simd_group * 64)[e];
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
}
