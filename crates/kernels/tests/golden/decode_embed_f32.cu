extern "C" __global__ void __launch_bounds__(256) decode_embed_f32(
    const int* __restrict__ control,
    const float* __restrict__ embedding,
    float* __restrict__ x
) {
    const int thread_index = (int)threadIdx.x;
    const int v2 = control[0];
    const int v3 = max(v2, 0);
    const int token_4 = min(v3, 511);
    const bool v5 = thread_index < 16;
    if (v5) {
        const int v6 = thread_index * 4;
        const float4 v7 = *(const float4*)(embedding + token_4 * 64 + v6);
        x[v6] = v7.x;
        const int v12 = v6 + 1;
        x[v12] = v7.y;
        const int v13 = v6 + 2;
        x[v13] = v7.z;
        const int v14 = v6 + 3;
        x[v14] = v7.w;
    }
}
