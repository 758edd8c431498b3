// Persistent greedy decode of a Qwen3-shaped model: one cooperative launch runs many tokens.
//
// 128 workers (one a multiprocessor). The weights of a worker lie in one contiguous tape in the order they are used;
// one producer thread streams the tape, and the old KV blocks of the worker's head, through a shared-memory ring and
// never waits for a dependency. Eight consumer warps multiply with tensor cores: a chunk of 16 rows x 512 columns is
// eight k-slices, one a warp; activations enter as two bf16 parts (16 bits of mantissa) in two columns of B.
// Exchanges between workers carry readiness in the data: every 8-byte word holds values and an epoch.
#include "prelude.h"

struct Ctx {
    const Params& p;
    Shared& s;
    u8* ring;
    u32* xs;    // [2][MAXK / 2]: hi and lo bf16 pairs in fragment order
    float* part;
    u32 worker, group, member, tid, warp, lane;
    u32 chunk, slot; // next chunk to consume, and where it lies
    u32 tries;
    u64 deadline;

    // Every wait counts its tries; now and then it looks at the clock and at the word by which others give up.
    __device__ __forceinline__ bool expired(u32 where) {
        if ((++tries & 0xfff) != 0) return false;
        return give_up(p.abort_word, deadline, where, worker, tid, chunk);
    }
    // N pairs of words a distance apart, once all carry the epoch: the loads of a round are in flight together.
    template <int N> __device__ __forceinline__ void poll(const u64* w, u32 stride, u32 epoch, uint4 (&v)[N], u32 where) {
        bool ready;
        do {
            ready = true;
#pragma unroll
            for (int i = 0; i < N; ++i) v[i] = get4(w + i * stride);
#pragma unroll
            for (int i = 0; i < N; ++i) ready = ready && fresh(v[i], epoch << 16);
#ifdef NOPOLL
            ready = true;
#endif
        } while (!ready && !expired(where));
    }
    // Chunks chunk .. chunk + n - 1 are in the ring, for every warp. One warp asks, the barrier tells the others.
    __device__ __forceinline__ void begin(u32 n) {
        if (warp == WARPS - 1 && lane < n) {
            u32 i = chunk + lane;
            while (!mbar_try(saddr(&s.full[i % SLOTS]), (i / SLOTS) & 1) && !expired(100)) {}
        }
        sync_consumers();
    }
    // Gives chunks back; every warp has passed a barrier since it read them.
    __device__ __forceinline__ void release(u32 first, u32 n) {
        if (warp == WARPS - 1 && lane < n) mbar_arrive(saddr(&s.empty[(first + lane) % SLOTS]));
    }

