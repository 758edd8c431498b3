#include <metal_stdlib>
#include <metal_simdgroup_matrix>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(128)]]
kernel void prefill_matmul_64_qkv_f32(
    device const float* a [[buffer(0)]],
    device const float* b [[buffer(1)]],
    device float* c [[buffer(2)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]]
) {
    const int group_x = int(group_position.x);
    const int thread_index = int(thread_position);
    const int simd_group = int(simd_group_index);
    alignas(16) threadgroup float tiles[8192];
    const int v1 = group_x * 64;
    const int v2 = simd_group / 2;
    const int v3 = v2 * 32;
    const int v4 = simd_group % 2;
    const int v5 = v4 * 32;
    const simdgroup_float8x8 v6 = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    simdgroup_float8x8 v7 = v6;
    simdgroup_float8x8 v8 = v6;
    simdgroup_float8x8 v9 = v6;
    simdgroup_float8x8 v10 = v6;
    simdgroup_float8x8 v11 = v6;
    simdgroup_float8x8 v12 = v6;
    simdgroup_float8x8 v13 = v6;
    simdgroup_float8x8 v14 = v6;
    simdgroup_float8x8 v15 = v6;
    simdgroup_float8x8 v16 = v6;
    simdgroup_float8x8 v17 = v6;
    simdgroup_float8x8 v18 = v6;
    simdgroup_float8x8 v19 = v6;
    simdgroup_float8x8 v20 = v6;
    simdgroup_float8x8 v21 = v6;
    simdgroup_float8x8 v22 = v6;
    for (int v23 = 0; v23 < 64; v23 += 64) {
        for (int v40 = thread_index; v40 < 1024; v40 += 128) {
            const int v41 = v40 / 16;
            const int v42 = v40 % 16;
            const int v43 = v42 * 4;
            const int v45 = v23 + v43;
            const float4 v46 = *(device const float4*)(a + v41 * 64 + v45);
            *(threadgroup float4*)(tiles + v41 * 64 + v43) = v46;
        }
        for (int v47 = thread_index; v47 < 1024; v47 += 128) {
            const int v48 = v47 / 16;
            const int v49 = v47 % 16;
            const int v50 = v49 * 4;
            const int v51 = v23 + v48;
            const int v52 = v1 + v50;
            const float4 v53 = *(device const float4*)(b + v51 * 256 + v52);
            *(threadgroup float4*)(tiles + v48 * 64 + v50 + 4096) = v53;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_float8x8 v54 = v7;
        simdgroup_float8x8 v55 = v8;
        simdgroup_float8x8 v56 = v9;
        simdgroup_float8x8 v57 = v10;
        simdgroup_float8x8 v58 = v11;
        simdgroup_float8x8 v59 = v12;
        simdgroup_float8x8 v60 = v13;
        simdgroup_float8x8 v61 = v14;
        simdgroup_float8x8 v62 = v15;
        simdgroup_float8x8 v63 = v16;
        simdgroup_float8x8 v64 = v17;
        simdgroup_float8x8 v65 = v18;
        simdgroup_float8x8 v66 = v19;
        simdgroup_float8x8 v67 = v20;
        simdgroup_float8x8 v68 = v21;
        simdgroup_float8x8 v69 = v22;
        for (int v70 = 0; v70 < 64; v70 += 8) {
            simdgroup_float8x8 v87;
            simdgroup_load(v87, tiles + v70 * 64 + v5 + 4096, 64);
            const int v88 = v5 + 8;
            simdgroup_float8x8 v89;
            simdgroup_load(v89, tiles + v70 * 64 + v88 + 4096, 64);
            const int v90 = v5 + 16;
            simdgroup_float8x8 v91;
            simdgroup_load(v91, tiles + v70 * 64 + v90 + 4096, 64);
            const int v92 = v5 + 24;
            simdgroup_float8x8 v93;
            simdgroup_load(v93, tiles + v70 * 64 + v92 + 4096, 64);
            simdgroup_float8x8 v94;
            simdgroup_load(v94, tiles + v3 * 64 + v70, 64);
            simdgroup_float8x8 v95;
            simdgroup_multiply_accumulate(v95, v94, v87, v54);
            simdgroup_float8x8 v96;
            simdgroup_multiply_accumulate(v96, v94, v89, v55);
            simdgroup_float8x8 v97;
            simdgroup_multiply_accumulate(v97, v94, v91, v56);
            simdgroup_float8x8 v98;
            simdgroup_multiply_accumulate(v98, v94, v93, v57);
            const int v99 = v3 + 8;
            simdgroup_float8x8 v100;
            simdgroup_load(v100, tiles + v99 * 64 + v70, 64);
            simdgroup_float8x8 v101;
            simdgroup_multiply_accumulate(v101, v100, v87, v58);
            simdgroup_float8x8 v102;
            simdgroup_multiply_accumulate(v102, v100, v89, v59);
            simdgroup_float8x8 v103;
            simdgroup_multiply_accumulate(v103, v100, v91, v60);
            simdgroup_float8x8 v104;
            simdgroup_multiply_accumulate(v104, v100, v93, v61);
            const int v105 = v3 + 16;
            simdgroup_float8x8 v106;
            simdgroup_load(v106, tiles + v105 * 64 + v70, 64);
            simdgroup_float8x8 v107;
            simdgroup_multiply_accumulate(v107, v106, v87, v62);
            simdgroup_float8x8 v108;
            simdgroup_multiply_accumulate(v108, v106, v89, v63);
            simdgroup_float8x8 v109;
            simdgroup_multiply_accumulate(v109, v106, v91, v64);
            simdgroup_float8x8 v110;
            simdgroup_multiply_accumulate(v110, v106, v93, v65);
            const int v111 = v3 + 24;
            simdgroup_float8x8 v112;
            simdgroup_load(v112, tiles + v111 * 64 + v70, 64);
            simdgroup_float8x8 v113;
            simdgroup_multiply_accumulate(v113, v112, v87, v66);
            simdgroup_float8x8 v114;
            simdgroup_multiply_accumulate(v114, v112, v89, v67);
            simdgroup_float8x8 v115;
            simdgroup_multiply_accumulate(v115, v112, v91, v68);
            simdgroup_float8x8 v116;
            simdgroup_multiply_accumulate(v116, v112, v93, v69);
            v54 = v95;
            v55 = v96;
            v56 = v97;
            v57 = v98;
            v58 = v101;
            v59 = v102;
            v60 = v103;
            v61 = v104;
            v62 = v107;
            v63 = v108;
            v64 = v109;
            v65 = v110;
            v66 = v113;
            v67 = v114;
            v68 = v115;
            v69 = v116;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v7 = v54;
        v8 = v55;
        v9 = v56;
        v10 = v57;
        v11 = v58;
        v12 = v59;
        v13 = v60;
        v14 = v61;
        v15 = v62;
        v16 = v63;
        v17 = v64;
        v18 = v65;
        v19 = v66;
        v20 = v67;
        v21 = v68;
        v22 = v69;
    }
    const int v118 = v1 + v5;
    simdgroup_store(v7, c + v3 * 256 + v118, 256);
    const int v119 = v118 + 8;
    simdgroup_store(v8, c + v3 * 256 + v119, 256);
    const int v120 = v118 + 16;
    simdgroup_store(v9, c + v3 * 256 + v120, 256);
    const int v121 = v118 + 24;
    simdgroup_store(v10, c + v3 * 256 + v121, 256);
    const int v122 = v3 + 8;
    simdgroup_store(v11, c + v122 * 256 + v118, 256);
    simdgroup_store(v12, c + v122 * 256 + v119, 256);
    simdgroup_store(v13, c + v122 * 256 + v120, 256);
    simdgroup_store(v14, c + v122 * 256 + v121, 256);
    const int v123 = v3 + 16;
    simdgroup_store(v15, c + v123 * 256 + v118, 256);
    simdgroup_store(v16, c + v123 * 256 + v119, 256);
    simdgroup_store(v17, c + v123 * 256 + v120, 256);
    simdgroup_store(v18, c + v123 * 256 + v121, 256);
    const int v124 = v3 + 24;
    simdgroup_store(v19, c + v124 * 256 + v118, 256);
    simdgroup_store(v20, c + v124 * 256 + v119, 256);
    simdgroup_store(v21, c + v124 * 256 + v120, 256);
    simdgroup_store(v22, c + v124 * 256 + v121, 256);
}
