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
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]]
) {
    const int group_x = int(group_position.x);
    const int group_y = int(group_position.y);
    const int thread_index = int(thread_position);
    const int v0 = group_x * 256;
    const int v1 = v0 + thread_index;
    const int v2 = control[group_y * 2];
    const int v3 = max(v2, 0);
    const int token_4 = min(v3, 511);
    const bool v5 = v1 < 16;
    if (v5) {
        const int v6 = v1 * 4;
        const float4 v7 = *(device const float4*)(embedding + token_4 * 64 + v6);
        x[group_y * 64 + v6] = v7.x;
        const int v12 = v6 + 1;
        x[group_y * 64 + v12] = v7.y;
        const int v13 = v6 + 2;
        x[group_y * 64 + v13] = v7.z;
        const int v14 = v6 + 3;
        x[group_y * 64 + v14] = v7.w;
    }
}
