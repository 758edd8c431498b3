// Latency of one all-to-all exchange between 128 workers, alone and beside a stream of weights. METHOD: 0 readiness in
// the data, every lane polls; 1 one lane a warp polls; 2 a counter, then loads; 3 each producer writes into each
// consumer's own box; 4 a flag a worker, then loads; 5 as 0 with volatile loads; 6 a cluster shares the polling.
typedef unsigned int u32; typedef unsigned long long u64; typedef unsigned char u8;
#define W 128
#define T 512
#ifndef WORDS
#define WORDS 4      // words a worker
#endif
#define N (W * WORDS)
#ifndef CL
#define CL 1
#endif
__device__ __forceinline__ void put(u64* p, u64 v) { asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory"); }
__device__ __forceinline__ void put2(u64* p, u64 v, u64 w) { asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1,%2};" ::"l"(p), "l"(v), "l"(w) : "memory"); }
__device__ __forceinline__ void get2(const u64* p, u64& a, u64& b) { asm volatile("ld.relaxed.gpu.global.v2.u64 {%0,%1}, [%2];" : "=l"(a), "=l"(b) : "l"(p) : "memory"); }
__device__ __forceinline__ void get2v(const u64* p, u64& a, u64& b) { asm volatile("ld.volatile.global.v2.u64 {%0,%1}, [%2];" : "=l"(a), "=l"(b) : "l"(p) : "memory"); }
__device__ __forceinline__ u32 ldacq(const u32* p) { u32 a; asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(a) : "l"(p) : "memory"); return a; }
__device__ __forceinline__ u32 ldrlx(const u32* p) { u32 a; asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(a) : "l"(p) : "memory"); return a; }
__device__ __forceinline__ u32 saddr(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void bar() { asm volatile("bar.sync 1, 512;" ::: "memory"); }
__device__ __forceinline__ bool mbar_try(u32 a, u32 parity) { u32 ok; asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(a), "r"(parity) : "memory"); return ok; }
// link: method area; stages alternate between two buffers so that reuse is safe.
extern "C" __global__ void __launch_bounds__(T + 32, 1) edge(u64* link, u32* counters, u32 edges, u32 epoch0, const u8* stream, u64 stream_bytes, float* sink, u64* moved) {
    extern __shared__ __align__(1024) u8 mem[];
    __shared__ u64 full[16]; __shared__ volatile u32 stop; __shared__ __align__(16) float xs[N * 2]; __shared__ u64 cbar;
    u32 tid = threadIdx.x, me = blockIdx.x, lane = tid & 31, warp = tid >> 5;
    if (tid == 0) { stop = 0; for (int i = 0; i < 16; ++i) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(saddr(&full[i]))); asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(saddr(&cbar)), "r"(CL)); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
    __syncthreads();
#if CL > 1
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#endif
    if (tid >= T) {
        u64 n = 0;
        if (tid == T && stream) {
            const u8* src = stream + (u64)me * (stream_bytes / W); u64 off = 0;
            for (;; ++n) {
                u32 s = n % FLY;
                if (n >= FLY) { while (!mbar_try(saddr(&full[s]), (n / FLY - 1) & 1)) {} }
                if (stop) break;
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(saddr(&full[s])), "r"(PIECE) : "memory");
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(saddr(mem) + s * PIECE), "l"(src + off), "r"(PIECE), "r"(saddr(&full[s])) : "memory");
                off += PIECE; if (off + PIECE > stream_bytes / W) off = 0;
            }
            for (u64 i = n >= FLY ? n - FLY + 1 : 0; i < n; ++i) while (!mbar_try(saddr(&full[i % FLY]), (i / FLY) & 1)) {}
            moved[me] = n * PIECE;
        }
    } else {
    float acc = me;
    for (u32 e = 0; e < edges; ++e) {
        u32 ep = epoch0 + e;
        u64* buf = link + (e & 1) * (u64)N * (METHOD == 3 ? W : 1);
        u64 mine = ((u64)ep << 48) | (u32)__float_as_uint(acc) >> 8;
#if METHOD == 3
        // push: thread i serves worker i
        if (tid < W) { u64* d = buf + (u64)tid * N + me * WORDS; for (int i = 0; i < WORDS; i += 2) put2(d + i, mine, mine); }
        const u64* in = buf + (u64)me * N;
#elif METHOD == 2
        if (tid < WORDS) { put(buf + me * WORDS + tid, mine); }
        if (warp == 0) { __syncwarp(); if (lane == 0) asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counters + (e & 1) * 32) : "memory"); }
        const u64* in = buf;
