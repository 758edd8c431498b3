extern "C" __global__ void __launch_bounds__(32) prefill_residual_f32(
    float* __restrict__ x,
    const float* __restrict__ y
) {
    const int group_y = (int)blockIdx.y;
    const int thread_index = (int)threadIdx.x;
    const int v2 = thread_index * 4;
    const float4 v3 = v2 < 64 ? *(const float4*)(x + group_y * 64 + v2) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const float4 v4 = v2 < 64 ? *(const float4*)(y + group_y * 64 + v2) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const float4 v5 = make_float4(v3.x + v4.x, v3.y + v4.y, v3.z + v4.z, v3.w + v4.w);
    if (v2 < 64) *(float4*)(x + group_y * 64 + v2) = v5;
}
