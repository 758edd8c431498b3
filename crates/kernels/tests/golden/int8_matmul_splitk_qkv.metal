#include <metal_stdlib>
#include <metal_simdgroup_matrix>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(128)]]
kernel void int8_matmul_splitk_qkv(
    device const float* a [[buffer(0)]],
    device const char* weights [[buffer(1)]],
    device const bfloat* weights_scales [[buffer(2)]],
    device float* out [[buffer(3)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]]
) {
    const int group_x = int(group_position.x);
    const int group_y = int(group_position.y);
    const int thread_index = int(thread_position);
    const int simd_group = int(simd_group_index);
    alignas(16) threadgroup float tiles[4096];
    const int v0 = group_y * 32;
    const int v1 = group_x * 32;
    const int v2 = simd_group * 16;
    const simdgroup_float8x8 v3 = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    simdgroup_float8x8 v4 = v3;
    simdgroup_float8x8 v5 = v3;
    simdgroup_float8x8 v6 = v3;
    simdgroup_float8x8 v7 = v3;
    simdgroup_float8x8 v8 = v3;
    simdgroup_float8x8 v9 = v3;
    simdgroup_float8x8 v10 = v3;
    simdgroup_float8x8 v11 = v3;
    simdgroup_float8x8 v12 = v3;
    simdgroup_float8x8 v13 = v3;
    simdgroup_float8x8 v14 = v3;
    simdgroup_float8x8 v15 = v3;
    simdgroup_float8x8 v16 = v3;
    simdgroup_float8x8 v17 = v3;
    simdgroup_float8x8 v18 = v3;
    simdgroup_float8x8 v19 = v3;
    for (int v20 = 0; v20 < 64; v20 += 64) {
        for (int v37 = thread_index; v37 < 512; v37 += 128) {
            const int v38 = v37 / 16;
            const int v39 = v37 % 16;
            const int v40 = v39 * 4;
            const int v41 = v0 + v38;
            const int v42 = v20 + v40;
            const float4 v43 = *(device const float4*)(a + v41 * 64 + v42);
            *(threadgroup float4*)(tiles + v38 * 64 + v40) = v43;
        }
        for (int v44 = thread_index; v44 < 512; v44 += 128) {
            const int v45 = v44 / 16;
            const int v46 = v44 % 16;
            const int v47 = v46 * 4;
            const int v48 = v20 + v47;
            const int v50 = v45 % 32;
            const int v51 = v1 + v50;
            const bfloat v53 = weights_scales[v51];
            const float v54 = float(v53);
            const char4 v55 = *(device const char4*)(weights + v51 * 64 + v48);
            const float4 v56 = float4(v55);
            const float4 v57 = float4(v54);
            const float4 v58 = v56 * v57;
            *(threadgroup float4*)(tiles + v45 * 64 + v47 + 2048) = v58;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_float8x8 v59;
        simdgroup_load(v59, tiles + v2 + 2048, 64, ulong2(0, 0), true);
        simdgroup_float8x8 v60;
        simdgroup_load(v60, tiles + v2 + 2560, 64, ulong2(0, 0), true);
        simdgroup_float8x8 v61;
        simdgroup_load(v61, tiles + v2 + 3072, 64, ulong2(0, 0), true);
        simdgroup_float8x8 v62;
        simdgroup_load(v62, tiles + v2 + 3584, 64, ulong2(0, 0), true);
        simdgroup_float8x8 v63;
        simdgroup_load(v63, tiles + v2, 64);
        simdgroup_float8x8 v64;
        simdgroup_multiply_accumulate(v64, v63, v59, v4);
        simdgroup_float8x8 v65;
        simdgroup_multiply_accumulate(v65, v63, v60, v5);
        simdgroup_float8x8 v66;
        simdgroup_multiply_accumulate(v66, v63, v61, v6);
        simdgroup_float8x8 v67;
        simdgroup_multiply_accumulate(v67, v63, v62, v7);
        simdgroup_float8x8 v68;
        simdgroup_load(v68, tiles + v2 + 512, 64);
        simdgroup_float8x8 v69;
        simdgroup_multiply_accumulate(v69, v68, v59, v8);
        simdgroup_float8x8 v70;
        simdgroup_multiply_accumulate(v70, v68, v60, v9);
        simdgroup_float8x8 v71;
        simdgroup_multiply_accumulate(v71, v68, v61, v10);
        simdgroup_float8x8 v72;
        simdgroup_multiply_accumulate(v72, v68, v62, v11);
        simdgroup_float8x8 v73;
        simdgroup_load(v73, tiles + v2 + 1024, 64);
        simdgroup_float8x8 v74;
        simdgroup_multiply_accumulate(v74, v73, v59, v12);
        simdgroup_float8x8 v75;
        simdgroup_multiply_accumulate(v75, v73, v60, v13);
        simdgroup_float8x8 v76;
        simdgroup_multiply_accumulate(v76, v73, v61, v14);
        simdgroup_float8x8 v77;
        simdgroup_multiply_accumulate(v77, v73, v62, v15);
        simdgroup_float8x8 v78;
        simdgroup_load(v78, tiles + v2 + 1536, 64);
        simdgroup_float8x8 v79;
        simdgroup_multiply_accumulate(v79, v78, v59, v16);
        simdgroup_float8x8 v80;
        simdgroup_multiply_accumulate(v80, v78, v60, v17);
        simdgroup_float8x8 v81;
        simdgroup_multiply_accumulate(v81, v78, v61, v18);
        simdgroup_float8x8 v82;
        simdgroup_multiply_accumulate(v82, v78, v62, v19);
        const int v83 = v2 + 8;
        simdgroup_float8x8 v84;
        simdgroup_load(v84, tiles + v83 + 2048, 64, ulong2(0, 0), true);
        simdgroup_float8x8 v85;
        simdgroup_load(v85, tiles + v83 + 2560, 64, ulong2(0, 0), true);
        simdgroup_float8x8 v86;
        simdgroup_load(v86, tiles + v83 + 3072, 64, ulong2(0, 0), true);
        simdgroup_float8x8 v87;
        simdgroup_load(v87, tiles + v83 + 3584, 64, ulong2(0, 0), true);
        simdgroup_float8x8 v88;
        simdgroup_load(v88, tiles + v83, 64);
        simdgroup_float8x8 v89;
        simdgroup_multiply_accumulate(v89, v88, v84, v64);
        simdgroup_float8x8 v90;
        simdgroup_multiply_accumulate(v90, v88, v85, v65);
        simdgroup_float8x8 v91;
        simdgroup_multiply_accumulate(v91, v88, v86, v66);
        simdgroup_float8x8 v92;
        simdgroup_multiply_accumulate(v92, v88, v87, v67);
        simdgroup_float8x8 v93;
        simdgroup_load(v93, tiles + v83 + 512, 64);
        simdgroup_float8x8 v94;
        simdgroup_multiply_accumulate(v94, v93, v84, v69);
        simdgroup_float8x8 v95;
        simdgroup_multiply_accumulate(v95, v93, v85, v70);
        simdgroup_float8x8 v96;
        simdgroup_multiply_accumulate(v96, v93, v86, v71);
        simdgroup_float8x8 v97;
        simdgroup_multiply_accumulate(v97, v93, v87, v72);
        simdgroup_float8x8 v98;
        simdgroup_load(v98, tiles + v83 + 1024, 64);
        simdgroup_float8x8 v99;
        simdgroup_multiply_accumulate(v99, v98, v84, v74);
        simdgroup_float8x8 v100;
        simdgroup_multiply_accumulate(v100, v98, v85, v75);
        simdgroup_float8x8 v101;
        simdgroup_multiply_accumulate(v101, v98, v86, v76);
        simdgroup_float8x8 v102;
        simdgroup_multiply_accumulate(v102, v98, v87, v77);
        simdgroup_float8x8 v103;
        simdgroup_load(v103, tiles + v83 + 1536, 64);
        simdgroup_float8x8 v104;
        simdgroup_multiply_accumulate(v104, v103, v84, v79);
        simdgroup_float8x8 v105;
        simdgroup_multiply_accumulate(v105, v103, v85, v80);
        simdgroup_float8x8 v106;
        simdgroup_multiply_accumulate(v106, v103, v86, v81);
        simdgroup_float8x8 v107;
        simdgroup_multiply_accumulate(v107, v103, v87, v82);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v4 = v89;
        v5 = v90;
        v6 = v91;
        v7 = v92;
        v8 = v94;
        v9 = v95;
        v10 = v96;
        v11 = v97;
        v12 = v99;
        v13 = v100;
        v14 = v101;
        v15 = v102;
        v16 = v104;
        v17 = v105;
        v18 = v106;
        v19 = v107;
    }
    simdgroup_store(v4, tiles + simd_group * 1024, 32);
    simdgroup_store(v5, tiles + simd_group * 1024 + 8, 32);
    simdgroup_store(v6, tiles + simd_group * 1024 + 16, 32);
    simdgroup_store(v7, tiles + simd_group * 1024 + 24, 32);
    simdgroup_store(v8, tiles + simd_group * 1024 + 256, 32);
    simdgroup_store(v9, tiles + simd_group * 1024 + 264, 32);
    simdgroup_store(v10, tiles + simd_group * 1024 + 272, 32);
    simdgroup_store(v11, tiles + simd_group * 1024 + 280, 32);
    simdgroup_store(v12, tiles + simd_group * 1024 + 512, 32);
    simdgroup_store(v13, tiles + simd_group * 1024 + 520, 32);
    simdgroup_store(v14, tiles + simd_group * 1024 + 528, 32);
    simdgroup_store(v15, tiles + simd_group * 1024 + 536, 32);
    simdgroup_store(v16, tiles + simd_group * 1024 + 768, 32);
    simdgroup_store(v17, tiles + simd_group * 1024 + 776, 32);
    simdgroup_store(v18, tiles + simd_group * 1024 + 784, 32);
    simdgroup_store(v19, tiles + simd_group * 1024 + 792, 32);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int v108 = thread_index; v108 < 256; v108 += 128) {
        const int v109 = v108 / 8;
        const int v110 = v108 % 8;
        const int v111 = v110 * 4;
        const int v112 = v0 + v109;
        const int v113 = v1 + v111;
        const float4 v114 = *(threadgroup const float4*)(tiles + v109 * 32 + v111);
        const float4 v115 = *(threadgroup const float4*)(tiles + v109 * 32 + v111 + 1024);
        const float4 v116 = v114 + v115;
        const float4 v117 = *(threadgroup const float4*)(tiles + v109 * 32 + v111 + 2048);
        const float4 v118 = *(threadgroup const float4*)(tiles + v109 * 32 + v111 + 3072);
        const float4 v119 = v117 + v118;
        const float4 v120 = v116 + v119;
        *(device float4*)(out + v112 * 256 + v113) = v120;
    }
}
