// Persistent greedy decode of a Qwen3-shaped model: one cooperative launch runs many tokens.
//
// 128 workers (one a multiprocessor). The weights of a worker lie in one contiguous tape in the order they are used; a few
// producer threads stream the tape, and the old keys and values of the worker's head, through a shared-memory ring and
// never wait for a dependency. Eight consumer warps multiply with tensor cores: a chunk of 16 rows x 256 columns is
// eight k-slices, one a warp; a stage's weights wait in registers before its input arrives. Activations enter as two
// bf16 parts (16 bits of mantissa) in two columns of B.
// Exchanges between workers carry readiness in the data: every 8-byte word holds values and an epoch.
// Follows prelude.cuh.

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

// Keys and values of sixteen positions in registers: fragments of A, keys by rows of positions, values by rows of dims.
template <int DIMS> struct Tile {
    uint4 k[8], v[DIMS];
};

// Running softmax and weighed values of one warp over its tiles, for H heads and DIMS x 16 dims.
template <int H, int DIMS> struct Soft {
    float m, l, o[DIMS][4]; // m and l of the head of this lane's quarter
    __device__ __forceinline__ void init() {
        m = -1e30f;
        l = 0.f;
#pragma unroll
        for (int i = 0; i < DIMS; ++i) o[i][0] = o[i][1] = o[i][2] = o[i][3] = 0.f;
    }
    __device__ __forceinline__ void add(const Tile<DIMS>& t, const uint4 (&q)[4], u32 lane, u32 first, u32 end) {
        float c[4] = {}, d[4] = {};
#pragma unroll
        for (int i = 0; i < 4; ++i) { mma(c, t.k[i * 2], q[i].x, q[i].y); mma(d, t.k[i * 2 + 1], q[i].z, q[i].w); }
        u32 row = lane >> 2, quad = lane & 3, n = lane >> 2;
        float a = (c[0] + d[0]) + (c[1] + d[1]), b = (c[2] + d[2]) + (c[3] + d[3]);
        bool va = first + row < end, vb = first + row + 8 < end;
        a = va ? a : -1e30f;
        b = vb ? b : -1e30f;
        float mx = fmaxf(a, b);
#pragma unroll
        for (int x = 4; x < 32; x <<= 1) mx = fmaxf(mx, __shfl_xor_sync(~0u, mx, x));
        float mn = fmaxf(m, mx), f = exp2_fast(m - mn);
        m = mn;
        a = va ? exp2_fast(a - mn) : 0.f;
        b = vb ? exp2_fast(b - mn) : 0.f;
        // Columns of B: hi and lo part of each head's weights.
        u32 from = quad * 8 + (H > 1 ? (n >> 1) & 1 : 0);
        float p0 = __shfl_sync(~0u, a, from), p1 = __shfl_sync(~0u, a, from + 4);
        float p2 = __shfl_sync(~0u, b, from), p3 = __shfl_sync(~0u, b, from + 4);
        u32 b0 = bf16x2(p0, p1), b1 = bf16x2(p2, p3);
        if (n & 1) { b0 = bf16x2(p0 - lo_f(b0), p1 - hi_f(b0)); b1 = bf16x2(p2 - lo_f(b1), p3 - hi_f(b1)); }
        if (n >= H * 2) b0 = b1 = 0;
        float sum = a + b;
#pragma unroll
        for (int x = 4; x < 32; x <<= 1) sum += __shfl_xor_sync(~0u, sum, x);
        l = l * f + sum;
#pragma unroll
        for (int i = 0; i < DIMS; ++i) {
            o[i][0] *= f; o[i][1] *= f; o[i][2] *= f; o[i][3] *= f;
            mma(o[i], t.v[i], b0, b1);
        }
    }
};