    // Stores activations k .. k+3 as two bf16 parts where the fragments of one lane expect them: inside sixteen columns
    // a lane's quarter holds four neighbours (the weights are packed in the same order).
    __device__ __forceinline__ void put_x(u32 k, float a, float b, float c, float d) {
        u32 slice = k >> 6, step = (k >> 4) & 3, quad = (k >> 2) & 3;
        u32 at = ((slice * 4 + quad) * 4 + step) * 2;
        u32 h0 = bf16x2(a, b), h1 = bf16x2(c, d);
        *(uint2*)(xs + at) = make_uint2(h0, h1);
        *(uint2*)(xs + MAXK / 2 + at) = make_uint2(bf16x2(a - lo_f(h0), b - hi_f(h0)), bf16x2(c - lo_f(h1), d - hi_f(h1)));
    }
    // `tiles` of 16 rows, `span` chunks of 512 columns each; `split` > 0: rows 8..15 are rows 0..7 over the columns from
    // `split` on. This warp's sums go to part[warp][tile * 16 + row]. Every stage runs through this one loop, so that its
    // instructions stay close. Begins and ends with a barrier.
    __device__ __forceinline__ void multiply(u32 tiles, u32 span, u32 split) {
        // Columns of B: hi and lo part of the activations, then the same for the second half of a split tile.
        u32 n = lane >> 2;
        u32 xa = saddr(xs) + (n & 1) * (MAXK * 2) + ((n >> 1) ? split * 2 : 0) + (warp * 4 + (lane & 3)) * 32;
        u32 wa = saddr(ring) + warp * 2048 + lane * 16;
        float* out = part + warp * PART_STRIDE + (lane & 1) * 8 + n;
        u32 total = tiles * span, held = 0, left = 0;
        for (u32 t = 0; t < tiles; ++t) {
            float c[4] = {}, d[4] = {};
            u32 ax = xa;
#pragma unroll 1
            for (u32 i = 0; i < span; ++i) {
                if (left == 0) {
                    left = total < GROUP ? total : GROUP;
                    begin(left);
                    if (held) release(chunk - held, held);
                    held = left;
                    total -= left;
                }
                --left;
                u32 at = wa + slot * CHUNK;
                uint4 w0 = lds128(at), w1 = lds128(at + 512), w2 = lds128(at + 1024), w3 = lds128(at + 1536);
                uint4 x0 = make_uint4(0, 0, 0, 0), x1 = x0;
                if (n < 4) { x0 = lds128(ax); x1 = lds128(ax + 16); }
                mma(c, w0, x0.x, x0.y);
                mma(d, w1, x0.z, x0.w);
                mma(c, w2, x1.x, x1.y);
                mma(d, w3, x1.z, x1.w);
                ax += WARPS * 128;
                ++chunk;
                slot = slot + 1 == SLOTS ? 0 : slot + 1;
            }
            float v = lane & 1 ? (c[2] + d[2]) + (c[3] + d[3]) : (c[0] + d[0]) + (c[1] + d[1]);
            if ((lane & 3) < 2) *out = v;
            out += 16;
        }
        sync_consumers();
        release(chunk - held, held);
    }
    __device__ __forceinline__ float row_sum(u32 row) {
        float v[WARPS];
#pragma unroll
        for (int w = 0; w < WARPS; ++w) v[w] = part[w * PART_STRIDE + row];
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
    template <int N> __device__ __forceinline__ void take(const u64* link, u32 epoch, const float* g, u32 where) {
        uint4 v[N];
        float4 w[N];
        if (g) {
#pragma unroll
            for (int i = 0; i < N; ++i) w[i] = *(const float4*)(g + (tid + i * CONSUMERS) * 4);
        }
        poll<N>(link + tid * 2, CONSUMERS * 2, epoch, v, where);
        float ss = 0.f;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            float x0, x1, x2, x3;
            unpack24(v[i].x, v[i].y, x0, x1);
            unpack24(v[i].z, v[i].w, x2, x3);
            if (g) {
                ss += x0 * x0 + x1 * x1 + x2 * x2 + x3 * x3;
                x0 *= w[i].x; x1 *= w[i].y; x2 *= w[i].z; x3 *= w[i].w;
            }
            put_x((tid + i * CONSUMERS) * 4, x0, x1, x2, x3);
        }
        if (g) put_ss(ss);
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

// Attention of this worker's blocks for the GQA heads of its group; the merged result of its 16 x GQA / 2 dims to all.
__device__ __forceinline__ void attend(Ctx& c, u32 layer, u32 pos, u32 epoch) {
    const Params& p = c.p;
    Shared& s = c.s;
    bool owner = ((pos / BLOCK_POSITIONS) % GROUP_SIZE) == c.member;
    u32 kv0 = 0, kv1 = 0;
    // Parts of the group's vector: GQA query heads, one key head, one value head; one warp each.
    if (c.warp < GQA + 2) {
        float x[4];
        float4 w, t0, t1;
        if (c.warp <= GQA) {
            w = *(const float4*)(p.head_norms + ((u64)layer * 2 + (c.warp == GQA)) * HEAD_DIM + c.lane * 4);
            const float4* t = (const float4*)(p.rope + ((u64)pos * (HEAD_DIM / 2) + (c.lane & 15) * 4) * 2);
            t0 = t[0];
            t1 = t[1];
        }
        uint4 in[1];
        c.poll<1>(p.link + LINK_QKV + c.group * QKV_WORDS + (c.warp * HEAD_DIM + c.lane * 4) / 2, 0, epoch, in, 2);
        unpack24(in[0].x, in[0].y, x[0], x[1]);
        unpack24(in[0].z, in[0].w, x[2], x[3]);
        if (c.warp <= GQA) {
            float ss = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3];
#pragma unroll
            for (int d = 16; d; d >>= 1) ss += __shfl_xor_sync(~0u, ss, d);
            float r = rsqrtf(ss * (1.f / HEAD_DIM) + EPS);
            x[0] *= r * w.x; x[1] *= r * w.y; x[2] *= r * w.z; x[3] *= r * w.w;
            float cs[4] = {t0.x, t0.z, t1.x, t1.z}, sn[4] = {t0.y, t0.w, t1.y, t1.w};
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                float o = __shfl_xor_sync(~0u, x[i], 16);
                x[i] = c.lane < 16 ? x[i] * cs[i] - o * sn[i] : x[i] * cs[i] + o * sn[i];
            }
            if (c.warp < GQA) {
                const float scale = 1.4426950408889634f * 0.08838834764831845f;
                *(float4*)&s.q[c.warp * HEAD_DIM + c.lane * 4] = make_float4(x[0] * scale, x[1] * scale, x[2] * scale, x[3] * scale);
            }
        }
        if (c.warp >= GQA) {
            kv0 = bf16x2(x[0], x[1]);
            kv1 = bf16x2(x[2], x[3]);
            float* cur = c.warp == GQA ? s.kcur : s.vcur;
            *(float4*)&cur[c.lane * 4] = make_float4(lo_f(kv0), hi_f(kv0), lo_f(kv1), hi_f(kv1));
        }
    }
    sync_consumers();
    float q[GQA][8], o[GQA][8], m[GQA], l[GQA];
    u32 half = c.lane >> 4, dim = (c.lane & 15) * 8;
#pragma unroll
    for (int h = 0; h < GQA; ++h) {
        m[h] = -1e30f;
        l[h] = 0.f;
#pragma unroll
        for (int i = 0; i < 8; ++i) { q[h][i] = s.q[h * HEAD_DIM + dim + i]; o[h][i] = 0.f; }
    }
    u32 blocks = (pos + BLOCK_POSITIONS - 1) / BLOCK_POSITIONS;
    u32 mine_blocks = blocks > c.member ? (blocks - c.member + GROUP_SIZE - 1) / GROUP_SIZE : 0;
#pragma unroll 1
    for (u32 n = 0; n < mine_blocks; ++n) {
        // Four blocks at a time: one barrier for their arrival, which also says that the four before are read.
        if ((n & 3) == 0) {
            c.begin(mine_blocks - n < 4 ? mine_blocks - n : 4);
            if (n) c.release(c.chunk - 4, 4);
        }
        u32 b = c.member + n * GROUP_SIZE, base = saddr(c.ring) + c.slot * CHUNK;
        ++c.chunk;
        c.slot = c.slot + 1 == SLOTS ? 0 : c.slot + 1;
#pragma unroll
        for (int pass = 0; pass < BLOCK_POSITIONS / WARPS / 2; ++pass) {
            u32 row = pass * WARPS * 2 + c.warp * 2 + half, at = base + row * HEAD_DIM * 2 + dim * 2;
            uint4 k = lds128(at), v = lds128(at + CHUNK / 2);
            bool valid = b * BLOCK_POSITIONS + row < pos;
            float kf[8] = {lo_f(k.x), hi_f(k.x), lo_f(k.y), hi_f(k.y), lo_f(k.z), hi_f(k.z), lo_f(k.w), hi_f(k.w)};
            float vf[8] = {lo_f(v.x), hi_f(v.x), lo_f(v.y), hi_f(v.y), lo_f(v.z), hi_f(v.z), lo_f(v.w), hi_f(v.w)};
            float sc[GQA];
#pragma unroll
            for (int h = 0; h < GQA; ++h) {
                float d0 = 0.f, d1 = 0.f;
#pragma unroll
                for (int i = 0; i < 8; i += 2) { d0 = fmaf(q[h][i], kf[i], d0); d1 = fmaf(q[h][i + 1], kf[i + 1], d1); }
                sc[h] = d0 + d1;
            }
#pragma unroll
            for (int d = 8; d; d >>= 1)
#pragma unroll
                for (int h = 0; h < GQA; ++h) sc[h] += __shfl_xor_sync(~0u, sc[h], d);
            // Each half of the warp keeps its own running maximum: its positions are every other row. Rows past the
            // last position hold whatever the cache held, so they are replaced and not only weighed by zero.
#pragma unroll
            for (int h = 0; h < GQA; ++h) {
                float x = valid ? sc[h] : -1e30f;
                float mn = fmaxf(m[h], x);
                float f = exp2_fast(m[h] - mn), e = valid ? exp2_fast(x - mn) : 0.f;
                l[h] = l[h] * f + e;
                m[h] = mn;
#pragma unroll
                for (int i = 0; i < 8; ++i) o[h][i] = fmaf(e, valid ? vf[i] : 0.f, o[h][i] * f);
            }
        }
    }
    // The current position, from shared memory: its owner's warp 15, upper half.
    if (owner && c.warp == WARPS - 1) {
#pragma unroll
        for (int h = 0; h < GQA; ++h) {
            float d = 0.f;
#pragma unroll
            for (int i = 0; i < 8; ++i) d = fmaf(q[h][i], s.kcur[dim + i], d);
#pragma unroll
            for (int x = 8; x; x >>= 1) d += __shfl_xor_sync(~0u, d, x);
            if (half == 1) {
                float mn = fmaxf(m[h], d), f = exp2_fast(m[h] - mn), e = exp2_fast(d - mn);
                l[h] = l[h] * f + e;
                m[h] = mn;
#pragma unroll
                for (int i = 0; i < 8; ++i) o[h][i] = fmaf(e, s.vcur[dim + i], o[h][i] * f);
            }
        }
    }
    float* po = c.part; // [WARPS][GQA][HEAD_DIM]
#pragma unroll
    for (int h = 0; h < GQA; ++h) {
        float mo = __shfl_xor_sync(~0u, m[h], 16), lo = __shfl_xor_sync(~0u, l[h], 16);
        float mn = fmaxf(m[h], mo), f = exp2_fast(m[h] - mn), g = exp2_fast(mo - mn);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            float other = __shfl_xor_sync(~0u, o[h][i], 16);
            o[h][i] = half == 0 ? fmaf(o[h][i], f, other * g) : fmaf(other, g, o[h][i] * f);
        }
        float ls = half == 0 ? fmaf(l[h], f, lo * g) : fmaf(lo, g, l[h] * f);
        if (half == 0) {
            float* d = po + (c.warp * GQA + h) * HEAD_DIM + dim;
            *(float4*)d = make_float4(o[h][0], o[h][1], o[h][2], o[h][3]);
            *(float4*)(d + 4) = make_float4(o[h][4], o[h][5], o[h][6], o[h][7]);
        }
        if (c.lane == 0) { s.ml[c.warp][h][0] = mn; s.ml[c.warp][h][1] = ls; }
    }
    sync_consumers();
    if (mine_blocks) { u32 last = (mine_blocks - 1) % 4 + 1; c.release(c.chunk - last, last); }
    u32 active = pos / BLOCK_POSITIONS + 1;
    if (active > GROUP_SIZE) active = GROUP_SIZE;
    u64* mine = p.link + LINK_PART + ((u64)c.group * GROUP_SIZE) * PART_WORDS;
    if (c.member < active) {
        u64* dst = mine + (u64)c.member * PART_WORDS;
        for (u32 i = c.tid; i < GQA * HEAD_DIM; i += CONSUMERS) {
            u32 h = i / HEAD_DIM;
            float mw = s.ml[c.lane & (WARPS - 1)][h][0], lw = s.ml[c.lane & (WARPS - 1)][h][1], mx = mw;
#pragma unroll
            for (int d = WARPS / 2; d; d >>= 1) mx = fmaxf(mx, __shfl_xor_sync(~0u, mx, d));
            float f = exp2_fast(mw - mx), ls = f * lw;
#pragma unroll
            for (int d = WARPS / 2; d; d >>= 1) ls += __shfl_xor_sync(~0u, ls, d);
            float acc = 0.f;
#pragma unroll
            for (int w = 0; w < WARPS; ++w) acc = fmaf(__shfl_sync(~0u, f, w), po[w * GQA * HEAD_DIM + i], acc);
            put(dst + i, (u64)__float_as_uint(acc) | ((u64)epoch << 32));
            if ((i & (HEAD_DIM - 1)) == 0) {
                put(dst + GQA * HEAD_DIM + h * 2, (u64)__float_as_uint(mx) | ((u64)epoch << 32));
                put(dst + GQA * HEAD_DIM + h * 2 + 1, (u64)__float_as_uint(ls) | ((u64)epoch << 32));
            }
        }
    }
    // Merge: GQA * HEAD_DIM / GROUP_SIZE dims of this group, sixteen sources in sixteen lanes.
    const u32 share = GQA * HEAD_DIM / GROUP_SIZE;
    for (u32 d0 = c.tid >> 4; d0 < share; d0 += CONSUMERS / 16) {
        u32 i = c.member * share + d0, h = i / HEAD_DIM, src = c.lane & 15;
        float v = 0.f, mw = -1e30f, lw = 0.f;
        if (src < active) {
            const u64* w = mine + (u64)src * PART_WORDS;
            uint2 a;
            uint4 ml;
            do {
                a = get2(w + i);
                ml = get4(w + GQA * HEAD_DIM + h * 2);
#ifdef NOPOLL
                break;
#endif
            } while ((a.y != epoch || ml.y != epoch || ml.w != epoch) && !c.expired(3));
            v = __uint_as_float(a.x);
            mw = __uint_as_float(ml.x);
            lw = __uint_as_float(ml.z);
        }
        float mx = mw;
#pragma unroll
        for (int d = 8; d; d >>= 1) mx = fmaxf(mx, __shfl_xor_sync(~0u, mx, d));
        float f = exp2_fast(mw - mx);
        float num = f * v, den = f * lw;
#pragma unroll
        for (int d = 8; d; d >>= 1) { num += __shfl_xor_sync(~0u, num, d); den += __shfl_xor_sync(~0u, den, d); }
        float out = num / den, next = __shfl_down_sync(~0u, out, 16);
        if (c.lane == 0) put(p.link + LINK_O + (c.group * GQA * HEAD_DIM + i) / 2, pack24(out, next, epoch));
    }
    // The current position's K and V go to the cache off the critical path: they are next read a token later.
    if (owner && (c.warp == GQA || c.warp == GQA + 1)) {
        u8* block = p.kv + (((u64)layer * KV_HEADS + c.group) * p.kv_blocks + pos / BLOCK_POSITIONS) * CHUNK;
        *(uint2*)(block + (c.warp == GQA ? 0 : CHUNK / 2) + (pos % BLOCK_POSITIONS) * HEAD_DIM * 2 + c.lane * 8) = make_uint2(kv0, kv1);
    }
}

