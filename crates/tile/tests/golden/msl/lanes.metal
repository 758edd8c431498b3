#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

inline int float_to_int(float x) {
    return x != x ? int(0) : x >= 2147483648.0f ? 2147483647 : x <= -2147483648.0f ? (-2147483647 - 1) : int(x);
}

[[max_total_threads_per_threadgroup(128)]]
kernel void lanes(
    device const float* x [[buffer(0)]],
    device float* floats [[buffer(1)]],
    device int* ints [[buffer(2)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]],
    uint simd_group_index [[simdgroup_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int group_x = int(group_position.x);
    const int thread_index = int(thread_position);
    const int simd_group = int(simd_group_index);
    const int lane = int(lane_index);
    threadgroup float partial0[4];
    threadgroup float partial1[4];
    threadgroup float partial2[4];
    threadgroup int partial3[4];
    threadgroup uint partial4[4];
    const float v0 = x[group_x * 128 + thread_index];
    const float v1 = v0 * 1000.0f;
    const int v2 = float_to_int(v1);
    const float v3 = simd_sum(v0);
    const float v4 = simd_max(v0);
    const float v5 = simd_min(v0);
    const float v6 = simd_shuffle_xor(v0, ushort(5));
    const float v7 = simd_shuffle(v0, ushort(lane + 3 < 32 ? lane + 3 : lane));
    const int v8 = v2 & 31;
    const float v9 = simd_shuffle(v0, ushort(v8));
    const float v10 = simd_sum(v0);
    const bool v11 = lane == 0;
    if (v11) partial0[simd_group] = v10;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float v12 = lane < 4 ? partial0[lane] : (-0.0f);
    const float v13 = simd_sum(v12);
    const float v14 = simd_max(v0);
    if (v11) partial1[simd_group] = v14;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float v15 = lane < 4 ? partial1[lane] : as_type<float>(0xff800000u);
    const float v16 = simd_max(v15);
    const float v17 = simd_min(v0);
    if (v11) partial2[simd_group] = v17;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float v18 = lane < 4 ? partial2[lane] : as_type<float>(0x7f800000u);
    const float v19 = simd_min(v18);
    floats[group_x * 1152 + thread_index] = v3;
    floats[group_x * 1152 + thread_index + 128] = v4;
    floats[group_x * 1152 + thread_index + 256] = v5;
    floats[group_x * 1152 + thread_index + 384] = v6;
    floats[group_x * 1152 + thread_index + 512] = v7;
    floats[group_x * 1152 + thread_index + 640] = v9;
    floats[group_x * 1152 + thread_index + 768] = v13;
    floats[group_x * 1152 + thread_index + 896] = v16;
    floats[group_x * 1152 + thread_index + 1024] = v19;
    const uint v20 = as_type<uint>(v2);
    const int v21 = simd_sum(v2);
    const int v22 = simd_max(v2);
    const int v23 = simd_min(v2);
    const uint v24 = simd_max(v20);
    const int v25 = int(v24);
    const uint v26 = simd_min(v20);
    const uint v27 = simd_sum(v20);
    const uint v28 = v26 + v27;
    const int v29 = int(v28);
    const bool v30 = v0 > 0.0f;
    const bool v31 = simd_shuffle_xor(int(v30), ushort(1)) != 0;
    const int v32 = int(v31);
    const int v33 = simd_max(v2);
    if (v11) partial3[simd_group] = v33;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const int v34 = lane < 4 ? partial3[lane] : (-2147483647 - 1);
    const int v35 = simd_max(v34);
    const uint v36 = simd_min(v20);
    if (v11) partial4[simd_group] = v36;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint v37 = lane < 4 ? partial4[lane] : 4294967295u;
    const uint v38 = simd_min(v37);
    const int v39 = int(v38);
    const bfloat v40 = bfloat(v0);
    const bfloat v41 = as_type<bfloat>(simd_shuffle(as_type<ushort>(v40), ushort(lane + 1 < 32 ? lane + 1 : lane)));
    const float v42 = float(v41);
    const float v43 = v42 * 8.0f;
    const half v44 = half(v0);
    const half v45 = simd_shuffle_xor(v44, ushort(2));
    const float v46 = float(v45);
    const float v47 = v46 * 8.0f;
    const float v48 = v43 + v47;
    const char v49 = char(v2);
    const char v50 = simd_shuffle(v49, ushort(3));
    const float v51 = float(v50);
    const float v52 = v48 + v51;
    const int v53 = float_to_int(v52);
    ints[group_x * 1152 + thread_index] = v21;
    ints[group_x * 1152 + thread_index + 128] = v22;
    ints[group_x * 1152 + thread_index + 256] = v23;
    ints[group_x * 1152 + thread_index + 384] = v25;
    ints[group_x * 1152 + thread_index + 512] = v29;
    ints[group_x * 1152 + thread_index + 640] = v32;
    ints[group_x * 1152 + thread_index + 768] = v35;
    ints[group_x * 1152 + thread_index + 896] = v39;
    ints[group_x * 1152 + thread_index + 1024] = v53;
    const bool v54 = simd_group == 1;
    if (v54) {
        const float v55 = simd_sum(v0);
        const float v56 = v55 * 2.0f;
        floats[group_x * 1152 + thread_index] = v56;
    }
}
