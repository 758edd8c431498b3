#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void control(
    device const float* x [[buffer(0)]],
    device float* y [[buffer(1)]],
    constant int& n [[buffer(2)]],
    uint3 group_position [[threadgroup_position_in_grid]],
    uint thread_position [[thread_index_in_threadgroup]],
    uint lane_index [[thread_index_in_simdgroup]]
) {
    const int group_x = int(group_position.x);
    const int group_z = int(group_position.z);
    const int thread_index = int(thread_position);
    const int lane = int(lane_index);
    float v0 = 1.0f;
    float v1 = 2.0f;
    for (int v2 = 0; v2 < n; v2 += 1) {
        const float v5 = x[v2];
        const float v6 = v0 + v5;
        const float next_v0 = v1;
        const float next_v1 = v6;
        v0 = next_v0;
        v1 = next_v1;
    }
    const float v7 = v0 * 16.0f;
    const float v8 = v7 + v1;
    y[group_z * 512 + group_x * 256 + thread_index] = v8;
    float v9 = 0.0f;
    for (int v10 = 0; v10 <= n - 8; v10 += 8) {
        const float v12 = x[v10];
        const float v13 = v9 + v12;
        const int v14 = v10 + 1;
        const float v15 = x[v14];
        const float v16 = v13 + v15;
        const int v17 = v10 + 2;
        const float v18 = x[v17];
        const float v19 = v16 + v18;
        const int v20 = v10 + 3;
        const float v21 = x[v20];
        const float v22 = v19 + v21;
        const int v23 = v10 + 4;
        const float v24 = x[v23];
        const float v25 = v22 + v24;
        const int v26 = v10 + 5;
        const float v27 = x[v26];
        const float v28 = v25 + v27;
        const int v29 = v10 + 6;
        const float v30 = x[v29];
        const float v31 = v28 + v30;
        const int v32 = v10 + 7;
        const float v33 = x[v32];
        const float v34 = v31 + v33;
        v9 = v34;
    }
    const int v35 = n / 8;
    const int v36 = v35 * 8;
    float v37 = v9;
    for (int v38 = v36; v38 < n; v38 += 8) {
        const float v40 = x[v38];
        const float v41 = v40 * 0.5f;
        const float v42 = v37 + v41;
        const int v43 = v38 + 1;
        const float v44 = v43 < n ? x[v43] : 1.0f;
        const float v45 = v44 * 0.5f;
        const float v46 = v42 + v45;
        const int v47 = v38 + 2;
        const float v48 = v47 < n ? x[v47] : 1.0f;
        const float v49 = v48 * 0.5f;
        const float v50 = v46 + v49;
        const int v51 = v38 + 3;
        const float v52 = v51 < n ? x[v51] : 1.0f;
        const float v53 = v52 * 0.5f;
        const float v54 = v50 + v53;
        const int v55 = v38 + 4;
        const float v56 = v55 < n ? x[v55] : 1.0f;
        const float v57 = v56 * 0.5f;
        const float v58 = v54 + v57;
        const int v59 = v38 + 5;
        const float v60 = v59 < n ? x[v59] : 1.0f;
        const float v61 = v60 * 0.5f;
        const float v62 = v58 + v61;
        const int v63 = v38 + 6;
        const float v64 = v63 < n ? x[v63] : 1.0f;
        const float v65 = v64 * 0.5f;
        const float v66 = v62 + v65;
        const int v67 = v38 + 7;
        const float v68 = v67 < n ? x[v67] : 1.0f;
        const float v69 = v68 * 0.5f;
        const float v70 = v66 + v69;
        v37 = v70;
    }
    y[group_z * 512 + group_x * 256 + thread_index + 64] = v37;
    const int v71 = lane * 2;
    int v72 = 0;
    int v73 = 0;
    for (int v74 = v71; v74 < n; v74 += 64) {
        const int v79 = int(uint(v72) + uint(1));
        const int v88 = int(uint(v73) + uint(1));
        v72 = v79;
        v73 = v88;
    }
    const int v90 = int(uint(v72) * uint(100));
    const int v91 = int(uint(v90) + uint(v73));
    const float v92 = float(v91);
    y[group_z * 512 + group_x * 256 + thread_index + 128] = v92;
    y[group_z * 512 + group_x * 256 + thread_index + 192] = 0.0f;
    const bool v93 = thread_index >= 32;
    const bool v94 = n > 10;
    const bool v95 = v93 && v94;
    if (v95) {
        for (int v96 = thread_index; v96 < n; v96 += 7) {
            const int v97 = v96 % 3;
            const bool v98 = v97 == 0;
            if (v98) {
                const float v99 = float(v96);
                y[group_z * 512 + group_x * 256 + thread_index + 192] = v99;
            }
        }
    }
}
