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

extern "C" __global__ void __launch_bounds__(128, 1) int8_matmul_splitk_qkv(
    const float* __restrict__ a,
    const signed char* __restrict__ weights,
    const unsigned short* __restrict__ weights_scales,
    float* __restrict__ out
) {
    const int group_x = (int)blockIdx.x;
    const int group_y = (int)blockIdx.y;
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    const int fragment_row = lane / 4, fragment_column = (lane & 3) * 2;
    __shared__ __align__(16) float tiles[4096];
    const int v0 = group_y * 32;
    const int v1 = group_x * 32;
    const int v2 = simd_group * 16;
    const float2 v3 = make_float2(0.0f, 0.0f);
    float2 v4 = v3;
    float2 v5 = v3;
    float2 v6 = v3;
    float2 v7 = v3;
    float2 v8 = v3;
    float2 v9 = v3;
    float2 v10 = v3;
    float2 v11 = v3;
    float2 v12 = v3;
    float2 v13 = v3;
    float2 v14 = v3;
    float2 v15 = v3;
    float2 v16 = v3;
    float2 v17 = v3;
    float2 v18 = v3;
    float2 v19 = v3;
    for (int v20 = 0; v20 < 64; v20 += 64) {
        for (int v37 = thread_index; v37 < 512; v37 += 128) {
            const int v38 = v37 / 16;
            const int v39 = v37 % 16;
            const int v40 = v39 * 4;
            const int v41 = v0 + v38;
            const int v42 = v20 + v40;
            const float4 v43 = *(const float4*)(a + v41 * 64 + v42);
            *(float4*)(tiles + v38 * 64 + v40) = v43;
        }
        for (int v44 = thread_index; v44 < 512; v44 += 128) {
            const int v45 = v44 / 16;
            const int v46 = v44 % 16;
            const int v47 = v46 * 4;
            const int v48 = v20 + v47;
            const int v50 = v45 % 32;
            const int v51 = v1 + v50;
            const unsigned short v53 = weights_scales[v51];
            const float v54 = tile_bf16_to_f32(v53);
            const char4 v55 = *(const char4*)(weights + v51 * 64 + v48);
            const float4 v56 = make_float4((float)v55.x, (float)v55.y, (float)v55.z, (float)v55.w);
            const float4 v57 = make_float4(v54, v54, v54, v54);
            const float4 v58 = make_float4(v56.x * v57.x, v56.y * v57.y, v56.z * v57.z, v56.w * v57.w);
            *(float4*)(tiles + v45 * 64 + v47 + 2048) = v58;
        }
        __syncthreads();
        const float2 v59 = make_float2(tiles[fragment_column * 64 + (v2 + fragment_row) + 2048], tiles[(fragment_column + 1) * 64 + (v2 + fragment_row) + 2048]);
        const float2 v60 = make_float2(tiles[(8 + fragment_column) * 64 + (v2 + fragment_row) + 2048], tiles[(8 + fragment_column + 1) * 64 + (v2 + fragment_row) + 2048]);
        const float2 v61 = make_float2(tiles[(16 + fragment_column) * 64 + (v2 + fragment_row) + 2048], tiles[(16 + fragment_column + 1) * 64 + (v2 + fragment_row) + 2048]);
        const float2 v62 = make_float2(tiles[(24 + fragment_column) * 64 + (v2 + fragment_row) + 2048], tiles[(24 + fragment_column + 1) * 64 + (v2 + fragment_row) + 2048]);
        const float2 v63 = make_float2(tiles[fragment_row * 64 + (v2 + fragment_column)], tiles[fragment_row * 64 + (v2 + fragment_column + 1)]);
        const float2 v64 = tile_multiply(v63, v59, v4);
        const float2 v65 = tile_multiply(v63, v60, v5);
        const float2 v66 = tile_multiply(v63, v61, v6);
        const float2 v67 = tile_multiply(v63, v62, v7);
        const float2 v68 = make_float2(tiles[(8 + fragment_row) * 64 + (v2 + fragment_column)], tiles[(8 + fragment_row) * 64 + (v2 + fragment_column + 1)]);
        const float2 v69 = tile_multiply(v68, v59, v8);
        const float2 v70 = tile_multiply(v68, v60, v9);
        const float2 v71 = tile_multiply(v68, v61, v10);
        const float2 v72 = tile_multiply(v68, v62, v11);
        const float2 v73 = make_float2(tiles[(16 + fragment_row) * 64 + (v2 + fragment_column)], tiles[(16 + fragment_row) * 64 + (v2 + fragment_column + 1)]);
        const float2 v74 = tile_multiply(v73, v59, v12);
        const float2 v75 = tile_multiply(v73, v60, v13);
        const float2 v76 = tile_multiply(v73, v61, v14);
        const float2 v77 = tile_multiply(v73, v62, v15);
        const float2 v78 = make_float2(tiles[(24 + fragment_row) * 64 + (v2 + fragment_column)], tiles[(24 + fragment_row) * 64 + (v2 + fragment_column + 1)]);
        const float2 v79 = tile_multiply(v78, v59, v16);
        const float2 v80 = tile_multiply(v78, v60, v17);
        const float2 v81 = tile_multiply(v78, v61, v18);
        const float2 v82 = tile_multiply(v78, v62, v19);
        const int v83 = v2 + 8;
        const float2 v84 = make_float2(tiles[fragment_column * 64 + (v83 + fragment_row) + 2048], tiles[(fragment_column + 1) * 64 + (v83 + fragment_row) + 2048]);
        const float2 v85 = make_float2(tiles[(8 + fragment_column) * 64 + (v83 + fragment_row) + 2048], tiles[(8 + fragment_column + 1) * 64 + (v83 + fragment_row) + 2048]);
        const float2 v86 = make_float2(tiles[(16 + fragment_column) * 64 + (v83 + fragment_row) + 2048], tiles[(16 + fragment_column + 1) * 64 + (v83 + fragment_row) + 2048]);
        const float2 v87 = make_float2(tiles[(24 + fragment_column) * 64 + (v83 + fragment_row) + 2048], tiles[(24 + fragment_column + 1) * 64 + (v83 + fragment_row) + 2048]);
        const float2 v88 = make_float2(tiles[fragment_row * 64 + (v83 + fragment_column)], tiles[fragment_row * 64 + (v83 + fragment_column + 1)]);
        const float2 v89 = tile_multiply(v88, v84, v64);
        const float2 v90 = tile_multiply(v88, v85, v65);
        const float2 v91 = tile_multiply(v88, v86, v66);
        const float2 v92 = tile_multiply(v88, v87, v67);
        const float2 v93 = make_float2(tiles[(8 + fragment_row) * 64 + (v83 + fragment_column)], tiles[(8 + fragment_row) * 64 + (v83 + fragment_column + 1)]);
        const float2 v94 = tile_multiply(v93, v84, v69);
        const float2 v95 = tile_multiply(v93, v85, v70);
        const float2 v96 = tile_multiply(v93, v86, v71);
        const float2 v97 = tile_multiply(v93, v87, v72);
        const float2 v98 = make_float2(tiles[(16 + fragment_row) * 64 + (v83 + fragment_column)], tiles[(16 + fragment_row) * 64 + (v83 + fragment_column + 1)]);
        const float2 v99 = tile_multiply(v98, v84, v74);
        const float2 v100 = tile_multiply(v98, v85, v75);
        const float2 v101 = tile_multiply(v98, v86, v76);
        const float2 v102 = tile_multiply(v98, v87, v77);
        const float2 v103 = make_float2(tiles[(24 + fragment_row) * 64 + (v83 + fragment_column)], tiles[(24 + fragment_row) * 64 + (v83 + fragment_column + 1)]);
        const float2 v104 = tile_multiply(v103, v84, v79);
        const float2 v105 = tile_multiply(v103, v85, v80);
        const float2 v106 = tile_multiply(v103, v86, v81);
        const float2 v107 = tile_multiply(v103, v87, v82);
        __syncthreads();
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
    tiles[simd_group * 1024 + fragment_row * 32 + fragment_column] = v4.x;
    tiles[simd_group * 1024 + fragment_row * 32 + (fragment_column + 1)] = v4.y;
    tiles[simd_group * 1024 + fragment_row * 32 + (8 + fragment_column)] = v5.x;
    tiles[simd_group * 1024 + fragment_row * 32 + (8 + fragment_column + 1)] = v5.y;
    tiles[simd_group * 1024 + fragment_row * 32 + (16 + fragment_column)] = v6.x;
    tiles[simd_group * 1024 + fragment_row * 32 + (16 + fragment_column + 1)] = v6.y;
    tiles[simd_group * 1024 + fragment_row * 32 + (24 + fragment_column)] = v7.x;
    tiles[simd_group * 1024 + fragment_row * 32 + (24 + fragment_column + 1)] = v7.y;
    tiles[simd_group * 1024 + (8 + fragment_row) * 32 + fragment_column] = v8.x;
    tiles[simd_group * 1024 + (8 + fragment_row) * 32 + (fragment_column + 1)] = v8.y;
    tiles[simd_group * 1024 + (8 + fragment_row) * 32 + (8 + fragment_column)] = v9.x;
    tiles[simd_group * 1024 + (8 + fragment_row) * 32 + (8 + fragment_column + 1)] = v9.y;
    tiles[simd_group * 1024 + (8 + fragment_row) * 32 + (16 + fragment_column)] = v10.x;
    tiles[simd_group * 1024 + (8 + fragment_row) * 32 + (16 + fragment_column + 1)] = v10.y;
    tiles[simd_group * 1024 + (8 + fragment_row) * 32 + (24 + fragment_column)] = v11.x;
    tiles[simd_group * 1024 + (8 + fragment_row) * 32 + (24 + fragment_column + 1)] = v11.y;
    tiles[simd_group * 1024 + (16 + fragment_row) * 32 + fragment_column] = v12.x;
    tiles[simd_group * 1024 + (16 + fragment_row) * 32 + (fragment_column + 1)] = v12.y;
    tiles[simd_group * 1024 + (16 + fragment_row) * 32 + (8 + fragment_column)] = v13.x;
    tiles[simd_group * 1024 + (16 + fragment_row) * 32 + (8 + fragment_column + 1)] = v13.y;
    tiles[simd_group * 1024 + (16 + fragment_row) * 32 + (16 + fragment_column)] = v14.x;
    tiles[simd_group * 1024 + (16 + fragment_row) * 32 + (16 + fragment_column + 1)] = v14.y;
    tiles[simd_group * 1024 + (16 + fragment_row) * 32 + (24 + fragment_column)] = v15.x;
    tiles[simd_group * 1024 + (16 + fragment_row) * 32 + (24 + fragment_column + 1)] = v15.y;
    tiles[simd_group * 1024 + (24 + fragment_row) * 32 + fragment_column] = v16.x;
    tiles[simd_group * 1024 + (24 + fragment_row) * 32 + (fragment_column + 1)] = v16.y;
    tiles[simd_group * 1024 + (24 + fragment_row) * 32 + (8 + fragment_column)] = v17.x;
    tiles[simd_group * 1024 + (24 + fragment_row) * 32 + (8 + fragment_column + 1)] = v17.y;
    tiles[simd_group * 1024 + (24 + fragment_row) * 32 + (16 + fragment_column)] = v18.x;
    tiles[simd_group * 1024 + (24 + fragment_row) * 32 + (16 + fragment_column + 1)] = v18.y;
    tiles[simd_group * 1024 + (24 + fragment_row) * 32 + (24 + fragment_column)] = v19.x;
    tiles[simd_group * 1024 + (24 + fragment_row) * 32 + (24 + fragment_column + 1)] = v19.y;
    __syncthreads();
    for (int v108 = thread_index; v108 < 256; v108 += 128) {
        const int v109 = v108 / 8;
        const int v110 = v108 % 8;
        const int v111 = v110 * 4;
        const int v112 = v0 + v109;
        const int v113 = v1 + v111;
        const float4 v114 = *(const float4*)(tiles + v109 * 32 + v111);
        const float4 v115 = *(const float4*)(tiles + v109 * 32 + v111 + 1024);
        const float4 v116 = make_float4(v114.x + v115.x, v114.y + v115.y, v114.z + v115.z, v114.w + v115.w);
        const float4 v117 = *(const float4*)(tiles + v109 * 32 + v111 + 2048);
        const float4 v118 = *(const float4*)(tiles + v109 * 32 + v111 + 3072);
        const float4 v119 = make_float4(v117.x + v118.x, v117.y + v118.y, v117.z + v118.z, v117.w + v118.w);
        const float4 v120 = make_float4(v116.x + v119.x, v116.y + v119.y, v116.z + v119.z, v116.w + v119.w);
        *(float4*)(out + v112 * 256 + v113) = v120;
    }
}
