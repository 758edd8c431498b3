extern "C" __global__ void __launch_bounds__(64) views(
    const float* __restrict__ weights,
    const float* __restrict__ huge,
    float* __restrict__ y
) {
    const int group_x = (int)blockIdx.x;
    const int thread_index = (int)threadIdx.x;
    __shared__ __align__(16) float all[256];
    const int v0 = thread_index % 3;
    const int v1 = thread_index % 16;
    const float v2 = weights[v0 * 40 + v1 + 8];
    all[thread_index] = v2;
    const int v3 = v0 - 1;
    const int v4 = thread_index / 16;
    const float v5 = v3 >= 0 && v1 < 8 ? weights[v3 * 40 + v4 * 8 + v1] : (-1.0f);
    all[thread_index + 128] = v5;
    __syncthreads();
    const bool v6 = thread_index < 32;
    const float4 v7 = *(const float4*)(all + v1 * 4);
    const int v8 = v1 + 32;
    const float4 v9 = *(const float4*)(all + v8 * 4);
    const float4 v10 = v6 ? v7 : v9;
    const float v13 = v10.x + v10.y;
    const float v16 = v10.z + v10.w;
    const float v17 = v13 + v16;
    y[group_x * 192 + thread_index] = v17;
    const int v19 = thread_index * 1000;
    const float v20 = false ? huge[((long long)(v19)) + 2147483648ll] : 0.0f;
    y[group_x * 192 + thread_index + 64] = v20;
    const int v21 = thread_index % 8;
    const float v22 = weights[group_x * 8 + v21 + 40];
    y[group_x * 192 + thread_index + 128] = v22;
}
