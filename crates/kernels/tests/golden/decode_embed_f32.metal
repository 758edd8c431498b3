#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void decode_embed_f32(
    device const int* control [[buffer(0)]],
    device const float* embedding [[buffer(1)]],
    device float* x [[buffer(2)]],
    uint thread_position [[thread_index_in_threadgroup]]
) {
    const int thread_index = int(thread_position);
    const int v2 = control[0];
    const int v3 = max(v2, 0);
    const int token_4 = min(v3, 511);
    const bool v5 = thread_index < 16;
    if (v5) {
        const int v6 = thread_index * 4;
        const float4 v7 = *(device const float4*)(embedding + token_4 * 64 + v6);
        x[v6] = v7.x;
        const int v12 = v6 + 1;
        x[v12] = v7.y;
        const int v13 = v6 + 2;
        x[v13] = v7.z;
        const int v14 = v6 + 3;
        x[v14] = v7.w;
    }
}