// A lane's four neighbouring values of a head: norm with weight and RoPE, which the norm's factor may follow.
__device__ __forceinline__ void norm_rope(float (&x)[4], float4 w, float4 t0, float4 t1, u32 lane) {
    float ss = (x[0] * x[0] + x[1] * x[1]) + (x[2] * x[2] + x[3] * x[3]);
    x[0] *= w.x; x[1] *= w.y; x[2] *= w.z; x[3] *= w.w;
    float cs[4] = {t0.x, t0.z, t1.x, t1.z}, sn[4] = {t0.y, t0.w, t1.y, t1.w}, o[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) o[i] = __shfl_xor_sync(~0u, x[i], 16);
#pragma unroll
    for (int d = 16; d; d >>= 1) ss += __shfl_xor_sync(~0u, ss, d);
    float r = rsqrtf(ss * (1.f / HEAD_DIM) + EPS);
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = r * (lane < 16 ? x[i] * cs[i] - o[i] * sn[i] : x[i] * cs[i] + o[i] * sn[i]);
}

// Attention; the merged result goes to all. Up to WHOLE blocks every worker attends to all positions for the 16 dims of
// one head that are its own; beyond, to the blocks that are its own for every head of its group, and partial results
// are merged in an exchange more.
template <bool ALL> __device__ __forceinline__ void attend(Ctx& c, u32 layer, u32 pos, u32 epoch) {
    const int H = ALL ? 1 : GQA, DIMS = ALL ? 1 : HEAD_DIM / 16;
    const Params& p = c.p;
    Shared& s = c.s;
    bool owner = ((pos / BLOCK_POSITIONS) % GROUP_SIZE) == c.member;
    u32 head = c.member / (GROUP_SIZE / GQA); // of this worker's own dims, if ALL
    u32 blocks = (pos + BLOCK_POSITIONS - 1) / BLOCK_POSITIONS;
    Tile<DIMS> tile[ALL ? WHOLE / 4 : 1];
    Soft<H, DIMS> soft;
    soft.init();
    u32 at_lane = c.lane * 16, side = c.warp & 1;
    u32 mine = ALL ? blocks : blocks > c.member ? (blocks - c.member + GROUP_SIZE - 1) / GROUP_SIZE : 0;
    // Blocks 4 g .. 4 g + 3 of this worker's: a warp has half a block. Keys and values alternate in the ring.
    auto load = [&](u32 g) {
        u32 count = mine - g * 4 < 4 ? mine - g * 4 : 4, n = c.warp / 2;
        c.wait(count * 2);
        if (n < count) {
#pragma unroll
            for (int i = 0; i < 8; ++i) tile[0].k[i] = lds128(c.chunk_at(n * 2) + side * 4096 + i * 512 + at_lane);
#pragma unroll
            for (int i = 0; i < DIMS; ++i) tile[0].v[i] = lds128(c.chunk_at(n * 2 + 1) + i * 1024 + side * 512 + at_lane);
        }
        c.release(count * 2);
    };
    if (ALL && blocks) {
        // A block of keys a chunk, then one chunk of this worker's dims of the values.
        c.wait(blocks + 1);
#pragma unroll
        for (int i = 0; i < WHOLE / 4; ++i) {
            u32 n = c.warp / 2 + i * 4;
            if (n < blocks) {
#pragma unroll
                for (int j = 0; j < 8; ++j) tile[i].k[j] = lds128(c.chunk_at(n) + side * 4096 + j * 512 + at_lane);
                tile[i].v[0] = lds128(c.chunk_at(blocks) + (n * 2 + side) * 512 + at_lane);
            }
        }
        c.release(blocks + 1);
    }
    if (!ALL && mine) load(0);
    u32 kv0 = 0, kv1 = 0;
    // Parts of the group's vector: query heads, one key head, one value head; one warp each.
    const u32 parts = H + 2;
    if (c.warp < parts) {
        u32 kind = c.warp < H ? 0 : c.warp - H + 1, which = c.warp < H ? (ALL ? head : c.warp) : c.warp - H + GQA;
        float x[4];
        float4 w, t0, t1;
        if (kind < 2) {
            w = *(const float4*)(p.head_norms + ((u64)layer * 2 + kind) * HEAD_DIM + c.lane * 4);
            const float4* t = (const float4*)(p.rope + ((u64)pos * (HEAD_DIM / 2) + (c.lane & 15) * 4) * 2);
            t0 = t[0];
            t1 = t[1];
        }
        uint4 in[1];
        c.poll<1>(p.link + LINK_QKV + c.group * QKV_WORDS + (which * HEAD_DIM + c.lane * 4) / 2, 0, epoch, in, 2);
        unpack24(in[0].x, in[0].y, x[0], x[1]);
        unpack24(in[0].z, in[0].w, x[2], x[3]);
        if (kind < 2) norm_rope(x, w, t0, t1, c.lane);
        if (kind == 0) {
            const float scale = 1.4426950408889634f * 0.08838834764831845f;
#pragma unroll
            for (int i = 0; i < 4; ++i) x[i] *= scale;
            c.put_x(c.warp * HEAD_DIM + c.lane * 4, x[0], x[1], x[2], x[3]);
            *(float4*)&s.q[c.warp * HEAD_DIM + c.lane * 4] = make_float4(x[0], x[1], x[2], x[3]);
        } else {
            kv0 = bf16x2(x[0], x[1]);
            kv1 = bf16x2(x[2], x[3]);
            *(float4*)&(kind == 1 ? s.kcur : s.vcur)[c.lane * 4] = make_float4(lo_f(kv0), hi_f(kv0), lo_f(kv1), hi_f(kv1));
        }
    }
    sync_consumers();
    uint4 q[4];
    {
        u32 n = c.lane >> 2, at = saddr(c.xs) + (n & 1) * (XS_LO * 4) + ((n >> 1) & 1) * (HEAD_DIM * 2) + (c.lane & 3) * 16;
#pragma unroll
        for (int i = 0; i < 4; ++i) q[i] = n < H * 2 ? lds128(at + i * 64) : make_uint4(0, 0, 0, 0);
    }
    // The current position's score, in every warp: its latency hides behind the others'.
    float now[H];
    {
        float4 b = *(float4*)&s.kcur[c.lane * 4];
#pragma unroll
        for (int h = 0; h < H; ++h) {
            float4 a = *(float4*)&s.q[h * HEAD_DIM + c.lane * 4];
            now[h] = (a.x * b.x + a.y * b.y) + (a.z * b.z + a.w * b.w);
        }
#pragma unroll
        for (int x = 16; x; x >>= 1)
#pragma unroll
            for (int h = 0; h < H; ++h) now[h] += __shfl_xor_sync(~0u, now[h], x);
    }
    if (ALL) {
#pragma unroll
        for (int i = 0; i < WHOLE / 4; ++i)
            if (c.warp / 2 + i * 4 < blocks) soft.add(tile[i], q, c.lane, (c.warp + i * 8) * 16, pos);
    } else {
#pragma unroll 1
        for (u32 g = 0; g * 4 < mine; ++g) {
            if (g) load(g);
            u32 n = g * 4 + c.warp / 2;
            if (n < mine) soft.add(tile[0], q, c.lane, (c.member + n * GROUP_SIZE) * BLOCK_POSITIONS + side * 16, pos);
        }
    }
    // Partial results: [WARPS][H][DIMS * 16].
    float* po = c.part;
    {
        u32 row = c.lane >> 2, h = c.lane & 3;
        if (h < H) {
#pragma unroll
            for (int i = 0; i < DIMS; ++i) {
                float* to = po + (c.warp * H + h) * DIMS * 16 + i * 16 + row;
                to[0] = soft.o[i][0] + soft.o[i][1];
                to[8] = soft.o[i][2] + soft.o[i][3];
            }
            if (row == 0) *(float2*)s.ml[c.warp][h] = make_float2(soft.m, soft.l);
        }
    }
    sync_consumers();
    if (ALL) {
        if (c.warp == 0) {
            // Two lanes a dim, four warps each; the current position beside.
            u32 dim = c.lane & 15, up = c.lane >> 4;
            float2 ml[4];
            float v[4], mx = now[0];
#pragma unroll
            for (int i = 0; i < 4; ++i) { ml[i] = *(float2*)s.ml[up * 4 + i][0]; v[i] = po[(up * 4 + i) * 16 + dim]; }
            float cur = s.vcur[(c.member % (GROUP_SIZE / GQA)) * 16 + dim];
            mx = fmaxf(fmaxf(fmaxf(ml[0].x, ml[1].x), fmaxf(ml[2].x, ml[3].x)), mx);
            mx = fmaxf(mx, __shfl_xor_sync(~0u, mx, 16));
            float num = 0.f, den = 0.f;
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                float f = exp2_fast(ml[i].x - mx);
                num = fmaf(f, v[i], num);
                den = fmaf(f, ml[i].y, den);
            }
            num += __shfl_xor_sync(~0u, num, 16);
            den += __shfl_xor_sync(~0u, den, 16);
            float f = exp2_fast(now[0] - mx);
            float out = __fdividef(fmaf(f, cur, num), den + f), next = __shfl_down_sync(~0u, out, 1);
            if (c.lane < 16 && !(c.lane & 1)) put(p.link + LINK_O + (c.group * GQA * HEAD_DIM + c.member * 16 + dim) / 2, pack24(out, next, epoch));
        }
    } else {
        u32 active = pos / BLOCK_POSITIONS + 1;
        if (active > GROUP_SIZE) active = GROUP_SIZE;
        u64* mine = p.link + LINK_PART + ((u64)c.group * GROUP_SIZE) * PART_WORDS;
        if (c.member < active) {
            u64* dst = mine + (u64)c.member * PART_WORDS;
            u32 i = c.tid, h = i / HEAD_DIM;
            float v[WARPS], cur = owner ? s.vcur[i & (HEAD_DIM - 1)] : 0.f;
#pragma unroll
            for (int w = 0; w < WARPS; ++w) v[w] = po[w * GQA * HEAD_DIM + i];
            float2 ml = *(float2*)s.ml[c.lane & (WARPS - 1)][h];
            float d = owner ? (h ? now[H - 1] : now[0]) : -1e30f, mx = ml.x;
#pragma unroll
            for (int x = WARPS / 2; x; x >>= 1) mx = fmaxf(mx, __shfl_xor_sync(~0u, mx, x));
            mx = fmaxf(mx, d);
            float f = exp2_fast(ml.x - mx), ls = f * ml.y, e = owner ? exp2_fast(d - mx) : 0.f, acc = e * cur;
#pragma unroll
            for (int x = WARPS / 2; x; x >>= 1) ls += __shfl_xor_sync(~0u, ls, x);
#pragma unroll
            for (int w = 0; w < WARPS; ++w) acc = fmaf(__shfl_sync(~0u, f, w), v[w], acc);
            put(dst + i, (u64)__float_as_uint(acc) | ((u64)epoch << 32));
            if ((i & (HEAD_DIM - 1)) == 0) {
                put(dst + GQA * HEAD_DIM + h * 2, (u64)__float_as_uint(mx) | ((u64)epoch << 32));
                put(dst + GQA * HEAD_DIM + h * 2 + 1, (u64)__float_as_uint(ls + e) | ((u64)epoch << 32));
            }
        }
        // Merge: sixteen dims of this group, sixteen sources in sixteen lanes.
        u32 i = c.member * (GQA * HEAD_DIM / GROUP_SIZE) + (c.tid >> 4), h = i / HEAD_DIM, src = c.lane & 15;
        float v = 0.f, mw = -1e30f, lw = 0.f;
        if (src < active) {
            const u64* w = mine + (u64)src * PART_WORDS;
            uint2 a;
            uint4 ml;
            do {
                a = get2(w + i);
                ml = get4(w + GQA * HEAD_DIM + h * 2);
            } while ((a.y != epoch || ml.y != epoch || ml.w != epoch) && !c.expired(3));
            v = __uint_as_float(a.x);
            mw = __uint_as_float(ml.x);
            lw = __uint_as_float(ml.z);
        }
        __syncwarp();
        float mx = mw;
#pragma unroll
        for (int d = 8; d; d >>= 1) mx = fmaxf(mx, __shfl_xor_sync(~0u, mx, d));
        float f = exp2_fast(mw - mx), num = f * v, den = f * lw;
#pragma unroll
        for (int d = 8; d; d >>= 1) { num += __shfl_xor_sync(~0u, num, d); den += __shfl_xor_sync(~0u, den, d); }
        float out = __fdividef(num, den), next = __shfl_down_sync(~0u, out, 16);
        if (c.lane == 0) put(p.link + LINK_O + (c.group * GQA * HEAD_DIM + i) / 2, pack24(out, next, epoch));
    }
    c.since = cycles();
    // The current position's K and V go to the cache off the critical path: they are next read a token later.
    if (owner && (c.warp == H || c.warp == H + 1)) {
        u32 row = pos % 16, tile = pos % BLOCK_POSITIONS / 16, up = row >> 3;
        u8* block = p.kv + ((((u64)layer * KV_HEADS + c.group) * 2 + (c.warp == H + 1)) * p.kv_blocks + pos / BLOCK_POSITIONS) * CHUNK;
        if (c.warp == H) {
            u8* to = block + tile * 4096 + (c.lane >> 2) * 512 + ((row & 7) * 4 + (c.lane & 3)) * 16 + up * 4;
            *(u32*)to = kv0;
            *(u32*)(to + 8) = kv1;
        } else {
            // Dims are rows here, positions columns: lane (row % 8, quad) of A holds columns 2 quad, 2 quad + 1 and those + 8.
            u32 quad = (row & 7) >> 1, half = row & 1;
            u8* to = block + (c.lane >> 2) * 1024 + tile * 512 + half * 2 + up * 8;
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                u32 dim = (c.lane & 3) * 4 + i, v = i < 2 ? kv0 : kv1;
                *(u16*)(to + ((dim & 7) * 4 + quad) * 16 + (dim >> 3) * 4) = (u16)(i & 1 ? v >> 16 : v);
            }
        }
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
        // This worker's K and V of the token come before its word.
        __threadfence();
        put(link + c.worker * 2, (u64)__float_as_uint(best) | ((u64)epoch << 32));
        put(link + c.worker * 2 + 1, (u64)id | ((u64)epoch << 32));
    }
    // Every warp finds the maximum over the workers for itself.
    best = -3.4e38f;
    id = 0xffffffffu;
    uint4 v[WORKERS / 32];
    bool ready;
    do {
        ready = true;
#pragma unroll
        for (int i = 0; i < WORKERS / 32; ++i) v[i] = get4(link + (c.lane + i * 32) * 2);
#pragma unroll
        for (int i = 0; i < WORKERS / 32; ++i) ready = ready && v[i].y == epoch && v[i].w == epoch;
    } while (!ready && !c.expired(7));
    __syncwarp();
