#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(128)]]
kernel void integers(
    device const int* x [[buffer(0)]],
    device int* signed_ [[buffer(1)]],
    device uint* unsigned_ [[buffer(2)]],
    constant int& n [[buffer(3)]],
    uint thread_position [[thread_index_in_threadgroup]]
) {
    const int thread_index = int(thread_position);
    const int v0 = x[thread_index * 2];
    const int v1 = x[thread_index * 2 + 1];
    const int v2 = v1 & 1023;
    const int v3 = max(v2, 1);
    const int v4 = int(uint(v0) + uint(v1));
    const int v5 = int(uint(v0) - uint(v1));
    const int v6 = int(uint(v0) * uint(v1));
    const int v7 = v0 / v3;
    const int v8 = v0 % v3;
    const int v9 = min(v0, v1);
    const int v10 = max(v0, v1);
    const int v11 = v0 & v1;
    const int v12 = v0 | v1;
    const int v13 = v0 ^ v1;
    const int v14 = ~v0;
    const int v15 = v1 & 31;
    const int v16 = v0 << v15;
    const int v17 = v0 >> v15;
    const int v18 = int(0u - uint(v0));
    const int v19 = abs(v0);
    const bool v20 = v0 < v1;
    const bool v21 = v0 == n;
    const bool v22 = !v21;
    const bool v23 = v20 && v22;
    const bool v24 = v0 >= 0;
    const bool v25 = v1 <= n;
    const bool v26 = v24 != v25;
    const bool v27 = v23 || v26;
    const int v28 = int(v27);
    const bool v29 = v0 > v1;
    const int v30 = v29 ? v0 : v1;
    const int v31 = max(v30, n);
    const int v32 = min(v31, 100);
    signed_[thread_index] = v4;
    signed_[thread_index + 128] = v5;
    signed_[thread_index + 256] = v6;
    signed_[thread_index + 384] = v7;
    signed_[thread_index + 512] = v8;
    signed_[thread_index + 640] = v9;
    signed_[thread_index + 768] = v10;
    signed_[thread_index + 896] = v11;
    signed_[thread_index + 1024] = v12;
    signed_[thread_index + 1152] = v13;
    signed_[thread_index + 1280] = v14;
    signed_[thread_index + 1408] = v16;
    signed_[thread_index + 1536] = v17;
    signed_[thread_index + 1664] = v18;
    signed_[thread_index + 1792] = v19;
    signed_[thread_index + 1920] = v28;
    signed_[thread_index + 2048] = v32;
    const uint v33 = uint(v0);
    const uint v34 = as_type<uint>(v1);
    const uint v35 = v33 + v34;
    const uint v36 = v33 - v34;
    const uint v37 = v33 * v34;
    const uint v38 = v34 & 1023u;
    const uint v39 = max(v38, 1u);
    const uint v40 = v33 / v39;
    const uint v41 = v33 % v39;
    const uint v42 = min(v33, v34);
    const uint v43 = max(v33, v34);
    const uint v44 = v34 & 31u;
    const uint v45 = v33 >> v44;
    const bool v46 = v33 != v34;
    const uint v47 = uint(v46);
    unsigned_[thread_index] = v35;
    unsigned_[thread_index + 128] = v36;
    unsigned_[thread_index + 256] = v37;
    unsigned_[thread_index + 384] = v40;
    unsigned_[thread_index + 512] = v41;
    unsigned_[thread_index + 640] = v42;
    unsigned_[thread_index + 768] = v43;
    unsigned_[thread_index + 896] = v45;
    unsigned_[thread_index + 1024] = v47;
}