#elif METHOD == 4
        if (warp == 0) { if (lane < WORDS) put(buf + me * WORDS + lane, mine); __syncwarp(); if (lane == 0) asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(counters + (e & 1) * W + me), "r"(ep) : "memory"); }
        const u64* in = buf;
#else
        if (tid < WORDS) put(buf + me * WORDS + tid, mine);
        const u64* in = buf;
#endif
#if METHOD == 2
        if (tid == 0) { u32 want = (e / 2 + 1) * W; while (ldacq(counters + (e & 1) * 32) < want) {} }
        bar();
#elif METHOD == 4
        if (tid < W) { while (ldacq(counters + (e & 1) * W + tid) != ep) {} }
        bar();
#endif
#if METHOD == 6
        // cluster: rank r polls its share and gives it to every CTA of the cluster
        u32 rank; asm("mov.u32 %0, %cluster_ctarank;" : "=r"(rank));
        const u32 share = N / CL;
        for (u32 k = tid * 2; k < share; k += T * 2) {
            u64 a, b; u32 at = rank * share + k;
            do get2(in + at, a, b); while ((u32)(a >> 48) != (ep & 0xffff) || (u32)(b >> 48) != (ep & 0xffff));
            for (u32 r = 0; r < CL; ++r) { u32 d; asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(d) : "r"(saddr(xs + at * 2)), "r"(r));
                asm volatile("st.shared::cluster.v4.f32 [%0], {%1,%2,%3,%4};" ::"r"(d), "f"(__uint_as_float((u32)a << 8)), "f"(1.f), "f"(__uint_as_float((u32)b << 8)), "f"(1.f) : "memory"); }
        }
        bar();
        if (tid < CL) { u32 d; asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(d) : "r"(saddr(&cbar)), "r"(tid)); asm volatile("fence.acq_rel.cluster;\nmbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(d) : "memory"); }
        { u32 ok; do { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(saddr(&cbar)), "r"(e & 1) : "memory"); } while (!ok); }
#else
        for (u32 k = tid * 2; k < N; k += T * 2) {
            u64 a, b;
#if METHOD == 1
            get2(in + k, a, b); u32 active = __activemask();
            bool ready = (u32)(a >> 48) == (ep & 0xffff) && (u32)(b >> 48) == (ep & 0xffff);
            u32 missing = __ballot_sync(active, !ready);
            while (missing) {
                if (lane == __ffs(missing) - 1) do get2(in + k, a, b); while ((u32)(a >> 48) != (ep & 0xffff) || (u32)(b >> 48) != (ep & 0xffff));
                __syncwarp(active);
                if (!ready) { get2(in + k, a, b); ready = (u32)(a >> 48) == (ep & 0xffff) && (u32)(b >> 48) == (ep & 0xffff); }
                missing = __ballot_sync(active, !ready);
            }
#elif METHOD == 5
            do get2v(in + k, a, b); while ((u32)(a >> 48) != (ep & 0xffff) || (u32)(b >> 48) != (ep & 0xffff));
#else
            do get2(in + k, a, b); while ((u32)(a >> 48) != (ep & 0xffff) || (u32)(b >> 48) != (ep & 0xffff));
#endif
            xs[k * 2] = __uint_as_float((u32)a << 8); xs[k * 2 + 2] = __uint_as_float((u32)b << 8);
        }
#endif
        bar();
        acc = xs[(tid * 2) % (N * 2)] * 0.5f + e;
        bar();
    }
    if (tid == 0) { sink[me] = acc; stop = 1; }
    }
#if CL > 1
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#endif
}