#pragma unroll
    for (int i = 0; i < WORKERS / 32; ++i) {
        float f = __uint_as_float(v[i].x);
        if (f > best || (f == best && v[i].z < id)) { best = f; id = v[i].z; }
    }
#pragma unroll
    for (int d = 16; d; d >>= 1) {
        float v = __shfl_xor_sync(~0u, best, d);
        u32 i = __shfl_xor_sync(~0u, id, d);
        if (v > best || (v == best && i < id)) { best = v; id = i; }
    }
    return id;
}

// One of PRODUCERS threads: each sends every PRODUCERS-th chunk, since one alone cannot issue copies fast enough. Each
// keeps `fly` of its own in flight: more than the bandwidth-delay product only queues, and the exchanges wait there.
__device__ void produce(const Params& p, Shared& s, u32 ring, u32 worker, u32 me) {
    u64 policy = evict_first();
    u32 group = worker / GROUP_SIZE, member = worker % GROUP_SIZE;
    u32 turn = 0, slot = 0, parity = 1; // whose chunk is next, where it goes, the parity its slot's release will have
    u32 own = 0, landed = 0, landed_slot = me, landed_parity = 0; // own chunks sent and known to have landed
    u32 first = (u32)((u64)HEAD_TILES_ALL * worker / WORKERS), last = (u32)((u64)HEAD_TILES_ALL * (worker + 1) / WORKERS);
    const u8* tape = p.tape + (u64)worker * p.tape_stride;
    u32 full = saddr(s.full), empty = saddr(s.empty);
    bool going = true, round = false; // whether the ring has been filled once
    auto land = [&]() {
        ++landed;
        landed_slot += PRODUCERS;
        if (landed_slot >= SLOTS) { landed_slot -= SLOTS; landed_parity ^= 1; }
    };
    // Passes over a chunk of another, or waits for room and sends.
    auto chunk = [&](u32 fly, u32 bytes, auto send) {
        if (turn == me) {
            while (own - landed >= fly) if (mbar_try(full + landed_slot * 8, landed_parity)) land();
            if (round)
                while (!mbar_try(empty + slot * 8, parity)) if (s.stop) { going = false; return; };
            ++own;
            mbar_expect(full + slot * 8, bytes);
            send(ring + slot * CHUNK, full + slot * 8);
        }
        if (++turn == PRODUCERS) turn = 0;
        if (++slot == SLOTS) { slot = 0; parity ^= 1; round = true; }
    };
    auto weights = [&](u32 count, u32 fly) {
        for (u32 i = 0; going && i < count; ++i, tape += CHUNK) {
            chunk(fly, CHUNK, [&](u32 to, u32 bar) { bulk(to, tape, CHUNK, bar, policy); });
        }
    };
    for (u32 step = 0; going && step < p.steps; ++step) {
        u32 pos = p.position + step, blocks = (pos + BLOCK_POSITIONS - 1) / BLOCK_POSITIONS;
        tape = p.tape + (u64)worker * p.tape_stride;
        for (u32 layer = 0; going && layer < LAYERS; ++layer) {
            weights(QKV_CHUNKS, FLY);
            const u8* k = p.kv + (((u64)layer * KV_HEADS + group) * 2) * p.kv_blocks * CHUNK;
            const u8* v = k + p.kv_blocks * CHUNK;
            // The last block was written a token ago.
            while (going && step && s.kv_written < step) if (s.stop) going = false;
            if (blocks <= WHOLE) {
                for (u32 b = 0; going && b < blocks; ++b) chunk(FLY, CHUNK, [&](u32 to, u32 bar) { bulk(to, k + (u64)b * CHUNK, CHUNK, bar, policy); });
                if (going && blocks)
                    chunk(FLY, blocks * 1024, [&](u32 to, u32 bar) {
                        for (u32 b = 0; b < blocks; ++b)
                            bulk(to + b * 1024, v + (u64)b * CHUNK + member % (GROUP_SIZE / GQA) * 1024, 1024, bar, policy);
                    });
            } else {
                for (u32 b = member; going && b < blocks; b += GROUP_SIZE) {
                    chunk(FLY, CHUNK, [&](u32 to, u32 bar) { bulk(to, k + (u64)b * CHUNK, CHUNK, bar, policy); });
                    if (going) chunk(FLY, CHUNK, [&](u32 to, u32 bar) { bulk(to, v + (u64)b * CHUNK, CHUNK, bar, policy); });
                }
            }
            weights(OUT_CHUNKS + GU_CHUNKS + DOWN_CHUNKS, FLY);
        }
        weights((last - first) * KH, FLY_HEAD);
    }
    // What is in flight must land before the block may end.
    while (!s.stop) {}
    while (landed < own)
        if (mbar_try(full + landed_slot * 8, landed_parity)) land();
}

