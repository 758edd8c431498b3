extern "C" __global__ void __launch_bounds__(256) prefill_last_row_f32(
    const float* __restrict__ x,
    const int* __restrict__ control,
    float* __restrict__ y
) {
    const int thread_index = (int)threadIdx.x;
    const int v3 = control[1];
    const int v4 = max(v3, 0);
    const int valid_5 = min(v4, 64);
    const int v8 = thread_index * 4;
    const int v9 = valid_5 - 1;
    const int v10 = max(v9, 0);
    const float4 v11 = v8 < 64 ? *(const float4*)(x + v10 * 64 + v8) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (v8 < 64) *(float4*)(y + v8) = v11;
}
