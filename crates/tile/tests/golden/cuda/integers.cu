template <class To, class From> __device__ __forceinline__ To tile_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "bits");
    union { From from; To to; } both;
    both.from = from;
    return both.to;
}

extern "C" __global__ void __launch_bounds__(128) integers(
    const int* __restrict__ x,
    int* __restrict__ signed_,
    unsigned int* __restrict__ unsigned_,
    const int n
) {
    const int thread_index = (int)threadIdx.x;
    const int v0 = x[thread_index * 2];
    const int v1 = x[thread_index * 2 + 1];
    const int v2 = v1 & 1023;
    const int v3 = max(v2, 1);
    const int v4 = (int)((unsigned int)v0 + (unsigned int)v1);
    const int v5 = (int)((unsigned int)v0 - (unsigned int)v1);
    const int v6 = (int)((unsigned int)v0 * (unsigned int)v1);
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
    const int v18 = (int)(0u - (unsigned int)v0);
    const int v19 = abs(v0);
    const bool v20 = v0 < v1;
    const bool v21 = v0 == n;
    const bool v22 = !v21;
    const bool v23 = v20 && v22;
    const bool v24 = v0 >= 0;
    const bool v25 = v1 <= n;
    const bool v26 = v24 != v25;
    const bool v27 = v23 || v26;
    const int v28 = (int)v27;
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
    const unsigned int v33 = (unsigned int)v0;
    const unsigned int v34 = tile_bits<unsigned int>(v1);
    const unsigned int v35 = v33 + v34;
    const unsigned int v36 = v33 - v34;
    const unsigned int v37 = v33 * v34;
    const unsigned int v38 = v34 & 1023u;
    const unsigned int v39 = max(v38, 1u);
    const unsigned int v40 = v33 / v39;
    const unsigned int v41 = v33 % v39;
    const unsigned int v42 = min(v33, v34);
    const unsigned int v43 = max(v33, v34);
    const unsigned int v44 = v34 & 31u;
    const unsigned int v45 = v33 >> v44;
    const bool v46 = v33 != v34;
    const unsigned int v47 = (unsigned int)v46;
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
