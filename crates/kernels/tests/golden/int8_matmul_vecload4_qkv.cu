__device__ __forceinline__ float tile_bf16_to_f32(unsigned short b) {
    return __uint_as_float((unsigned int)b << 16);
}

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

extern "C" __global__ void __launch_bounds__(128, 1) int8_matmul_vecload4_qkv(
    const float* __restrict__ a,
    const signed char* __restrict__ weights,
    const unsigned short* __restrict__ weights_scales,
    float* __restrict__ out
) {
    const int group_x = (int)blockIdx.x;
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    const int fragment_row = lane / 4, fragment_column = (lane & 3) * 2;
    __shared__ __align__(16) float tiles[4096];
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
    for (int v23 = 0; v23 < 64; v23 += 32) {
        for (int v40 = thread_index; v40 < 512; v40 += 128) {
            const int v41 = v40 / 8;
            const int v42 = v40 % 8;
            const int v43 = v42 * 4;
            const int v45 = v23 + v43;
            const float4 v46 = *(const float4*)(a + v41 * 64 + v45);
            *(float4*)(tiles + v41 * 32 + v43) = v46;
        }
        for (int v47 = thread_index; v47 < 512; v47 += 128) {
            const int v48 = v47 / 8;
            const int v49 = v47 % 8;
            const int v50 = v49 * 4;
            const int v51 = v23 + v50;
            const int v53 = v48 % 64;
            const int v54 = v1 + v53;
            const unsigned short v56 = weights_scales[v54];
            const float v57 = tile_bf16_to_f32(v56);
            const char4 v58 = *(const char4*)(weights + v54 * 64 + v51);
            const float4 v59 = make_float4((float)v58.x, (float)v58.y, (float)v58.z, (float)v58.w);
            const float4 v60 = make_float4(v57, v57, v57, v57);
            const float4 v61 = make_float4(v59.x * v60.x, v59.y * v60.y, v59.z * v60.z, v59.w * v60.w);
            *(float4*)(tiles + v48 * 32 + v50 + 2048) = v61;
        }
        __syncthreads();
        float2 v62 = v7;
        float2 v63 = v8;
        float2 v64 = v9;
        float2 v65 = v10;
        float2 v66 = v11;
        float2 v67 = v12;
        float2 v68 = v13;
        float2 v69 = v14;
        float2 v70 = v15;
        float2 v71 = v16;
        float2 v72 = v17;
        float2 v73 = v18;
        float2 v74 = v19;
        float2 v75 = v20;
        float2 v76 = v21;
        float2 v77 = v22;
        for (int v78 = 0; v78 < 32; v78 += 8) {
            const float2 v95 = make_float2(tiles[(v5 + fragment_column) * 32 + (v78 + fragment_row) + 2048], tiles[(v5 + fragment_column + 1) * 32 + (v78 + fragment_row) + 2048]);
            const int v96 = v5 + 8;
            const float2 v97 = make_float2(tiles[(v96 + fragment_column) * 32 + (v78 + fragment_row) + 2048], tiles[(v96 + fragment_column + 1) * 32 + (v78 + fragment_row) + 2048]);
            const int v98 = v5 + 16;
            const float2 v99 = make_float2(tiles[(v98 + fragment_column) * 32 + (v78 + fragment_row) + 2048], tiles[(v98 + fragment_column + 1) * 32 + (v78 + fragment_row) + 2048]);
            const int v100 = v5 + 24;
            const float2 v101 = make_float2(tiles[(v100 + fragment_column) * 32 + (v78 + fragment_row) + 2048], tiles[(v100 + fragment_column + 1) * 32 + (v78 + fragment_row) + 2048]);
            const float2 v102 = make_float2(tiles[(v3 + fragment_row) * 32 + (v78 + fragment_column)], tiles[(v3 + fragment_row) * 32 + (v78 + fragment_column + 1)]);
            const float2 v103 = tile_multiply(v102, v95, v62);
            const float2 v104 = tile_multiply(v102, v97, v63);
            const float2 v105 = tile_multiply(v102, v99, v64);
            const float2 v106 = tile_multiply(v102, v101, v65);
            const int v107 = v3 + 8;
            const float2 v108 = make_float2(tiles[(v107 + fragment_row) * 32 + (v78 + fragment_column)], tiles[(v107 + fragment_row) * 32 + (v78 + fragment_column + 1)]);
            const float2 v109 = tile_multiply(v108, v95, v66);
            const float2 v110 = tile_multiply(v108, v97, v67);
            const float2 v111 = tile_multiply(v108, v99, v68);
            const float2 v112 = tile_multiply(v108, v101, v69);
            const int v113 = v3 + 16;
            const float2 v114 = make_float2(tiles[(v113 + fragment_row) * 32 + (v78 + fragment_column)], tiles[(v113 + fragment_row) * 32 + (v78 + fragment_column + 1)]);
            const float2 v115 = tile_multiply(v114, v95, v70);
            const float2 v116 = tile_multiply(v114, v97, v71);
            const float2 v117 = tile_multiply(v114, v99, v72);
            const float2 v118 = tile_multiply(v114, v101, v73);
            const int v119 = v3 + 24;
            const float2 v120 = make_float2(tiles[(v119 + fragment_row) * 32 + (v78 + fragment_column)], tiles[(v119 + fragment_row) * 32 + (v78 + fragment_column + 1)]);
            const float2 v121 = tile_multiply(v120, v95, v74);
            const float2 v122 = tile_multiply(v120, v97, v75);
            const float2 v123 = tile_multiply(v120, v99, v76);
            const float2 v124 = tile_multiply(v120, v101, v77);
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
        __syncthreads();
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
    tiles[(v3 + fragment_row) * 64 + (v5 + fragment_column)] = v7.x;
    tiles[(v3 + fragment_row) * 64 + (v5 + fragment_column + 1)] = v7.y;
    const int v125 = v5 + 8;
    tiles[(v3 + fragment_row) * 64 + (v125 + fragment_column)] = v8.x;
    tiles[(v3 + fragment_row) * 64 + (v125 + fragment_column + 1)] = v8.y;
    const int v126 = v5 + 16;
    tiles[(v3 + fragment_row) * 64 + (v126 + fragment_column)] = v9.x;
    tiles[(v3 + fragment_row) * 64 + (v126 + fragment_column + 1)] = v9.y;
    const int v127 = v5 + 24;
    tiles[(v3 + fragment_row) * 64 + (v127 + fragment_column)] = v10.x;
    tiles[(v3 + fragment_row) * 64 + (v127 + fragment_column + 1)] = v10.y;
    const int v128 = v3 + 8;
    tiles[(v128 + fragment_row) * 64 + (v5 + fragment_column)] = v11.x;
    tiles[(v128 + fragment_row) * 64 + (v5 + fragment_column + 1)] = v11.y;
    tiles[(v128 + fragment_row) * 64 + (v125 + fragment_column)] = v12.x;
    tiles[(v128 + fragment_row) * 64 + (v125 + fragment_column + 1)] = v12.y;
    tiles[(v128 + fragment_row) * 64 + (v126 + fragment_column)] = v13.x;
    tiles[(v128 + fragment_row) * 64 + (v126 + fragment_column + 1)] = v13.y;
    tiles[(v128 + fragment_row) * 64 + (v127 + fragment_column)] = v14.x;
    tiles[(v128 + fragment_row) * 64 + (v127 + fragment_column + 1)] = v14.y;
    const int v129 = v3 + 16;
    tiles[(v129 + fragment_row) * 64 + (v5 + fragment_column)] = v15.x;
    tiles[(v129 + fragment_row) * 64 + (v5 + fragment_column + 1)] = v15.y;
    tiles[(v129 + fragment_row) * 64 + (v125 + fragment_column)] = v16.x;
    tiles[(v129 + fragment_row) * 64 + (v125 + fragment_column + 1)] = v16.y;
    tiles[(v129 + fragment_row) * 64 + (v126 + fragment_column)] = v17.x;
    tiles[(v129 + fragment_row) * 64 + (v126 + fragment_column + 1)] = v17.y;
    tiles[(v129 + fragment_row) * 64 + (v127 + fragment_column)] = v18.x;
    tiles[(v129 + fragment_row) * 64 + (v127 + fragment_column + 1)] = v18.y;
    const int v130 = v3 + 24;
    tiles[(v130 + fragment_row) * 64 + (v5 + fragment_column)] = v19.x;
    tiles[(v130 + fragment_row) * 64 + (v5 + fragment_column + 1)] = v19.y;
    tiles[(v130 + fragment_row) * 64 + (v125 + fragment_column)] = v20.x;
    tiles[(v130 + fragment_row) * 64 + (v125 + fragment_column + 1)] = v20.y;
    tiles[(v130 + fragment_row) * 64 + (v126 + fragment_column)] = v21.x;
    tiles[(v130 + fragment_row) * 64 + (v126 + fragment_column + 1)] = v21.y;
    tiles[(v130 + fragment_row) * 64 + (v127 + fragment_column)] = v22.x;
    tiles[(v130 + fragment_row) * 64 + (v127 + fragment_column + 1)] = v22.y;
    __syncthreads();
    for (int v131 = thread_index; v131 < 1024; v131 += 128) {
        const int v132 = v131 / 16;
        const int v133 = v131 % 16;
        const int v134 = v133 * 4;
        const int v136 = v1 + v134;
        const float4 v137 = *(const float4*)(tiles + v132 * 64 + v134);
        *(float4*)(out + v132 * 256 + v136) = v137;
    }
}
