__device__ __forceinline__ float2 tile_multiply(float2 a, float2 b, float2 c) {
    const int lane = threadIdx.x & 31;
#pragma unroll 1
    for (int k = 0; k < 8; k += 2) {
        const int left = (lane & 28) + k / 2, upper = k * 4 + (lane & 3), lower = upper + 4;
        const float left_x = __shfl_sync(0xffffffffu, a.x, left);
        const float left_y = __shfl_sync(0xffffffffu, a.y, left);
        c.x = fmaf(left_x, __shfl_sync(0xffffffffu, b.x, upper), c.x);
        c.y = fmaf(left_x, __shfl_sync(0xffffffffu, b.y, upper), c.y);
        c.x = fmaf(left_y, __shfl_sync(0xffffffffu, b.x, lower), c.x);
        c.y = fmaf(left_y, __shfl_sync(0xffffffffu, b.y, lower), c.y);
    }
    return c;
}

extern "C" __global__ void __launch_bounds__(128, 1) prefill_matmul_64_qkv_f32(
    const float* __restrict__ a,
    const float* __restrict__ b,
    float* __restrict__ c
) {
    const int group_x = (int)blockIdx.x;
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    const int fragment_row = lane / 4, fragment_column = (lane & 3) * 2;
    __shared__ __align__(16) float tiles[8192];
    const int v1 = group_x * 64;
    const int v2 = simd_group / 2;
    const int v3 = v2 * 32;
    const int v4 = simd_group % 2;
    const int v5 = v4 * 32;
    const float2 v6 = make_float2(0.0f, 0.0f);
    float2 v7 = v6;
    float2 v8 = v6;
    float2 v9 = v6;
    float2 v10 = v6;
    float2 v11 = v6;
    float2 v12 = v6;
    float2 v13 = v6;
    float2 v14 = v6;
    float2 v15 = v6;
    float2 v16 = v6;
    float2 v17 = v6;
    float2 v18 = v6;
    float2 v19 = v6;
    float2 v20 = v6;
    float2 v21 = v6;
    float2 v22 = v6;
    for (int v23 = 0; v23 < 64; v23 += 64) {
        for (int v40 = thread_index; v40 < 1024; v40 += 128) {
            const int v41 = v40 / 16;
            const int v42 = v40 % 16;
            const int v43 = v42 * 4;
            const int v45 = v23 + v43;
            const float4 v46 = *(const float4*)(a + v41 * 64 + v45);
            *(float4*)(tiles + v41 * 64 + v43) = v46;
        }
        for (int v47 = thread_index; v47 < 1024; v47 += 128) {
            const int v48 = v47 / 16;
            const int v49 = v47 % 16;
            const int v50 = v49 * 4;
            const int v51 = v23 + v48;
            const int v52 = v1 + v50;
            const float4 v53 = *(const float4*)(b + v51 * 256 + v52);
            *(float4*)(tiles + v48 * 64 + v50 + 4096) = v53;
        }
        __syncthreads();
        float2 v54 = v7;
        float2 v55 = v8;
        float2 v56 = v9;
        float2 v57 = v10;
        float2 v58 = v11;
        float2 v59 = v12;
        float2 v60 = v13;
        float2 v61 = v14;
        float2 v62 = v15;
        float2 v63 = v16;
        float2 v64 = v17;
        float2 v65 = v18;
        float2 v66 = v19;
        float2 v67 = v20;
        float2 v68 = v21;
        float2 v69 = v22;
        for (int v70 = 0; v70 < 64; v70 += 8) {
            const float2 v87 = make_float2(tiles[(v70 + fragment_row) * 64 + (v5 + fragment_column) + 4096], tiles[(v70 + fragment_row) * 64 + (v5 + fragment_column + 1) + 4096]);
            const int v88 = v5 + 8;
            const float2 v89 = make_float2(tiles[(v70 + fragment_row) * 64 + (v88 + fragment_column) + 4096], tiles[(v70 + fragment_row) * 64 + (v88 + fragment_column + 1) + 4096]);
            const int v90 = v5 + 16;
            const float2 v91 = make_float2(tiles[(v70 + fragment_row) * 64 + (v90 + fragment_column) + 4096], tiles[(v70 + fragment_row) * 64 + (v90 + fragment_column + 1) + 4096]);
            const int v92 = v5 + 24;
            const float2 v93 = make_float2(tiles[(v70 + fragment_row) * 64 + (v92 + fragment_column) + 4096], tiles[(v70 + fragment_row) * 64 + (v92 + fragment_column + 1) + 4096]);
            const float2 v94 = make_float2(tiles[(v3 + fragment_row) * 64 + (v70 + fragment_column)], tiles[(v3 + fragment_row) * 64 + (v70 + fragment_column + 1)]);
            const float2 v95 = tile_multiply(v94, v87, v54);
            const float2 v96 = tile_multiply(v94, v89, v55);
            const float2 v97 = tile_multiply(v94, v91, v56);
            const float2 v98 = tile_multiply(v94, v93, v57);
            const int v99 = v3 + 8;
            const float2 v100 = make_float2(tiles[(v99 + fragment_row) * 64 + (v70 + fragment_column)], tiles[(v99 + fragment_row) * 64 + (v70 + fragment_column + 1)]);
            const float2 v101 = tile_multiply(v100, v87, v58);
            const float2 v102 = tile_multiply(v100, v89, v59);
            const float2 v103 = tile_multiply(v100, v91, v60);
            const float2 v104 = tile_multiply(v100, v93, v61);
            const int v105 = v3 + 16;
            const float2 v106 = make_float2(tiles[(v105 + fragment_row) * 64 + (v70 + fragment_column)], tiles[(v105 + fragment_row) * 64 + (v70 + fragment_column + 1)]);
            const float2 v107 = tile_multiply(v106, v87, v62);
            const float2 v108 = tile_multiply(v106, v89, v63);
            const float2 v109 = tile_multiply(v106, v91, v64);
            const float2 v110 = tile_multiply(v106, v93, v65);
            const int v111 = v3 + 24;
            const float2 v112 = make_float2(tiles[(v111 + fragment_row) * 64 + (v70 + fragment_column)], tiles[(v111 + fragment_row) * 64 + (v70 + fragment_column + 1)]);
            const float2 v113 = tile_multiply(v112, v87, v66);
            const float2 v114 = tile_multiply(v112, v89, v67);
            const float2 v115 = tile_multiply(v112, v91, v68);
            const float2 v116 = tile_multiply(v112, v93, v69);
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
        __syncthreads();
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
    c[(v3 + fragment_row) * 256 + (v118 + fragment_column)] = v7.x;
    c[(v3 + fragment_row) * 256 + (v118 + fragment_column + 1)] = v7.y;
    const int v119 = v118 + 8;
    c[(v3 + fragment_row) * 256 + (v119 + fragment_column)] = v8.x;
    c[(v3 + fragment_row) * 256 + (v119 + fragment_column + 1)] = v8.y;
    const int v120 = v118 + 16;
    c[(v3 + fragment_row) * 256 + (v120 + fragment_column)] = v9.x;
    c[(v3 + fragment_row) * 256 + (v120 + fragment_column + 1)] = v9.y;
    const int v121 = v118 + 24;
    c[(v3 + fragment_row) * 256 + (v121 + fragment_column)] = v10.x;
    c[(v3 + fragment_row) * 256 + (v121 + fragment_column + 1)] = v10.y;
    const int v122 = v3 + 8;
    c[(v122 + fragment_row) * 256 + (v118 + fragment_column)] = v11.x;
    c[(v122 + fragment_row) * 256 + (v118 + fragment_column + 1)] = v11.y;
    c[(v122 + fragment_row) * 256 + (v119 + fragment_column)] = v12.x;
    c[(v122 + fragment_row) * 256 + (v119 + fragment_column + 1)] = v12.y;
    c[(v122 + fragment_row) * 256 + (v120 + fragment_column)] = v13.x;
    c[(v122 + fragment_row) * 256 + (v120 + fragment_column + 1)] = v13.y;
    c[(v122 + fragment_row) * 256 + (v121 + fragment_column)] = v14.x;
    c[(v122 + fragment_row) * 256 + (v121 + fragment_column + 1)] = v14.y;
    const int v123 = v3 + 16;
    c[(v123 + fragment_row) * 256 + (v118 + fragment_column)] = v15.x;
    c[(v123 + fragment_row) * 256 + (v118 + fragment_column + 1)] = v15.y;
    c[(v123 + fragment_row) * 256 + (v119 + fragment_column)] = v16.x;
    c[(v123 + fragment_row) * 256 + (v119 + fragment_column + 1)] = v16.y;
    c[(v123 + fragment_row) * 256 + (v120 + fragment_column)] = v17.x;
    c[(v123 + fragment_row) * 256 + (v120 + fragment_column + 1)] = v17.y;
    c[(v123 + fragment_row) * 256 + (v121 + fragment_column)] = v18.x;
    c[(v123 + fragment_row) * 256 + (v121 + fragment_column + 1)] = v18.y;
    const int v124 = v3 + 24;
    c[(v124 + fragment_row) * 256 + (v118 + fragment_column)] = v19.x;
    c[(v124 + fragment_row) * 256 + (v118 + fragment_column + 1)] = v19.y;
    c[(v124 + fragment_row) * 256 + (v119 + fragment_column)] = v20.x;
    c[(v124 + fragment_row) * 256 + (v119 + fragment_column + 1)] = v20.y;
    c[(v124 + fragment_row) * 256 + (v120 + fragment_column)] = v21.x;
    c[(v124 + fragment_row) * 256 + (v120 + fragment_column + 1)] = v21.y;
    c[(v124 + fragment_row) * 256 + (v121 + fragment_column)] = v22.x;
    c[(v124 + fragment_row) * 256 + (v121 + fragment_column + 1)] = v22.y;
}
