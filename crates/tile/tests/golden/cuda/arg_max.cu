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

extern "C" __global__ void __launch_bounds__(128) arg_max(
    const float* __restrict__ x,
    float* __restrict__ value,
    int* __restrict__ index
) {
    const int group_x = (int)blockIdx.x;
    const int thread_index = (int)threadIdx.x;
    const int simd_group = (int)(threadIdx.x / 32);
    const int lane = (int)(threadIdx.x & 31);
    __shared__ __align__(16) float partial0[4];
    __shared__ __align__(16) int partial1[4];
    float v0 = __int_as_float(0xff800000);
    int v1 = 2147483647;
    for (int v2 = thread_index; v2 < 700; v2 += 128) {
        const float v5 = x[group_x * 700 + v2];
        const bool v6 = v5 > v0;
        const float v7 = v6 ? v5 : v0;
        const int v8 = v6 ? v2 : v1;
        v0 = v7;
        v1 = v8;
    }
    const float v9 = tile_simd_max_f32(v0);
    const bool v10 = lane == 0;
    if (v10) partial0[simd_group] = v9;
    __syncthreads();
    const float v11 = lane < 4 ? partial0[lane] : __int_as_float(0xff800000);
    const float v12 = tile_simd_max_f32(v11);
    const bool v13 = v0 == v12;
    const int v14 = v13 ? v1 : 2147483647;
    const int v15 = tile_simd_min_i32(v14);
    if (v10) partial1[simd_group] = v15;
    __syncthreads();
    const int v16 = lane < 4 ? partial1[lane] : 2147483647;
    const int v17 = tile_simd_min_i32(v16);
    const bool v18 = thread_index == 0;
    if (v18) value[group_x] = v12;
    if (v18) index[group_x] = v17;
}
