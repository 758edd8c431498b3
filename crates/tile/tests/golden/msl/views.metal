#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void views(
    device const float* weights [[buffer(0)]],
    device const float* huge [[buffer(1)]],
    device float* y [[buffer(2)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]]
) {
    const int group_x = int(group_position.x);
    const int thread_index = int(thread_position);
    alignas(16) threadgroup float all[256];
    const int v0 = thread_index % 3;
    const int v1 = thread_index % 16;
    const float v2 = weights[v0 * 40 + v1 + 8];
    all[thread_index] = v2;
    const int v3 = v0 - 1;
    const int v4 = thread_index / 16;
    const float v5 = v3 >= 0 && v1 < 8 ? weights[v3 * 40 + v4 * 8 + v1] : (-1.0f);
    all[thread_index + 128] = v5;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const bool v6 = thread_index < 32;
    const float4 v7 = *(threadgroup const float4*)(all + v1 * 4);
    const int v8 = v1 + 32;
    const float4 v9 = *(threadgroup const float4*)(all + v8 * 4);
    const float4 v10 = v6 ? v7 : v9;
    const float v13 = v10.x + v10.y;
    const float v16 = v10.z + v10.w;
    const float v17 = v13 + v16;
    y[group_x * 192 + thread_index] = v17;
    const int v19 = thread_index * 1000;
    const float v20 = false ? huge[long(v19) + 2147483648l] : 0.0f;
    y[group_x * 192 + thread_index + 64] = v20;
    const int v21 = thread_index % 8;
    const float v22 = weights[group_x * 8 + v21 + 40];
    y[group_x * 192 + thread_index + 128] = v22;
}
