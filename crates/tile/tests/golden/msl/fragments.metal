#include <metal_stdlib>
#include <metal_simdgroup_matrix>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void fragments(
    device const half* a [[buffer(0)]],
    device const half* b [[buffer(1)]],
    device half* c [[buffer(2)]],
    device float* d [[buffer(3)]],
    constant int& n [[buffer(4)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int group_x = int(group_position.x);
    const int simd_group = int(simd_group_index);
    const int lane = int(lane_index);
    threadgroup half edge[128];
    threadgroup float square[128];
    const simdgroup_float8x8 v0 = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    const int v1 = simd_group * 8;
    simdgroup_float8x8 v2 = v0;
    for (int v3 = 0; v3 < 24; v3 += 8) {
        simdgroup_half8x8 v5;
        if (v3 < n - 7) {
            simdgroup_load(v5, a + group_x * 480 + v3, 24);
        } else {
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (int e = lane; e < 64; e += 32) {
                (edge + simd_group * 64)[e] = (v3 + e % 8) < n ? a[group_x * 480 + (e / 8) * 24 + (v3 + e % 8)] : half(0.0f);
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            simdgroup_load(v5, edge + simd_group * 64, 8);
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        simdgroup_half8x8 v6;
        simdgroup_load(v6, b + v3 * 16 + v1, 16);
        simdgroup_float8x8 v7;
        simdgroup_multiply_accumulate(v7, v5, v6, v2);
        v2 = v7;
    }
    simdgroup_float8x8 v8;
    v8.thread_elements()[0] = fmax(v2.thread_elements()[0], v0.thread_elements()[0]);
    v8.thread_elements()[1] = fmax(v2.thread_elements()[1], v0.thread_elements()[1]);
    simdgroup_float8x8 v9;
    v9.thread_elements()[0] = v2.thread_elements()[0] - v8.thread_elements()[0];
    v9.thread_elements()[1] = v2.thread_elements()[1] - v8.thread_elements()[1];
    const simdgroup_float8x8 v10 = make_filled_simdgroup_matrix<float, 8, 8>(0.5f);
    simdgroup_float8x8 v11;
    v11.thread_elements()[0] = v9.thread_elements()[0] * v10.thread_elements()[0];
    v11.thread_elements()[1] = v9.thread_elements()[1] * v10.thread_elements()[1];
    const bool v12 = n > 12;
    simdgroup_float8x8 v13;
    v13.thread_elements()[0] = v12 ? v11.thread_elements()[0] : v2.thread_elements()[0];
    v13.thread_elements()[1] = v12 ? v11.thread_elements()[1] : v2.thread_elements()[1];
    const float v14 = float(n);
    const simdgroup_float8x8 v15 = make_filled_simdgroup_matrix<float, 8, 8>(v14);
    simdgroup_float8x8 v16;
    v16.thread_elements()[0] = v13.thread_elements()[0] * v15.thread_elements()[0];
    v16.thread_elements()[1] = v13.thread_elements()[1] * v15.thread_elements()[1];
    simdgroup_float8x8 v17;
    v17.thread_elements()[0] = fabs(v2.thread_elements()[0]);
    v17.thread_elements()[1] = fabs(v2.thread_elements()[1]);
    const simdgroup_float8x8 v18 = make_filled_simdgroup_matrix<float, 8, 8>(1.0f);
    simdgroup_float8x8 v19;
    v19.thread_elements()[0] = v17.thread_elements()[0] + v18.thread_elements()[0];
    v19.thread_elements()[1] = v17.thread_elements()[1] + v18.thread_elements()[1];
    simdgroup_float8x8 v20;
    v20.thread_elements()[0] = v2.thread_elements()[0] / v19.thread_elements()[0];
    v20.thread_elements()[1] = v2.thread_elements()[1] / v19.thread_elements()[1];
    simdgroup_float8x8 v21;
    v21.thread_elements()[0] = v16.thread_elements()[0] + v20.thread_elements()[0];
    v21.thread_elements()[1] = v16.thread_elements()[1] + v20.thread_elements()[1];
    simdgroup_half8x8 v22;
    v22.thread_elements()[0] = half(v21.thread_elements()[0]);
    v22.thread_elements()[1] = half(v21.thread_elements()[1]);
    simdgroup_store(v22, c + group_x * 320 + v1, 16);
    simdgroup_float8x8 v23 = v0;
    for (int v24 = 0; v24 < 24; v24 += 8) {
        simdgroup_half8x8 v26;
        if (v24 < n - 7) {
            simdgroup_load(v26, a + group_x * 480 + v24 + 192, 24);
        } else {
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (int e = lane; e < 64; e += 32) {
                (edge + simd_group * 64)[e] = (v24 + e % 8) < n ? a[group_x * 480 + (8 + e / 8) * 24 + (v24 + e % 8)] : half(0.0f);
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            simdgroup_load(v26, edge + simd_group * 64, 8);
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        simdgroup_half8x8 v27;
        simdgroup_load(v27, b + v24 * 16 + v1, 16);
        simdgroup_float8x8 v28;
        simdgroup_multiply_accumulate(v28, v26, v27, v23);
        v23 = v28;
    }
    simdgroup_float8x8 v29;
    v29.thread_elements()[0] = fmax(v23.thread_elements()[0], v0.thread_elements()[0]);
    v29.thread_elements()[1] = fmax(v23.thread_elements()[1], v0.thread_elements()[1]);
    simdgroup_float8x8 v30;
    v30.thread_elements()[0] = v23.thread_elements()[0] - v29.thread_elements()[0];
    v30.thread_elements()[1] = v23.thread_elements()[1] - v29.thread_elements()[1];
    simdgroup_float8x8 v31;
    v31.thread_elements()[0] = v30.thread_elements()[0] * v10.thread_elements()[0];
    v31.thread_elements()[1] = v30.thread_elements()[1] * v10.thread_elements()[1];
    simdgroup_float8x8 v32;
    v32.thread_elements()[0] = v12 ? v31.thread_elements()[0] : v23.thread_elements()[0];
    v32.thread_elements()[1] = v12 ? v31.thread_elements()[1] : v23.thread_elements()[1];
    simdgroup_float8x8 v33;
    v33.thread_elements()[0] = v32.thread_elements()[0] * v15.thread_elements()[0];
    v33.thread_elements()[1] = v32.thread_elements()[1] * v15.thread_elements()[1];
    simdgroup_float8x8 v34;
    v34.thread_elements()[0] = fabs(v23.thread_elements()[0]);
    v34.thread_elements()[1] = fabs(v23.thread_elements()[1]);
    simdgroup_float8x8 v35;
    v35.thread_elements()[0] = v34.thread_elements()[0] + v18.thread_elements()[0];
    v35.thread_elements()[1] = v34.thread_elements()[1] + v18.thread_elements()[1];
    simdgroup_float8x8 v36;
    v36.thread_elements()[0] = v23.thread_elements()[0] / v35.thread_elements()[0];
    v36.thread_elements()[1] = v23.thread_elements()[1] / v35.thread_elements()[1];
    simdgroup_float8x8 v37;
    v37.thread_elements()[0] = v33.thread_elements()[0] + v36.thread_elements()[0];
    v37.thread_elements()[1] = v33.thread_elements()[1] + v36.thread_elements()[1];
    simdgroup_half8x8 v38;
    v38.thread_elements()[0] = half(v37.thread_elements()[0]);
    v38.thread_elements()[1] = half(v37.thread_elements()[1]);
    simdgroup_store(v38, c + group_x * 320 + v1 + 128, 16);
    simdgroup_float8x8 v39 = v0;
    for (int v40 = 0; v40 < 24; v40 += 8) {
        simdgroup_half8x8 v42;
        if (16 < 13 && v40 < n - 7) {
            simdgroup_load(v42, a + group_x * 480 + v40 + 384, 24);
        } else {
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (int e = lane; e < 64; e += 32) {
                (edge + simd_group * 64)[e] = (16 + e / 8) < 20 && (v40 + e % 8) < n ? a[group_x * 480 + (16 + e / 8) * 24 + (v40 + e % 8)] : half(0.0f);
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            simdgroup_load(v42, edge + simd_group * 64, 8);
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        simdgroup_half8x8 v43;
        simdgroup_load(v43, b + v40 * 16 + v1, 16);
        simdgroup_float8x8 v44;
        simdgroup_multiply_accumulate(v44, v42, v43, v39);
        v39 = v44;
    }
    simdgroup_float8x8 v45;
    v45.thread_elements()[0] = fmax(v39.thread_elements()[0], v0.thread_elements()[0]);
    v45.thread_elements()[1] = fmax(v39.thread_elements()[1], v0.thread_elements()[1]);
    simdgroup_float8x8 v46;
    v46.thread_elements()[0] = v39.thread_elements()[0] - v45.thread_elements()[0];
    v46.thread_elements()[1] = v39.thread_elements()[1] - v45.thread_elements()[1];
    simdgroup_float8x8 v47;
    v47.thread_elements()[0] = v46.thread_elements()[0] * v10.thread_elements()[0];
    v47.thread_elements()[1] = v46.thread_elements()[1] * v10.thread_elements()[1];
    simdgroup_float8x8 v48;
    v48.thread_elements()[0] = v12 ? v47.thread_elements()[0] : v39.thread_elements()[0];
    v48.thread_elements()[1] = v12 ? v47.thread_elements()[1] : v39.thread_elements()[1];
    simdgroup_float8x8 v49;
    v49.thread_elements()[0] = v48.thread_elements()[0] * v15.thread_elements()[0];
    v49.thread_elements()[1] = v48.thread_elements()[1] * v15.thread_elements()[1];
    simdgroup_float8x8 v50;
    v50.thread_elements()[0] = fabs(v39.thread_elements()[0]);
    v50.thread_elements()[1] = fabs(v39.thread_elements()[1]);
    simdgroup_float8x8 v51;
    v51.thread_elements()[0] = v50.thread_elements()[0] + v18.thread_elements()[0];
    v51.thread_elements()[1] = v50.thread_elements()[1] + v18.thread_elements()[1];
    simdgroup_float8x8 v52;
    v52.thread_elements()[0] = v39.thread_elements()[0] / v51.thread_elements()[0];
    v52.thread_elements()[1] = v39.thread_elements()[1] / v51.thread_elements()[1];
    simdgroup_float8x8 v53;
    v53.thread_elements()[0] = v49.thread_elements()[0] + v52.thread_elements()[0];
    v53.thread_elements()[1] = v49.thread_elements()[1] + v52.thread_elements()[1];
    simdgroup_half8x8 v54;
    v54.thread_elements()[0] = half(v53.thread_elements()[0]);
    v54.thread_elements()[1] = half(v53.thread_elements()[1]);
    if (16 < 13) {
        simdgroup_store(v54, c + group_x * 320 + v1 + 256, 16);
    } else {
        simdgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_store(v54, edge + simd_group * 64, 8);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (int e = lane; e < 64; e += 32) {
            if ((16 + e / 8) < 20) c[group_x * 320 + (16 + e / 8) * 16 + (v1 + e % 8)] = (edge + simd_group * 64)[e];
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
    simdgroup_half8x8 v55;
    simdgroup_load(v55, b + v1 + 128, 16, ulong2(0, 0), true);
    simdgroup_half8x8 v56;
    simdgroup_load(v56, b + v1 + 128, 16);
    simdgroup_float8x8 v57;
    simdgroup_multiply_accumulate(v57, v55, v56, v0);
    simdgroup_half8x8 v58;
    v58.thread_elements()[0] = half(v57.thread_elements()[0]);
    v58.thread_elements()[1] = half(v57.thread_elements()[1]);
    simdgroup_float8x8 v59;
    v59.thread_elements()[0] = float(v58.thread_elements()[0]);
    v59.thread_elements()[1] = float(v58.thread_elements()[1]);
    const simdgroup_float8x8 v60 = make_filled_simdgroup_matrix<float, 8, 8>(2.0f);
    simdgroup_float8x8 v61;
    v61.thread_elements()[0] = fma(v57.thread_elements()[0], v60.thread_elements()[0], v59.thread_elements()[0]);
    v61.thread_elements()[1] = fma(v57.thread_elements()[1], v60.thread_elements()[1], v59.thread_elements()[1]);
    simdgroup_float8x8 v62;
    v62.thread_elements()[0] = precise::exp2(v61.thread_elements()[0]);
    v62.thread_elements()[1] = precise::exp2(v61.thread_elements()[1]);
    const simdgroup_float8x8 v63 = make_filled_simdgroup_matrix<float, 8, 8>(1000.0f);
    simdgroup_float8x8 v64;
    v64.thread_elements()[0] = fmin(v62.thread_elements()[0], v63.thread_elements()[0]);
    v64.thread_elements()[1] = fmin(v62.thread_elements()[1], v63.thread_elements()[1]);
    simdgroup_store(v64, square + simd_group * 64, 8);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    const int v65 = lane / 4;
    const int v66 = lane % 4;
    const int v67 = v66 * 2;
    const int v68 = v1 + v65;
    const float v69 = square[simd_group * 64 + v65 * 8 + v67];
    d[group_x * 128 + v68 * 8 + v67] = v69;
    const int v70 = v67 + 1;
    const float v71 = square[simd_group * 64 + v65 * 8 + v70];
    d[group_x * 128 + v68 * 8 + v70] = v71;
}
