__device__ __forceinline__ float tile_fast_exp2(float x) {
#ifdef __CUDA_ARCH__
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return exp2f(x);
#endif
}

extern "C" __global__ void __launch_bounds__(128) functions(
    const float* __restrict__ x,
    const float scale,
    float* __restrict__ y
) {
    const int thread_index = (int)threadIdx.x;
    const float v0 = x[thread_index];
    const float v1 = v0 * scale;
    const float v2 = -v1;
    y[thread_index] = v2;
    const float v3 = fabsf(v1);
    y[thread_index + 128] = v3;
    const float v4 = floorf(v1);
    y[thread_index + 256] = v4;
    const float v5 = __fsqrt_rn(v3);
    y[thread_index + 384] = v5;
    const float v6 = v3 + 0.5f;
    const float v7 = __frsqrt_rn(v6);
    y[thread_index + 512] = v7;
    const float v8 = expf(v1);
    y[thread_index + 640] = v8;
    const float v9 = exp2f(v1);
    y[thread_index + 768] = v9;
    const float v10 = logf(v6);
    y[thread_index + 896] = v10;
    const float v11 = sinf(v1);
    y[thread_index + 1024] = v11;
    const float v12 = cosf(v1);
    y[thread_index + 1152] = v12;
    const float v13 = tanhf(v1);
    y[thread_index + 1280] = v13;
    const float v14 = __expf(v1);
    y[thread_index + 1408] = v14;
    const float v15 = tile_fast_exp2(v1);
    y[thread_index + 1536] = v15;
    const float v16 = __sinf(v1);
    y[thread_index + 1664] = v16;
    const float v17 = __cosf(v1);
    y[thread_index + 1792] = v17;
    const float v18 = fmaf(v1, 0.5f, v1);
    y[thread_index + 1920] = v18;
    const float v19 = fmaxf(v1, (-0.5f));
    const float v20 = fminf(v19, 0.5f);
    y[thread_index + 2048] = v20;
}
