#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(32)]]
kernel void overlap_append_f32(
    device const int* control [[buffer(0)]],
    device const float* fresh [[buffer(1)]],
    device float* cache [[buffer(2)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]]
) {
    const int group_x = int(group_position.x);
    const int group_y = int(group_position.y);
    const int thread_index = int(thread_position);
    const int v0 = control[1];
    const int v1 = max(v0, 0);
    const int position_2 = min(v1, 63);
    const float v3 = fresh[group_y * 128 + group_x * 64 + thread_index];
    cache[group_y * 8192 + group_x * 4096 + position_2 * 32 + thread_index] = v3;
    const float v4 = fresh[group_y * 128 + group_x * 64 + thread_index + 32];
    cache[group_y * 8192 + group_x * 4096 + position_2 * 32 + thread_index + 2048] = v4;
}
