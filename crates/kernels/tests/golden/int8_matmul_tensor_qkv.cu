__device__ __forceinline__ float tile_bf16_to_f32(unsigned short b) {
    return __uint_as_float((unsigned int)b << 16);
}

struct tile_sums {
    float part[32];
};

__device__ __forceinline__ void tile_store(const tile_sums& sums, float* to) {
    to += threadIdx.x / 32 * 1024 + (threadIdx.x & 31);
#pragma unroll
    for (int n = 0; n < 32; n++) to[n * 32] = sums.part[n];
}

__device__ __forceinline__ void tile_product(tile_sums& sums, const float* left, const float* right) {
    left += threadIdx.x / 32 * 1024;
    right += (threadIdx.x & 31) * 64;
#pragma unroll 1
    for (int k = 0; k < 64; k++) {
        const float near = (right[k * 1]), far = (right[k * 1 + 2048]);
#pragma unroll
        for (int row = 0; row < 16; row++) {
            const float factor = (left[row * 64 + k]);
            sums.part[row * 2] = fmaf(factor, near, sums.part[row * 2]);
            sums.part[row * 2 + 1] = fmaf(factor, far, sums.part[row * 2 + 1]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(128, 1) int8_matmul_tensor_qkv(
    const float* __restrict__ a,
    const signed char* __restrict__ weights,
    const unsigned short* __restrict__ weights_scales,
    float* __restrict__ out
) {
    const int group_x = (int)blockIdx.x;
    const int thread_index = (int)threadIdx.x;
    __shared__ __align__(16) float tiles[8192];
    const int v1 = group_x * 64;
    tile_sums v2;
    #pragma unroll
    for (int e = 0; e < 32; e++) v2.part[e] = 0.0f;
    for (int v4 = 0; v4 < 64; v4 += 64) {
        for (int v6 = thread_index; v6 < 1024; v6 += 128) {
            const int v7 = v6 / 16;
            const int v8 = v6 % 16;
            const int v9 = v8 * 4;
            const int v11 = v4 + v9;
            const float4 v12 = *(const float4*)(a + v7 * 64 + v11);
            *(float4*)(tiles + v7 * 64 + v9) = v12;
        }
        for (int v13 = thread_index; v13 < 1024; v13 += 128) {
            const int v14 = v13 / 16;
            const int v15 = v13 % 16;
            const int v16 = v15 * 4;
            const int v17 = v4 + v16;
            const int v19 = v14 % 64;
            const int v20 = v1 + v19;
            const unsigned short v22 = weights_scales[v20];
            const float v23 = tile_bf16_to_f32(v22);
            const char4 v24 = *(const char4*)(weights + v20 * 64 + v17);
            const float4 v25 = make_float4((float)v24.x, (float)v24.y, (float)v24.z, (float)v24.w);
            const float4 v26 = make_float4(v23, v23, v23, v23);
            const float4 v27 = make_float4(v25.x * v26.x, v25.y * v26.y, v25.z * v26.z, v25.w * v26.w);
            *(float4*)(tiles + v14 * 64 + v16 + 4096) = v27;
        }
        __syncthreads();
        tile_product(v2, tiles, tiles + 4096);
        __syncthreads();
    }
    tile_store(v2, tiles);
    __syncthreads();
    for (int v29 = thread_index; v29 < 1024; v29 += 128) {
        const int v30 = v29 / 16;
        const int v31 = v29 % 16;
        const int v32 = v31 * 4;
        const int v34 = v1 + v32;
        const float4 v35 = *(const float4*)(tiles + v30 * 64 + v32);
        *(float4*)(out + v30 * 256 + v34) = v35;
    }
}
