#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void rotary_table_fast(
    constant float& log2_theta [[buffer(0)]],
    device float* rotary [[buffer(1)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]]
) {
    const int group_x = int(group_position.x);
    const int thread_index = int(thread_position);
    const int v0 = group_x * 256;
    const int v1 = v0 + thread_index;
    const int v2 = v1 / 16;
    const int v3 = v1 % 16;
    const float v4 = float(v3);
    const float v5 = v4 / 16.0f;
    const float v6 = v5 * log2_theta;
    const float v7 = -v6;
    const float v8 = precise::exp2(v7);
    const float v9 = float(v2);
    const float v10 = v9 * v8;
    const float v11 = fast::cos(v10);
    const float v12 = fast::sin(v10);
    rotary[v2 * 32 + v3 * 2] = v11;
    rotary[v2 * 32 + v3 * 2 + 1] = v12;
}
