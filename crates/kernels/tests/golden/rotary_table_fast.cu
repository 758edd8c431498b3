extern "C" __global__ void __launch_bounds__(256) rotary_table_fast(
    const float log2_theta,
    float* __restrict__ rotary
) {
    const int group_x = (int)blockIdx.x;
    const int thread_index = (int)threadIdx.x;
    const int v0 = group_x * 256;
    const int v1 = v0 + thread_index;
    const int v2 = v1 / 16;
    const int v3 = v1 % 16;
    const float v4 = (float)v3;
    const float v5 = v4 / 16.0f;
    const float v6 = v5 * log2_theta;
    const float v7 = -v6;
    const float v8 = exp2f(v7);
    const float v9 = (float)v2;
    const float v10 = v9 * v8;
    const float v11 = __cosf(v10);
    const float v12 = __sinf(v10);
    rotary[v2 * 32 + v3 * 2] = v11;
    rotary[v2 * 32 + v3 * 2 + 1] = v12;
}
