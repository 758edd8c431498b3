#include <metal_stdlib>
#include <metal_simdgroup_matrix>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(128)]]
kernel void int8_matmul_vecload4_qkv(
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
    alignas(16) threadgroup float tiles[4096];
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
    for (int v23 = 0; v23 < 64; v23 += 32) {
        for (int v40 = thread_index; v40 < 512; v40 += 128) {
            const int v41 = v40 / 8;
            const int v42 = v40 % 8;
            const int v43 = v42 * 4;
            const int v45 = v23 + v43;
            const float4 v46 = *(device const float4*)(a + v41 * 64 + v45);
            *(threadgroup float4*)(tiles + v41 * 32 + v43) = v46;
        }
        for (int v47 = thread_index; v47 < 512; v47 += 128) {
            const int v48 = v47 / 8;
            const int v49 = v47 % 8;
            const int v50 = v49 * 4;
            const int v51 = v23 + v50;
            const int v53 = v48 % 64;
            const int v54 = v1 + v53;
            const bfloat v56 = weights_scales[v54];
            const float v57 = float(v56);
            const char4 v58 = *(device const char4*)(weights + v54 * 64 + v51);
            const float4 v59 = float4(v58);
            const float4 v60 = float4(v57);
            const float4 v61 = v59 * v60;
            *(threadgroup float4*)(tiles + v48 * 32 + v50 + 2048) = v61;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_float8x8 v62 = v7;
        simdgroup_float8x8 v63 = v8;
        simdgroup_float8x8 v64 = v9;
        simdgroup_float8x8 v65 = v10;
        simdgroup_float8x8 v66 = v11;
        simdgroup_float8x8 v67 = v12;
        simdgroup_float8x8 v68 = v13;
        simdgroup_float8x8 v69 = v14;
        simdgroup_float8x8 v70 = v15;
        simdgroup_float8x8 v71 = v16;
        simdgroup_float8x8 v72 = v17;
        simdgroup_float8x8 v73 = v18;
        simdgroup_float8x8 v74 = v19;
        simdgroup_float8x8 v75 = v20;
        simdgroup_float8x8 v76 = v21;
        simdgroup_float8x8 v77 = v22;
        for (int v78 = 0; v78 < 32; v78 += 8) {
            simdgroup_float8x8 v95;
            simdgroup_load(v95, tiles + v5 * 32 + v78 + 2048, 32, ulong2(0, 0), true);
            const int v96 = v5 + 8;
            simdgroup_float8x8 v97;
            simdgroup_load(v97, tiles + v96 * 32 + v78 + 2048, 32, ulong2(0, 0), true);
            const int v98 = v5 + 16;
            simdgroup_float8x8 v99;
            simdgroup_load(v99, tiles + v98 * 32 + v78 + 2048, 32, ulong2(0, 0), true);
            const int v100 = v5 + 24;
            simdgroup_float8x8 v101;
            simdgroup_load(v101, tiles + v100 * 32 + v78 + 2048, 32, ulong2(0, 0), true);
            simdgroup_float8x8 v102;
            simdgroup_load(v102, tiles + v3 * 32 + v78, 32);
            simdgroup_float8x8 v103;
            simdgroup_multiply_accumulate(v103, v102, v95, v62);
            simdgroup_float8x8 v104;
            simdgroup_multiply_accumulate(v104, v102, v97, v63);
            simdgroup_float8x8 v105;
            simdgroup_multiply_accumulate(v105, v102, v99, v64);
            simdgroup_float8x8 v106;
            simdgroup_multiply_accumulate(v106, v102, v101, v65);
            const int v107 = v3 + 8;
            simdgroup_float8x8 v108;
            simdgroup_load(v108, tiles + v107 * 32 + v78, 32);
            simdgroup_float8x8 v109;
            simdgroup_multiply_accumulate(v109, v108, v95, v66);
            simdgroup_float8x8 v110;
            simdgroup_multiply_accumulate(v110, v108, v97, v67);
            simdgroup_float8x8 v111;
            simdgroup_multiply_accumulate(v111, v108, v99, v68);
            simdgroup_float8x8 v112;
            simdgroup_multiply_accumulate(v112, v108, v101, v69);
            const int v113 = v3 + 16;
            simdgroup_float8x8 v114;
            simdgroup_load(v114, tiles + v113 * 32 + v78, 32);
            simdgroup_float8x8 v115;
            simdgroup_multiply_accumulate(v115, v114, v95, v70);
            simdgroup_float8x8 v116;
            simdgroup_multiply_accumulate(v116, v114, v97, v71);
            simdgroup_float8x8 v117;
            simdgroup_multiply_accumulate(v117, v114, v99, v72);
            simdgroup_float8x8 v118;
            simdgroup_multiply_accumulate(v118, v114, v101, v73);
            const int v119 = v3 + 24;
            simdgroup_float8x8 v120;
            simdgroup_load(v120, tiles + v119 * 32 + v78, 32);
            simdgroup_float8x8 v121;
            simdgroup_multiply_accumulate(v121, v120, v95, v74);
            simdgroup_float8x8 v122;
            simdgroup_multiply_accumulate(v122, v120, v97, v75);
            simdgroup_float8x8 v123;
            simdgroup_multiply_accumulate(v123, v120, v99, v76);
            simdgroup_float8x8 v124;
            simdgroup_multiply_accumulate(v124, v120, v101, v77);
            v62 = v103;
            v63 = v104;
            v64 = v105;
            v65 = v106;
            v66 = v109;
            v67 = v110;
            v68 = v111;
            v69 = v112;
            v70 = v115;
            v71 = v116;
            v72 = v117;
            v73 = v118;
            v74 = v121;
            v75 = v122;
            v76 = v123;
            v77 = v124;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v7 = v62;
        v8 = v63;
        v9 = v64;
        v10 = v65;
        v11 = v66;
        v12 = v67;
        v13 = v68;
        v14 = v69;
        v15 = v70;
        v16 = v71;
        v17 = v72;
        v18 = v73;
        v19 = v74;
        v20 = v75;
        v21 = v76;
        v22 = v77;
    }
    simdgroup_store(v7, tiles + v3 * 64 + v5, 64);
    const int v125 = v5 + 8;
    simdgroup_store(v8, tiles + v3 * 64 + v125, 64);
    const int v126 = v5 + 16;
    simdgroup_store(v9, tiles + v3 * 64 + v126, 64);
    const int v127 = v5 + 24;
    simdgroup_store(v10, tiles + v3 * 64 + v127, 64);
    const int v128 = v3 + 8;
    simdgroup_store(v11, tiles + v128 * 64 + v5, 64);
    simdgroup_store(v12, tiles + v128 * 64 + v125, 64);
    simdgroup_store(v13, tiles + v128 * 64 + v126, 64);
    simdgroup_store(v14, tiles + v128 * 64 + v127, 64);
    const int v129 = v3 + 16;
    simdgroup_store(v15, tiles + v129 * 64 + v5, 64);
    simdgroup_store(v16, tiles + v129 * 64 + v125, 64);
    simdgroup_store(v17, tiles + v129 * 64 + v126, 64);
    simdgroup_store(v18, tiles + v129 * 64 + v127, 64);
    const int v130 = v3 + 24;
    simdgroup_store(v19, tiles + v130 * 64 + v5, 64);
    simdgroup_store(v20, tiles + v130 * 64 + v125, 64);
    simdgroup_store(v21, tiles + v130 * 64 + v126, 64);
    simdgroup_store(v22, tiles + v130 * 64 + v127, 64);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int v131 = thread_index; v131 < 1024; v131 += 128) {
        const int v132 = v131 / 16;
        const int v133 = v131 % 16;
        const int v134 = v133 * 4;
        const int v136 = v1 + v134;
        const float4 v137 = *(threadgroup const float4*)(tiles + v132 * 64 + v134);
        *(device float4*)(out + v132 * 256 + v136) = v137;
    }
}