// The token chosen by all workers, from each one's best row.
__device__ __forceinline__ u32 agree(Ctx& c, u32 epoch, float best, u32 id) {
    const Params& p = c.p;
    Shared& s = c.s;
#pragma unroll
    for (int d = 16; d; d >>= 1) {
        float v = __shfl_xor_sync(~0u, best, d);
        u32 i = __shfl_xor_sync(~0u, id, d);
        if (v > best || (v == best && i < id)) { best = v; id = i; }
    }
    if (c.lane == 0) { s.best_v[c.warp] = best; s.best_i[c.warp] = id; }
    sync_consumers();
    u64* link = p.link + LINK_BEST;
    if (c.tid == 0) {
        for (int w = 0; w < WARPS; ++w)
            if (s.best_v[w] > best || (s.best_v[w] == best && s.best_i[w] < id)) { best = s.best_v[w]; id = s.best_i[w]; }
        put(link + c.worker * 2, (u64)__float_as_uint(best) | ((u64)epoch << 32));
        put(link + c.worker * 2 + 1, (u64)id | ((u64)epoch << 32));
    }
    // Every warp finds the maximum over the workers for itself.
    best = -3.4e38f;
    id = 0xffffffffu;
    for (u32 w = c.lane; w < WORKERS; w += 32) {
        uint4 v;
        do v = get4(link + w * 2); while ((v.y != epoch || v.w != epoch) && !c.expired(7));
        float f = __uint_as_float(v.x);
        u32 i = v.z;
        if (f > best || (f == best && i < id)) { best = f; id = i; }
    }
#pragma unroll
    for (int d = 16; d; d >>= 1) {
        float v = __shfl_xor_sync(~0u, best, d);
        u32 i = __shfl_xor_sync(~0u, id, d);
        if (v > best || (v == best && i < id)) { best = v; id = i; }
    }
    return id;
}

