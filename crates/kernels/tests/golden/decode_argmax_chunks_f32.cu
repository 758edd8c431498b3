__device__ __forceinline__ float tile_simd_max_f32(float v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const float w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = fmaxf(v, w);
    }
    return v;
}

__device__ __forceinline__ int tile_simd_min_i32(int v) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const int w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = min(v, w);
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(256) decode_argmax_chunks_f32(
    const float* __restrict__ logits,
    float* __restrict__ best,
    int* __restrict__ at
) {
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    __shared__ __align__(16) float values_of[8];
    __shared__ __align__(16) int ids_of[8];
    float v0 = __int_as_float(0xff800000);
    int v1 = 512;
    for (int v2 = thread_index; v2 < 1024; v2 += 256) {
        const float v7 = v2 < 512 ? logits[v2] : __int_as_float(0xff800000);
        const bool v8 = v7 > v0;
        const bool v9 = v7 == v0;
        const bool v10 = v2 < v1;
        const bool v11 = v9 && v10;
        const bool v12 = v8 || v11;
        const float v13 = v12 ? v7 : v0;
        const int v14 = v12 ? v2 : v1;
        v0 = v13;
        v1 = v14;
    }
    const float v15 = tile_simd_max_f32(v0);
    const bool v16 = v0 == v15;
    const int v17 = v16 ? v1 : 512;
    const int v18 = tile_simd_min_i32(v17);
    const bool v19 = lane == 0;
    if (v19) values_of[simd_group] = v15;
    if (v19) ids_of[simd_group] = v18;
    __syncthreads();
    const float v20 = lane < 8 ? values_of[lane] : __int_as_float(0xff800000);
    const int v21 = lane < 8 ? ids_of[lane] : 512;
    const float v22 = tile_simd_max_f32(v20);
    const bool v23 = v20 == v22;
    const int v24 = v23 ? v21 : 512;
    const int v25 = tile_simd_min_i32(v24);
    const bool v26 = thread_index == 0;
    if (v26) best[0] = v22;
    if (v26) at[0] = v25;
}
