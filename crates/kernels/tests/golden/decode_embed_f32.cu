extern "C" __global__ void __launch_bounds__(256) decode_embed_f32(
    const int* __restrict__ control,
    const float* __restrict__ embedding,
    float* __restrict__ x
) {
    const int group_x = (int)blockIdx.x;
    const int group_y = (int)blockIdx.y;
    const int thread_index = (int)threadIdx.x;
    const int v0 = group_x * 256;
    const int v1 = v0 + thread_index;
    const int v2 = control[group_y * 2];
    const int v3 = max(v2, 0);
    const int token_4 = min(v3, 511);
    const bool v5 = v1 < 16;
    if (v5) {
        const int v6 = v1 * 4;
        const float4 v7 = *(const float4*)(embedding + token_4 * 64 + v6);
        x[group_y * 64 + v6] = v7.x;
        const int v12 = v6 + 1;
        x[group_y * 64 + v12] = v7.y;
        const int v13 = v6 + 2;
        x[group_y * 64 + v13] = v7.z;
        const int v14 = v6 + 3;
        x[group_y * 64 + v14] = v7.w;
    }
}
