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

extern "C" __global__ void __launch_bounds__(128) gemm(
    const float* __restrict__ a,
    const float* __restrict__ b,
    float* __restrict__ c
) {
    const int group_x = (int)blockIdx.x;
    const int group_y = (int)blockIdx.y;
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    const int fragment_row = lane / 4, fragment_column = (lane & 3) * 2;
    __shared__ __align__(16) float tile_a[512];
    __shared__ __align__(16) float tile_b[512];
    __shared__ __align__(16) float edge[256];
    const int v0 = group_y * 32;
    const int v1 = group_x * 32;
    const int v2 = simd_group / 2;
    const int v3 = v2 * 16;
    const int v4 = simd_group % 2;
    const int v5 = v4 * 16;
    const float2 v6 = make_float2(0.0f, 0.0f);
    float2 v7 = v6;
    float2 v8 = v6;
    float2 v9 = v6;
    float2 v10 = v6;
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
        __syncthreads();
        const float2 v27 = make_float2(tile_a[(v3 + fragment_row) * 16 + fragment_column], tile_a[(v3 + fragment_row) * 16 + (fragment_column + 1)]);
        const float2 v28 = make_float2(tile_b[fragment_row * 32 + (v5 + fragment_column)], tile_b[fragment_row * 32 + (v5 + fragment_column + 1)]);
        const float2 v29 = tile_multiply(v27, v28, v7);
        const int v30 = v5 + 8;
        const float2 v31 = make_float2(tile_b[fragment_row * 32 + (v30 + fragment_column)], tile_b[fragment_row * 32 + (v30 + fragment_column + 1)]);
        const float2 v32 = tile_multiply(v27, v31, v8);
        const int v33 = v3 + 8;
        const float2 v34 = make_float2(tile_a[(v33 + fragment_row) * 16 + fragment_column], tile_a[(v33 + fragment_row) * 16 + (fragment_column + 1)]);
        const float2 v35 = make_float2(tile_b[fragment_row * 32 + (v5 + fragment_column)], tile_b[fragment_row * 32 + (v5 + fragment_column + 1)]);
        const float2 v36 = tile_multiply(v34, v35, v9);
        const float2 v37 = make_float2(tile_b[fragment_row * 32 + (v30 + fragment_column)], tile_b[fragment_row * 32 + (v30 + fragment_column + 1)]);
        const float2 v38 = tile_multiply(v34, v37, v10);
        const float2 v39 = make_float2(tile_a[(v3 + fragment_row) * 16 + (8 + fragment_column)], tile_a[(v3 + fragment_row) * 16 + (8 + fragment_column + 1)]);
        const float2 v40 = make_float2(tile_b[(8 + fragment_row) * 32 + (v5 + fragment_column)], tile_b[(8 + fragment_row) * 32 + (v5 + fragment_column + 1)]);
        const float2 v41 = tile_multiply(v39, v40, v29);
        const float2 v42 = make_float2(tile_b[(8 + fragment_row) * 32 + (v30 + fragment_column)], tile_b[(8 + fragment_row) * 32 + (v30 + fragment_column + 1)]);
        const float2 v43 = tile_multiply(v39, v42, v32);
        const float2 v44 = make_float2(tile_a[(v33 + fragment_row) * 16 + (8 + fragment_column)], tile_a[(v33 + fragment_row) * 16 + (8 + fragment_column + 1)]);
        const float2 v45 = make_float2(tile_b[(8 + fragment_row) * 32 + (v5 + fragment_column)], tile_b[(8 + fragment_row) * 32 + (v5 + fragment_column + 1)]);
        const float2 v46 = tile_multiply(v44, v45, v36);
        const float2 v47 = make_float2(tile_b[(8 + fragment_row) * 32 + (v30 + fragment_column)], tile_b[(8 + fragment_row) * 32 + (v30 + fragment_column + 1)]);
        const float2 v48 = tile_multiply(v44, v47, v38);
        __syncthreads();
        v7 = v41;
        v8 = v43;
        v9 = v46;
        v10 = v48;
    }
    const int v49 = v0 + v3;
    const int v50 = v1 + v5;
    if ((v49 + fragment_row) < 40) c[(v49 + fragment_row) * 64 + (v50 + fragment_column)] = v7.x;
    if ((v49 + fragment_row) < 40) c[(v49 + fragment_row) * 64 + (v50 + fragment_column + 1)] = v7.y;
    const int v51 = v50 + 8;
    if ((v49 + fragment_row) < 40) c[(v49 + fragment_row) * 64 + (v51 + fragment_column)] = v8.x;
    if ((v49 + fragment_row) < 40) c[(v49 + fragment_row) * 64 + (v51 + fragment_column + 1)] = v8.y;
    const int v52 = v49 + 8;
    if ((v52 + fragment_row) < 40) c[(v52 + fragment_row) * 64 + (v50 + fragment_column)] = v9.x;
    if ((v52 + fragment_row) < 40) c[(v52 + fragment_row) * 64 + (v50 + fragment_column + 1)] = v9.y;
    if ((v52 + fragment_row) < 40) c[(v52 + fragment_row) * 64 + (v51 + fragment_column)] = v10.x;
    if ((v52 + fragment_row) < 40) c[(v52 + fragment_row) * 64 + (v51 + fragment_column + 1)] = v10.y;
}