__device__ void produce(const Params& p, Shared& s, u8* ring, u32 worker) {
    u64 policy = evict_first();
    u32 group = worker / GROUP_SIZE, member = worker % GROUP_SIZE, n = 0;
    u32 first = (u32)((u64)HEAD_TILES_ALL * worker / WORKERS), last = (u32)((u64)HEAD_TILES_ALL * (worker + 1) / WORKERS);
    const u8* tape = p.tape + (u64)worker * p.tape_stride;
    bool going = true;
    auto send = [&](const void* src, u32 fly) {
        u32 slot = n % SLOTS;
        // More in flight than the bandwidth-delay product only queues, and the exchanges wait in that queue.
        if (n >= fly) { u32 i = n - fly; while (!mbar_try(saddr(&s.full[i % SLOTS]), (i / SLOTS) & 1)) {} }
        if (n >= SLOTS) {
            u32 parity = (n / SLOTS - 1) & 1;
            while (!mbar_try(saddr(&s.empty[slot]), parity))
                if (s.stop) { going = false; return; }
        }
#ifdef NOSTREAM
        if (n >= SLOTS) { mbar_arrive(saddr(&s.full[slot])); ++n; return; }
#endif
        mbar_expect(saddr(&s.full[slot]), CHUNK);
        bulk(saddr(ring) + slot * CHUNK, src, CHUNK, saddr(&s.full[slot]), policy);
        ++n;
    };
    for (u32 step = 0; going && step < p.steps; ++step) {
        u32 pos = p.position + step, blocks = (pos + BLOCK_POSITIONS - 1) / BLOCK_POSITIONS;
        const u8* at = tape;
        for (u32 layer = 0; going && layer < LAYERS; ++layer) {
            for (u32 i = 0; going && i < QKV_TILES * KH; ++i, at += CHUNK) send(at, FLY);
            const u8* kv = p.kv + ((u64)layer * KV_HEADS + group) * p.kv_blocks * CHUNK;
            for (u32 b = member; going && b < blocks; b += GROUP_SIZE) {
                // The last block was written by this worker a token ago.
                while (going && step && s.kv_written < step)
                    if (s.stop) going = false;
                if (going) send(kv + (u64)b * CHUNK, FLY);
            }
            for (u32 i = 0; going && i < OUT_ROWS / 8 * KQ + GU_TILES * KH + OUT_ROWS / 8 * KI; ++i, at += CHUNK) send(at, FLY);
        }
        for (u32 i = 0; going && i < (last - first) * KH; ++i, at += CHUNK) send(at, FLY_HEAD);
    }
    // What is in flight must land before the block may end.
    while (!s.stop) {}
    for (u32 i = n > SLOTS ? n - SLOTS : 0; i < n; ++i)
        while (!mbar_try(saddr(&s.full[i % SLOTS]), (i / SLOTS) & 1)) {}
}

