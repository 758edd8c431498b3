#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(128)]]
kernel void functions(
    device const float* x [[buffer(0)]],
    constant float& scale [[buffer(1)]],
    device float* y [[buffer(2)]],
    uint thread_position [[thread_index_in_threadgroup]]
) {
    const int thread_index = int(thread_position);
    const float v0 = x[thread_index];
    const float v1 = v0 * scale;
    const float v2 = -v1;
    y[thread_index] = v2;
    const float v3 = fabs(v1);
    y[thread_index + 128] = v3;
    const float v4 = floor(v1);
    y[thread_index + 256] = v4;
    const float v5 = precise::sqrt(v3);
    y[thread_index + 384] = v5;
    const float v6 = v3 + 0.5f;
    const float v7 = precise::rsqrt(v6);
    y[thread_index + 512] = v7;
    const float v8 = precise::exp(v1);
    y[thread_index + 640] = v8;
    const float v9 = precise::exp2(v1);
    y[thread_index + 768] = v9;
    const float v10 = precise::log(v6);
    y[thread_index + 896] = v10;
    const float v11 = precise::sin(v1);
    y[thread_index + 1024] = v11;
    const float v12 = precise::cos(v1);
    y[thread_index + 1152] = v12;
    const float v13 = precise::tanh(v1);
    y[thread_index + 1280] = v13;
    const float v14 = fast::exp(v1);
    y[thread_index + 1408] = v14;
    const float v15 = fast::exp2(v1);
    y[thread_index + 1536] = v15;
    const float v16 = fast::sin(v1);
    y[thread_index + 1664] = v16;
    const float v17 = fast::cos(v1);
    y[thread_index + 1792] = v17;
    const float v18 = fma(v1, 0.5f, v1);
    y[thread_index + 1920] = v18;
    const float v19 = fmax(v1, (-0.5f));
    const float v20 = fmin(v19, 0.5f);
    y[thread_index + 2048] = v20;
}