// The head over this worker's rows, span by span; best row so far.
__device__ __forceinline__ void head(Ctx& c, float* logits, float& best, u32& id) {
    u32 first = (u32)((u64)HEAD_TILES_ALL * c.worker / WORKERS), last = (u32)((u64)HEAD_TILES_ALL * (c.worker + 1) / WORKERS);
    float r = c.rstd();
    u32 xa = c.x_at(0);
    uint4 x[KH];
#pragma unroll
    for (int i = 0; i < KH; ++i) x[i] = c.lane < 16 ? lds128(xa + i * WARPS * 64) : make_uint4(0, 0, 0, 0);
    u32 side = 0;
    for (u32 t0 = first; t0 < last; t0 += HEAD_SPAN, side ^= 1) {
        u32 tiles = last - t0 < HEAD_SPAN ? last - t0 : HEAD_SPAN;
        float* part = c.part + side * WARPS * PART_STRIDE;
#pragma unroll 1
        for (u32 t = 0; t < tiles; ++t) {
            float a[4] = {}, b[4] = {};
            uint4 w[KH * 2];
            c.fetch<KH>(w);
#pragma unroll
            for (int i = 0; i < KH; ++i) {
                mma(a, w[i * 2], x[i].x, x[i].y);
                mma(b, w[i * 2 + 1], x[i].z, x[i].w);
            }
            c.store_part(part, t, a, b);
        }
        // The other half of `part` is written until the next barrier, so one a span is enough.
        sync_consumers();
        if (c.tid < tiles * 16) {
            float v = c.row_sum(part, c.tid) * r;
            u32 token = t0 * 16 + c.tid;
            if (logits) logits[token] = v;
            if (v > best) { best = v; id = token; }
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) decode(const __grid_constant__ Params p) {
    extern __shared__ __align__(1024) u8 memory[];
    u8* ring = memory;
    u32* xs = (u32*)(memory + SLOTS * CHUNK);
    float* part = (float*)(xs + 2 * XS_LO);
    Shared& s = *(Shared*)(part + 2 * WARPS * PART_STRIDE);
    u32 tid = threadIdx.x, worker = blockIdx.x;
    if (worker + 1 == p.fault) return;
    if (tid == 0) {
        for (int i = 0; i < SLOTS; ++i) { mbar_init(saddr(&s.full[i]), 1); mbar_init(saddr(&s.empty[i]), WARPS); }
        s.stop = 0;
        s.kv_written = 0;
        s.gone = 0;
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    // The producer's group of warps gives its registers to the others, which hold a stage's weights in them.
    if (tid >= CONSUMERS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        u32 me = (tid - CONSUMERS) / 32;
        if (tid % 32 == 0 && me < PRODUCERS) produce(p, s, saddr(ring), worker, me);
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    Ctx c{p, s, saddr(ring), xs, part, worker, worker / GROUP_SIZE, worker % GROUP_SIZE, tid, tid / 32, tid % 32, 0, 0, 0, 0, 0, false, now_ns() + p.deadline_ns};
    u32 epoch = p.epoch, token = 0;
    for (u32 step = 0; step < p.steps; ++step) {
        int forced = p.forced[step];
        if (forced >= 0) token = (u32)forced;
        u32 pos = p.position + step;
#pragma unroll 1
        for (u32 layer = 0; layer < LAYERS; ++layer) {
            u32 before = epoch - 1;
            const float* g = p.norms + (u64)2 * layer * HIDDEN;
            {
                uint4 w[QKV_CHUNKS * 2];
                float4 gw[HIDDEN / 1024];
#pragma unroll
                for (int i = 0; i < HIDDEN / 1024; ++i) gw[i] = *(const float4*)(g + (tid + i * CONSUMERS) * 4);
                
                c.fetch<QKV_CHUNKS>(w);
                if (layer) c.take<HIDDEN / 1024, true>(p.link + LINK_X2, before, gw, 1);
                else c.take_row(p.embedding + (u64)token * HIDDEN, g);
                sync_consumers();
                float r = c.rstd();
                c.multiply<QKV_TILES, KH>(w, 0);
                sync_consumers();
                c.since = cycles();
                if (tid < QKV_ROWS) {
                    float v = c.row_sum(part, tid) * r, next = __shfl_down_sync(~0u, v, 1);
                    if (!(tid & 1)) put(p.link + LINK_QKV + c.group * QKV_WORDS + (c.member * QKV_ROWS + tid) / 2, pack24(v, next, epoch));
                }
            }
            if (pos <= WHOLE * BLOCK_POSITIONS) attend<true>(c, layer, pos, epoch);
            else attend<false>(c, layer, pos, epoch);
            {
                uint4 w[OUT_CHUNKS * 2];
                
                c.fetch<OUT_CHUNKS>(w);
                float4 none[Q_WIDTH / 1024];
                c.take<Q_WIDTH / 1024, false>(p.link + LINK_O, epoch, none, 4);                sync_consumers();
                c.multiply<OUT_ROWS / 8, KQ>(w, Q_WIDTH / 2);
                sync_consumers();
                c.since = cycles();
                if (tid < 32) {
                    u32 row = tid & 7;
                    float v = s.xres[row] + (c.row_sum(part, row) + c.row_sum(part, row + 8)), next = __shfl_down_sync(~0u, v, 1);
                    if (tid < 8) s.xres[row] = v;
                    if (tid < 8 && !(tid & 1)) put(p.link + LINK_X1 + (worker * OUT_ROWS + row) / 2, pack24(v, next, epoch));
                }
            }
            {
                uint4 w[GU_CHUNKS * 2];
                float4 gw[HIDDEN / 1024];
#pragma unroll
                for (int i = 0; i < HIDDEN / 1024; ++i) gw[i] = *(const float4*)(g + HIDDEN + (tid + i * CONSUMERS) * 4);
                
                c.fetch<GU_CHUNKS>(w);
                c.take<HIDDEN / 1024, true>(p.link + LINK_X1, epoch, gw, 5);                sync_consumers();
                float r = c.rstd();
                c.multiply<GU_TILES, KH>(w, 0);
                sync_consumers();
                c.since = cycles();
                if (tid < 32) {
                    // Rows alternate: gate, up. The product travels in bf16, three a word: fewer bytes to poll.
                    u32 row = tid < MID_ROWS ? tid * 2 : 0;
                    float v = c.row_sum(part, row) * r, u = c.row_sum(part, row + 1) * r;
                    v = __fdividef(v, 1.f + exp2_fast(-1.4426950408889634f * v)) * u;
                    float a = __shfl_down_sync(~0u, v, 1), b = __shfl_down_sync(~0u, v, 2);
                    if (tid < MID_ROWS && tid % 3 == 0)
                        put(p.link + LINK_MID + (worker * MID_ROWS + tid) / 3, (u64)bf16x2(v, a) | ((u64)(bf16x2(b, 0.f) | (epoch << 16)) << 32));
                }
            }
            {
                uint4 w[DOWN_CHUNKS * 2];
                
                c.fetch<DOWN_CHUNKS>(w);
                c.take_product(p.link + LINK_MID, epoch, 8);
                sync_consumers();
                c.multiply<OUT_ROWS / 8, KI, false>(w, INTER / 2);
                sync_consumers();
                c.since = cycles();
                if (tid < 32) {
                    u32 row = tid & 7;
                    float v = s.xres[row] + (c.row_sum(part, row) + c.row_sum(part, row + 8)), next = __shfl_down_sync(~0u, v, 1);
                    if (tid < 8) s.xres[row] = v;
                    if (tid < 8 && !(tid & 1)) put(p.link + LINK_X2 + (worker * OUT_ROWS + row) / 2, pack24(v, next, epoch));
                }
            }
            ++epoch;
        }
        float4 gw[HIDDEN / 1024];
#pragma unroll
        for (int i = 0; i < HIDDEN / 1024; ++i) gw[i] = *(const float4*)(p.norms + (u64)2 * LAYERS * HIDDEN + (tid + i * CONSUMERS) * 4);
        c.take<HIDDEN / 1024, true>(p.link + LINK_X2, epoch - 1, gw, 6);        sync_consumers();
        float best = -3.4e38f;
        u32 id = 0xffffffffu;
        head(c, p.logits ? p.logits + (u64)step * VOCAB : nullptr, best, id);
        token = agree(c, epoch, best, id);
        ++epoch;
        if (tid == 0) {
            // Every worker's K and V of this token are in the second level cache; the copy engine reads them next.
            __threadfence();
            asm volatile("fence.proxy.async;" ::: "memory");
            s.kv_written = step + 1;
            if (worker == 0) p.out[step] = (int)token;
        }
        // Everybody leaves after the same token.
        if (c.gone) s.gone = 1;
        sync_consumers();
        bool end = s.gone;
#pragma unroll
        for (int i = 0; i < 8; ++i) end = end || p.ends[i] == (int)token;
        if (end) break;
    }
    sync_consumers();
    if (tid == 0) { s.stop = 1; }
}
