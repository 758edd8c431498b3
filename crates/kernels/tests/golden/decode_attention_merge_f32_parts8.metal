#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(128)]]
kernel void decode_attention_merge_f32_parts8(
    device const float* maxima [[buffer(0)]],
    device const float* sums [[buffer(1)]],
    device const float* mixtures [[buffer(2)]],
    device float* mixed [[buffer(3)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]]
) {
    const int group_x = int(group_position.x);
    const int thread_index = int(thread_position);
    float v0 = (-1e30f);
    for (int v1 = 0; v1 < 8; v1 += 1) {
        const float v3 = maxima[group_x * 8 + v1];
        const float v4 = fmax(v0, v3);
        v0 = v4;
    }
    float v5 = 0.0f;
    for (int v6 = 0; v6 < 8; v6 += 1) {
        const float v8 = maxima[group_x * 8 + v6];
        const float v9 = v8 - v0;
        const float v10 = precise::exp(v9);
        const float v11 = sums[group_x * 8 + v6];
        const float v12 = fma(v10, v11, v5);
        v5 = v12;
    }
    for (int v13 = thread_index; v13 < 32; v13 += 128) {
        float v14 = 0.0f;
        for (int v15 = 0; v15 < 8; v15 += 1) {
            const float v17 = maxima[group_x * 8 + v15];
            const float v18 = v17 - v0;
            const float v19 = precise::exp(v18);
            const float v20 = mixtures[group_x * 256 + v15 * 32 + v13];
            const float v21 = fma(v19, v20, v14);
            v14 = v21;
        }
        const float v22 = v14 / v5;
        mixed[group_x * 32 + v13] = v22;
    }
}