extern "C" __global__ void __launch_bounds__(CONSUMERS + 32, 1) decode(const __grid_constant__ Params p) {
    extern __shared__ __align__(1024) u8 memory[];
    u8* ring = memory;
    u32* xs = (u32*)(memory + SLOTS * CHUNK);
    float* part = (float*)(xs + MAXK);
    Shared& s = *(Shared*)(part + WARPS * PART_STRIDE);
    u32 tid = threadIdx.x, worker = blockIdx.x;
    if (tid == 0) {
        for (int i = 0; i < SLOTS; ++i) { mbar_init(saddr(&s.full[i]), 1); mbar_init(saddr(&s.empty[i]), 1); }
        s.stop = 0;
        s.kv_written = 0;
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    if (tid >= CONSUMERS) {
        if (tid == CONSUMERS) produce(p, s, ring, worker);
        return;
    }
    Ctx c{p, s, ring, xs, part, worker, worker / GROUP_SIZE, worker % GROUP_SIZE, tid, tid / 32, tid % 32, 0, 0, 0, now_ns() + p.deadline_ns};
    u32 epoch = p.epoch, token = 0;
    u32 first_tile = (u32)((u64)HEAD_TILES_ALL * worker / WORKERS), last_tile = (u32)((u64)HEAD_TILES_ALL * (worker + 1) / WORKERS);
    for (u32 step = 0; step < p.steps; ++step) {
        int forced = p.forced[step];
        if (forced >= 0) token = (u32)forced;
        u32 pos = p.position + step;
        // Operations 4 l .. 4 l + 3 are a layer's QKV, O, gate/up and down; then spans of the head. They share one body.
        float best = -3.4e38f;
        u32 id = 0xffffffffu;
#pragma unroll 1
        for (u32 op = 0; op < 4 * LAYERS + HEAD_SPANS; ++op) {
            u32 kind = op < 4 * LAYERS ? op & 3 : 4, layer = op >> 2;
                        const float* g = p.norms + (u64)(kind == 4 ? 2 * LAYERS : 2 * layer + (kind >> 1)) * HIDDEN;
            u32 before = (epoch - 1) & 0xffff, tiles, span = KH, split = 0, rows;
            switch (kind) {
            case 0:
                tiles = QKV_TILES; rows = QKV_ROWS;
                if (op) c.take<HIDDEN / 1024>(p.link + LINK_X2, before, g, 1);
                else c.take_row(p.embedding + (u64)token * HIDDEN, g);
                break;
            case 1: tiles = OUT_ROWS / 8; rows = OUT_ROWS; span = KQ; split = Q_WIDTH / 2; c.take<Q_WIDTH / 1024>(p.link + LINK_O, epoch, nullptr, 4); break;
            case 2: tiles = GU_TILES; rows = 2 * MID_ROWS; c.take<HIDDEN / 1024>(p.link + LINK_X1, epoch, g, 5); break;
            case 3: tiles = OUT_ROWS / 8; rows = OUT_ROWS; span = KI; split = INTER / 2; c.take<INTER / 1024>(p.link + LINK_MID, epoch, nullptr, 8); break;
            default: {
                u32 t = first_tile + (op - 4 * LAYERS) * HEAD_SPAN, left = t < last_tile ? last_tile - t : 0;
                tiles = left < HEAD_SPAN ? left : HEAD_SPAN; rows = tiles * 16;
                if (op == 4 * LAYERS) {
                    // One fence a token: the copy engine reads this token's K and V in the next one.
                    asm volatile("fence.proxy.async;" ::: "memory");
                    c.take<HIDDEN / 1024>(p.link + LINK_X2, before, g, 6);
                }
            }
            }
            c.multiply(tiles, span, split);
            if (op == 4 * LAYERS && tid == 0) s.kv_written = step + 1;
            // One row a thread, in whole warps.
            if (tid < ((rows + 31) & ~31u)) {
                u32 row = tid;
                if (kind == 1 || kind == 3) {
                    row &= 7;
                    float v = s.xres[row] + (c.row_sum(row) + c.row_sum(row + 8)), w = __shfl_down_sync(~0u, v, 1);
                    if (tid < 8) s.xres[row] = v;
                    if (tid < 8 && !(tid & 1)) put(p.link + (kind == 1 ? LINK_X1 : LINK_X2) + (worker * OUT_ROWS + row) / 2, pack24(v, w, epoch));
                } else {
                    float v = c.row_sum(row) * c.rstd(), w = __shfl_down_sync(~0u, v, 1);
                    if (kind == 0) {
                        if (!(tid & 1)) put(p.link + LINK_QKV + c.group * QKV_WORDS + (c.member * QKV_ROWS + row) / 2, pack24(v, w, epoch));
                    } else if (kind == 2) {
                        // Rows alternate: gate, up.
                        v = v / (1.f + exp2_fast(-1.4426950408889634f * v)) * w;
                        w = __shfl_down_sync(~0u, v, 2);
                        if (!(tid & 3) && row < rows) put(p.link + LINK_MID + (worker * MID_ROWS + row / 2) / 2, pack24(v, w, epoch));
                    } else if (row < rows) {
                        u32 token_id = (first_tile + (op - 4 * LAYERS) * HEAD_SPAN) * 16 + row;
                        if (p.logits) p.logits[(u64)step * VOCAB + token_id] = v;
                        if (v > best) { best = v; id = token_id; }
                    }
                }
            }
#ifndef NOATT
            if (kind == 0) attend(c, layer, pos, epoch);
#else
            if (kind == 0 && tid < 256 / GROUP_SIZE / 2) put(p.link + LINK_O + c.group * 128 + c.member * 8 + tid, pack24(1.f, 1.f, epoch));
#endif
            if (kind == 3) epoch = (epoch + 1) & 0xffff;
        }
        token = agree(c, epoch, best, id);
        epoch = (epoch + 1) & 0xffff;
        if (worker == 0 && tid == 0) p.out[step] = (int)token;
        u32 flag;
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(flag) : "l"(p.abort_word) : "memory");
        if (flag) break;
    }
    sync_consumers();
    if (tid == 0) { s.stop = 1; }
}
