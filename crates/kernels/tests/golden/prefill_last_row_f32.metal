#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void prefill_last_row_f32(
    device const float* x [[buffer(0)]],
    device const int* control [[buffer(1)]],
    device float* y [[buffer(2)]],
    uint thread_position [[thread_index_in_threadgroup]]
) {
    const int thread_index = int(thread_position);
    const int v3 = control[1];
    const int v4 = max(v3, 0);
    const int valid_5 = min(v4, 64);
    const int v8 = thread_index * 4;
    const int v9 = valid_5 - 1;
    const int v10 = max(v9, 0);
    const float4 v11 = v8 < 64 ? *(device const float4*)(x + v10 * 64 + v8) : float4(0.0f);
    if (v8 < 64) *(device float4*)(y + v8) = v11;
}
