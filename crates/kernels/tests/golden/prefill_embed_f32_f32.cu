extern "C" __global__ void __launch_bounds__(32) prefill_embed_f32_f32(
    const int* __restrict__ tokens,
    const float* __restrict__ embedding,
    const int* __restrict__ control,
    float* __restrict__ x
) {
    const int group_y = (int)blockIdx.y;
    const int thread_index = (int)threadIdx.x;
    const int v3 = control[1];
    const int v4 = max(v3, 0);
    const int valid_5 = min(v4, 64);
    const int v8 = tokens[group_y];
    const int v9 = max(v8, 0);
    const int v10 = min(v9, 511);
    const bool v11 = thread_index < 16;
    if (v11) {
        const int v12 = thread_index * 4;
        const float4 v13 = *(const float4*)(embedding + v10 * 64 + v12);
        const bool v18 = group_y < valid_5;
        const float v19 = v18 ? v13.x : 0.0f;
        x[group_y * 64 + v12] = v19;
        const int v20 = v12 + 1;
        const float v21 = v18 ? v13.y : 0.0f;
        x[group_y * 64 + v20] = v21;
        const int v22 = v12 + 2;
        const float v23 = v18 ? v13.z : 0.0f;
        x[group_y * 64 + v22] = v23;
        const int v24 = v12 + 3;
        const float v25 = v18 ? v13.w : 0.0f;
        x[group_y * 64 + v24] = v25;
    }
}
