extern "C" __global__ void __launch_bounds__(256) vector_add(
    const float* __restrict__ a,
    const float* __restrict__ b,
    float* __restrict__ sum
) {
    const int group_x = (int)blockIdx.x;
    const int thread_index = (int)threadIdx.x;
    const int v0 = group_x * 256;
    const int i_1 = v0 + thread_index;
    const float v2 = i_1 < 1000 ? a[i_1] : 0.0f;
    const float v3 = i_1 < 1000 ? b[i_1] : 0.0f;
    const float v4 = v2 + v3;
    if (i_1 < 1000) sum[i_1] = v4;
}
