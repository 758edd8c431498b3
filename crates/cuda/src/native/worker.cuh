// What a worker of the persistent decoder works with: its ring of chunks, the exchanges, its products. Follows prelude.cuh.

struct Ctx {
    const Params& p;
    Shared& s;
    u32 ring; // shared address
    u32* xs; // [2][XS_LO]: hi and lo bf16 pairs in fragment order
    float* part;
    u32 worker, group, member, tid, warp, lane;
    u32 chunk, slot, phase; // next chunk to consume, where it lies, and its parity
    u32 since; // when this worker last gave something
    u32 tries;
    bool gone; // somebody gave up: nothing is waited for any more
    u64 deadline;
    // Every wait counts its tries; now and then it looks at the clock and at the word by which others give up.
    __device__ __forceinline__ bool expired(u32 where) {
        if (gone || (++tries & 0xfff) != 0) return gone;
        return gone = give_up(p.abort_word, deadline, where, worker, tid, chunk);
    }
    // N pairs of words a distance apart, once all carry the epoch: the loads of a round are in flight together.
    template <int N> __device__ __forceinline__ void poll(const u64* w, u32 stride, u32 epoch, uint4 (&v)[N], u32 where) {
        // No answer can be there sooner, and every look of all workers takes room from the weights and from the answers.
        while (cycles() - since < (where == 2 || where == 4 ? HOLD_ATTENTION : HOLD)) {}
        bool ready;
        do {
            ready = true;
#pragma unroll
            for (int i = 0; i < N; ++i) v[i] = get4(w + i * stride);
#pragma unroll
            for (int i = 0; i < N; ++i) ready = ready && fresh(v[i], epoch << 16);
        } while (!ready && !expired(where));
    }
    // Address of the chunk `i` places on.
    __device__ __forceinline__ u32 chunk_at(u32 i) const {
        u32 at = slot + i;
        return ring + (at < SLOTS ? at : at - SLOTS) * CHUNK;
    }
    // Waits until the next `count` chunks are in the ring: a lane looks at each.
    __device__ __forceinline__ void wait(u32 count) {
        u32 at = slot + lane, wrapped = at >= SLOTS;
        u32 bar = saddr(&s.full[at - (wrapped ? SLOTS : 0)]);
        while (!__all_sync(~0u, lane >= count || mbar_try(bar, phase ^ wrapped))) if (__any_sync(~0u, expired(100))) break;
    }
    // This warp has read them.
    __device__ __forceinline__ void release(u32 count) {
        u32 at = slot + lane;
        __syncwarp();
        if (lane < count) mbar_arrive(saddr(&s.empty[at - (at >= SLOTS ? SLOTS : 0)]));
        chunk += count;
        slot += count;
        if (slot >= SLOTS) { slot -= SLOTS; phase ^= 1; }
    }

    // Stores activations k .. k+3 as two bf16 parts where the fragments of one lane expect them: inside sixteen columns
    // a lane's quarter holds four neighbours (the weights are packed in the same order).
    __device__ __forceinline__ void put_x(u32 k, float a, float b, float c, float d) {
        u32 slice = k >> 5, step = (k >> 4) & 1, quad = (k >> 2) & 3;
        u32 at = ((slice * 4 + quad) * 2 + step) * 2;
        u32 h0 = bf16x2(a, b), h1 = bf16x2(c, d);
        *(uint2*)(xs + at) = make_uint2(h0, h1);
        *(uint2*)(xs + XS_LO + at) = make_uint2(bf16x2(a - lo_f(h0), b - hi_f(h0)), bf16x2(c - lo_f(h1), d - hi_f(h1)));
    }
    // This warp's slice of N chunks, into registers; the ring has its room back.
    template <int N> __device__ __forceinline__ void fetch(uint4 (&w)[N * 2]) {
        wait(N);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            u32 at = chunk_at(i) + warp * 1024 + lane * 16;
            w[i * 2] = lds128(at);
            w[i * 2 + 1] = lds128(at + 512);
        }
        release(N);
    }
    // Column n of B: hi and lo part of the activations, then the same for the second half of a split tile.
    __device__ __forceinline__ u32 x_at(u32 split) {
        u32 n = lane >> 2;
        return saddr(xs) + (n & 1) * (XS_LO * 4) + ((n >> 1) ? split * 2 : 0) + (warp * 4 + (lane & 3)) * 16;
    }
    __device__ __forceinline__ void store_part(float* base, u32 tile, const float (&c)[4], const float (&d)[4]) {
        u32 n = lane >> 2;
        float v = lane & 1 ? (c[2] + d[2]) + (c[3] + d[3]) : (c[0] + d[0]) + (c[1] + d[1]);
        if ((lane & 3) < 2) base[warp * PART_STRIDE + tile * 16 + (lane & 1) * 8 + n] = v;
    }
    // Products of TILES x 16 rows over SPAN x 256 columns; `split` > 0: rows 8..15 are rows 0..7 over the columns from
    // `split` on. This warp's sums go to part[warp][tile * 16 + row].
    template <int TILES, int SPAN, bool LO = true> __device__ __forceinline__ void multiply(const uint4 (&w)[TILES * SPAN * 2], u32 split) {
        u32 xa = x_at(split);
        uint4 x[SPAN];
        // A single tile is split into two sums more: a chain of products waits for each of its links.
        const int SUMS = TILES == 1 ? 2 : 1;
        float c[TILES * SUMS][4] = {}, d[TILES * SUMS][4] = {};
#pragma unroll
        for (int i = 0; i < SPAN; ++i) x[i] = lane < 16 && (LO || !(lane & 4)) ? lds128(xa + i * WARPS * 64) : make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int i = 0; i < SPAN; ++i)
