#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void prefill_swiglu_f32(
    device const float* gate_up [[buffer(0)]],
    device float* activation [[buffer(1)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]]
) {
    const int group_y = int(group_position.y);
    const int thread_index = int(thread_position);
    const int v2 = thread_index * 4;
    const float4 v3 = v2 < 160 ? *(device const float4*)(gate_up + group_y * 320 + v2) : float4(0.0f);
    const float4 v4 = v2 < 160 ? *(device const float4*)(gate_up + group_y * 320 + v2 + 160) : float4(0.0f);
    const float v6 = fabs(v3.x);
    const float v7 = -v6;
    const float v8 = precise::exp(v7);
    const bool v9 = v3.x >= 0.0f;
    const float v10 = v8 + 1.0f;
    const float v11 = 1.0f / v10;
    const float v12 = v8 / v10;
    const float v13 = v9 ? v11 : v12;
    const float v14 = v3.x * v13;
    const float v16 = v14 * v4.x;
    const float v18 = fabs(v3.y);
    const float v19 = -v18;
    const float v20 = precise::exp(v19);
    const bool v21 = v3.y >= 0.0f;
    const float v22 = v20 + 1.0f;
    const float v23 = 1.0f / v22;
    const float v24 = v20 / v22;
    const float v25 = v21 ? v23 : v24;
    const float v26 = v3.y * v25;
    const float v28 = v26 * v4.y;
    const float v30 = fabs(v3.z);
    const float v31 = -v30;
    const float v32 = precise::exp(v31);
    const bool v33 = v3.z >= 0.0f;
    const float v34 = v32 + 1.0f;
    const float v35 = 1.0f / v34;
    const float v36 = v32 / v34;
    const float v37 = v33 ? v35 : v36;
    const float v38 = v3.z * v37;
    const float v40 = v38 * v4.z;
    const float v42 = fabs(v3.w);
    const float v43 = -v42;
    const float v44 = precise::exp(v43);
    const bool v45 = v3.w >= 0.0f;
    const float v46 = v44 + 1.0f;
    const float v47 = 1.0f / v46;
    const float v48 = v44 / v46;
    const float v49 = v45 ? v47 : v48;
    const float v50 = v3.w * v49;
    const float v52 = v50 * v4.w;
    const float4 v53 = float4(v16, v28, v40, v52);
    if (v2 < 160) *(device float4*)(activation + group_y * 160 + v2) = v53;
}
