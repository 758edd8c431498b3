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

extern "C" __global__ void __launch_bounds__(128, 1) int8_matmul_bm64_qkv(
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
    __shared__ __align__(16) float tiles[3072];
    const int v1 = group_x * 32;
    const int v2 = simd_group / 2;
    const int v3 = v2 * 32;
    const int v4 = simd_group % 2;
    const int v5 = v4 * 16;
    const float2 v6 = make_float2(0.0f, 0.0f);
    float2 v7 = v6;
    float2 v8 = v6;
    float2 v9 = v6;
    float2 v10 = v6;
    float2 v11 = v6;
    float2 v12 = v6;
    float2 v13 = v6;
    float2 v14 = v6;
    for (int v15 = 0; v15 < 64; v15 += 32) {
        for (int v24 = thread_index; v24 < 2048; v24 += 128) {
            const int v25 = v24 / 32;
            const int v26 = v24 % 32;
            const int v28 = v15 + v26;
            const float v29 = a[v25 * 64 + v28];
            tiles[v25 * 32 + v26] = v29;
        }
        for (int v30 = thread_index; v30 < 1024; v30 += 128) {
            const int v31 = v30 / 32;
            const int v32 = v30 % 32;
            const int v33 = v15 + v32;
            const int v35 = v31 % 32;
            const int v36 = v1 + v35;
            const unsigned short v38 = weights_scales[v36];
            const float v39 = tile_bf16_to_f32(v38);
            const signed char v40 = weights[v36 * 64 + v33];
            const float v41 = (float)v40;
            const float v42 = v41 * v39;
            tiles[v31 * 32 + v32 + 2048] = v42;
        }
        __syncthreads();
        float2 v43 = v7;
        float2 v44 = v8;
        float2 v45 = v9;
        float2 v46 = v10;
        float2 v47 = v11;
        float2 v48 = v12;
        float2 v49 = v13;
        float2 v50 = v14;
        for (int v51 = 0; v51 < 32; v51 += 8) {
            const float2 v60 = make_float2(tiles[(v5 + fragment_column) * 32 + (v51 + fragment_row) + 2048], tiles[(v5 + fragment_column + 1) * 32 + (v51 + fragment_row) + 2048]);
            const int v61 = v5 + 8;
            const float2 v62 = make_float2(tiles[(v61 + fragment_column) * 32 + (v51 + fragment_row) + 2048], tiles[(v61 + fragment_column + 1) * 32 + (v51 + fragment_row) + 2048]);
            const float2 v63 = make_float2(tiles[(v3 + fragment_row) * 32 + (v51 + fragment_column)], tiles[(v3 + fragment_row) * 32 + (v51 + fragment_column + 1)]);
            const float2 v64 = tile_multiply(v63, v60, v43);
            const float2 v65 = tile_multiply(v63, v62, v44);
            const int v66 = v3 + 8;
            const float2 v67 = make_float2(tiles[(v66 + fragment_row) * 32 + (v51 + fragment_column)], tiles[(v66 + fragment_row) * 32 + (v51 + fragment_column + 1)]);
            const float2 v68 = tile_multiply(v67, v60, v45);
            const float2 v69 = tile_multiply(v67, v62, v46);
            const int v70 = v3 + 16;
            const float2 v71 = make_float2(tiles[(v70 + fragment_row) * 32 + (v51 + fragment_column)], tiles[(v70 + fragment_row) * 32 + (v51 + fragment_column + 1)]);
            const float2 v72 = tile_multiply(v71, v60, v47);
            const float2 v73 = tile_multiply(v71, v62, v48);
            const int v74 = v3 + 24;
            const float2 v75 = make_float2(tiles[(v74 + fragment_row) * 32 + (v51 + fragment_column)], tiles[(v74 + fragment_row) * 32 + (v51 + fragment_column + 1)]);
            const float2 v76 = tile_multiply(v75, v60, v49);
            const float2 v77 = tile_multiply(v75, v62, v50);
            v43 = v64;
            v44 = v65;
            v45 = v68;
            v46 = v69;
            v47 = v72;
            v48 = v73;
            v49 = v76;
            v50 = v77;
        }
        __syncthreads();
        v7 = v43;
        v8 = v44;
        v9 = v45;
        v10 = v46;
        v11 = v47;
        v12 = v48;
        v13 = v49;
        v14 = v50;
    }
    tiles[(v3 + fragment_row) * 32 + (v5 + fragment_column)] = v7.x;
    tiles[(v3 + fragment_row) * 32 + (v5 + fragment_column + 1)] = v7.y;
    const int v78 = v5 + 8;
    tiles[(v3 + fragment_row) * 32 + (v78 + fragment_column)] = v8.x;
    tiles[(v3 + fragment_row) * 32 + (v78 + fragment_column + 1)] = v8.y;
    const int v79 = v3 + 8;
    tiles[(v79 + fragment_row) * 32 + (v5 + fragment_column)] = v9.x;
    tiles[(v79 + fragment_row) * 32 + (v5 + fragment_column + 1)] = v9.y;
    tiles[(v79 + fragment_row) * 32 + (v78 + fragment_column)] = v10.x;
    tiles[(v79 + fragment_row) * 32 + (v78 + fragment_column + 1)] = v10.y;
    const int v80 = v3 + 16;
    tiles[(v80 + fragment_row) * 32 + (v5 + fragment_column)] = v11.x;
    tiles[(v80 + fragment_row) * 32 + (v5 + fragment_column + 1)] = v11.y;
    tiles[(v80 + fragment_row) * 32 + (v78 + fragment_column)] = v12.x;
    tiles[(v80 + fragment_row) * 32 + (v78 + fragment_column + 1)] = v12.y;
    const int v81 = v3 + 24;
    tiles[(v81 + fragment_row) * 32 + (v5 + fragment_column)] = v13.x;
    tiles[(v81 + fragment_row) * 32 + (v5 + fragment_column + 1)] = v13.y;
    tiles[(v81 + fragment_row) * 32 + (v78 + fragment_column)] = v14.x;
    tiles[(v81 + fragment_row) * 32 + (v78 + fragment_column + 1)] = v14.y;
    __syncthreads();
    for (int v82 = thread_index; v82 < 512; v82 += 128) {
        const int v83 = v82 / 8;
        const int v84 = v82 % 8;
        const int v85 = v84 * 4;
        const int v87 = v1 + v85;
        const float4 v88 = *(const float4*)(tiles + v83 * 32 + v85);
        *(float4*)(out + v83 * 256 + v87) = v88;
    }
}
