#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void vector_add(
    device const float* a [[buffer(0)]],
    device const float* b [[buffer(1)]],
    device float* sum [[buffer(2)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]]
) {
    const int group_x = int(group_position.x);
    const int thread_index = int(thread_position);
    const int v0 = group_x * 256;
    const int i_1 = v0 + thread_index;
    const float v2 = i_1 < 1000 ? a[i_1] : 0.0f;
    const float v3 = i_1 < 1000 ? b[i_1] : 0.0f;
    const float v4 = v2 + v3;
    if (i_1 < 1000) sum[i_1] = v4;
}
