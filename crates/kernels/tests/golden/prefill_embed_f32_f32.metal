#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(32)]]
kernel void prefill_embed_f32_f32(
    device const int* tokens [[buffer(0)]],
    device const float* embedding [[buffer(1)]],
    device const int* control [[buffer(2)]],
    device float* x [[buffer(3)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]]
) {
    const int group_y = int(group_position.y);
    const int thread_index = int(thread_position);
    const int v3 = control[1];
    const int v4 = max(v3, 0);
    const int valid_5 = min(v4, 64);
    const int v8 = tokens[group_y];
    const int v9 = max(v8, 0);
    const int v10 = min(v9, 511);
    const bool v11 = thread_index < 16;
    if (v11) {
        const int v12 = thread_index * 4;
        const float4 v13 = *(device const float4*)(embedding + v10 * 64 + v12);
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