#pragma unroll
            for (int t = 0; t < TILES; ++t) {
                int sum = t * SUMS + i % SUMS;
                mma(c[sum], w[(t * SPAN + i) * 2], x[i].x, x[i].y);
                mma(d[sum], w[(t * SPAN + i) * 2 + 1], x[i].z, x[i].w);
            }
#pragma unroll
        for (int t = 0; t < TILES; ++t) {
#pragma unroll
            for (int i = 0; i < 4 * (SUMS - 1); ++i) { c[t * SUMS][i] += c[t * SUMS + SUMS - 1][i]; d[t * SUMS][i] += d[t * SUMS + SUMS - 1][i]; }
            store_part(part, t, c[t * SUMS], d[t * SUMS]);
        }
    }
    __device__ __forceinline__ float row_sum(const float* base, u32 row) {
        float v[WARPS];
#pragma unroll
        for (int w = 0; w < WARPS; ++w) v[w] = base[w * PART_STRIDE + row];
        return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
    }
    __device__ __forceinline__ float rstd() {
        float4 v[WARPS / 4];
        float t = 0.f;
#pragma unroll
        for (int i = 0; i < WARPS / 4; ++i) v[i] = ((float4*)s.ss)[i];
#pragma unroll
        for (int i = 0; i < WARPS / 4; ++i) t += (v[i].x + v[i].y) + (v[i].z + v[i].w);
        return rsqrtf(t * (1.f / HIDDEN) + EPS);
    }
    __device__ __forceinline__ void put_ss(float v) {
#pragma unroll
        for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
        if (lane == 0) s.ss[warp] = v;
    }
    // Stages N x 1024 activations from an exchange; with `g` they are the residual stream: weighed by the norm's weight,
    // sums of squares left behind.
    template <int N, bool NORM> __device__ __forceinline__ void take(const u64* link, u32 epoch, const float4 (&w)[N], u32 where) {
        uint4 v[N];
        poll<N>(link + tid * 2, CONSUMERS * 2, epoch, v, where);
        float ss = 0.f;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            float x0, x1, x2, x3;
            unpack24(v[i].x, v[i].y, x0, x1);
            unpack24(v[i].z, v[i].w, x2, x3);
            if (NORM) {
                ss += x0 * x0 + x1 * x1 + x2 * x2 + x3 * x3;
                x0 *= w[i].x; x1 *= w[i].y; x2 *= w[i].z; x3 *= w[i].w;
            }
            put_x((tid + i * CONSUMERS) * 4, x0, x1, x2, x3);
        }
        if (NORM) put_ss(ss);
    }
    // Stages the product of gate and up, whose words hold three values of bf16: no lo parts.
    __device__ __forceinline__ void take_product(const u64* link, u32 epoch, u32 where) {
        const int N = INTER / 6 / CONSUMERS;
        uint4 v[N];
        poll<N>(link + tid * 2, CONSUMERS * 2, epoch, v, where);
        auto put_pair = [&](u32 k, u32 pair) {
            u32 slice = k >> 5, step = (k >> 4) & 1, quad = (k >> 2) & 3, half = (k >> 1) & 1;
            xs[((slice * 4 + quad) * 2 + step) * 2 + half] = pair;
        };
#pragma unroll
        for (int i = 0; i < N; ++i) {
            u32 k = (tid + i * CONSUMERS) * 6;
            put_pair(k, v[i].x);
            put_pair(k + 2, __byte_perm(v[i].y, v[i].z, 0x5410));
            put_pair(k + 4, __byte_perm(v[i].z, v[i].w, 0x5432));
        }
    }
    // The embedding's row as the residual stream.
    __device__ __forceinline__ void take_row(const u16* row, const float* g) {
        float ss = 0.f;
        for (u32 k = tid * 4; k < HIDDEN; k += CONSUMERS * 4) {
            uint2 e = *(const uint2*)(row + k);
            float4 w = *(const float4*)(g + k);
            float x0 = lo_f(e.x), x1 = hi_f(e.x), x2 = lo_f(e.y), x3 = hi_f(e.y);
            u32 at = k - worker * OUT_ROWS;
            if (at < OUT_ROWS) { s.xres[at] = x0; s.xres[at + 1] = x1; s.xres[at + 2] = x2; s.xres[at + 3] = x3; }
            ss += x0 * x0 + x1 * x1 + x2 * x2 + x3 * x3;
            put_x(k, x0 * w.x, x1 * w.y, x2 * w.z, x3 * w.w);
        }
        put_ss(ss);
    }
};
