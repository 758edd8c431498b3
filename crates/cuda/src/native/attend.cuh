// Attention of the persistent decoder. Follows worker.cuh.

// Keys and values of sixteen positions in registers: fragments of A, keys by rows of positions, values by rows of dims.
struct Tile {
    uint4 k[HEAD_DIM / 16], v[HEAD_DIM / 16];
    // Of the next `count` blocks of the ring, at most four, whose keys and values alternate, a warp has half a one: first its keys,
    // then its values, which it owes the ring from then on.
    __device__ __forceinline__ void take_keys(Ctx& c, u32 count) { take_keys(c, count, c.warp / 2); }
    __device__ __forceinline__ void take_values(Ctx& c, u32 count) { take_values(c, count, c.warp / 2); }
    // Of block n of them.
    __device__ __forceinline__ void take_keys(Ctx& c, u32 count, u32 n) {
        c.wait(count * 2);
        u32 at = c.chunk_at(n * 2) + (c.warp & 1) * 4096 + c.lane * 16;
        if (n < count)
#pragma unroll
            for (int i = 0; i < HEAD_DIM / 16; ++i) k[i] = lds128(at + i * 512);
    }
    __device__ __forceinline__ void take_values(Ctx& c, u32 count, u32 n) {
        u32 at = c.chunk_at(n * 2 + 1) + (c.warp & 1) * 512 + c.lane * 16, seen = 0;
        if (n < count) {
#pragma unroll
            for (int i = 0; i < HEAD_DIM / 16; ++i) v[i] = lds128(at + i * 1024);
#pragma unroll
            for (int i = 0; i < HEAD_DIM / 16; ++i) seen ^= k[i].w ^ v[i].w;
        }
        c.owe(count * 2, seen);
    }
};

// Running softmax and weighed values of one warp over its tiles, for all heads of the group.
struct Soft {
    float m, l, o[HEAD_DIM / 16][4]; // m and l of the head of this lane's quarter
    __device__ __forceinline__ void init() {
        m = -1e30f;
        l = 0.f;
#pragma unroll
        for (int i = 0; i < HEAD_DIM / 16; ++i) o[i][0] = o[i][1] = o[i][2] = o[i][3] = 0.f;
    }
    // Scores of rows r and r + 8 of a tile; then what they are worth, from position `first` to `end`.
    __device__ __forceinline__ static float2 scores(const Tile& t, const uint4 (&q)[4]) {
        float c[4] = {}, d[4] = {};
#pragma unroll
        for (int i = 0; i < 4; ++i) { mma(c, t.k[i * 2], q[i].x, q[i].y); mma(d, t.k[i * 2 + 1], q[i].z, q[i].w); }
        return make_float2((c[0] + d[0]) + (c[1] + d[1]), (c[2] + d[2]) + (c[3] + d[3]));
    }
    __device__ __forceinline__ void add(const Tile& t, float2 score, u32 lane, u32 first, u32 end) {
        u32 row = lane >> 2, quad = lane & 3, n = lane >> 2;
        float a = score.x, b = score.y;
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
        u32 from = quad * 8 + (n >> 1) % GQA;
        float p0 = __shfl_sync(~0u, a, from), p1 = __shfl_sync(~0u, a, from + 4);
        float p2 = __shfl_sync(~0u, b, from), p3 = __shfl_sync(~0u, b, from + 4);
        u32 b0 = bf16x2(p0, p1), b1 = bf16x2(p2, p3);
        if (n & 1) { b0 = bf16x2(p0 - lo_f(b0), p1 - hi_f(b0)); b1 = bf16x2(p2 - lo_f(b1), p3 - hi_f(b1)); }
        if (n >= GQA * 2) b0 = b1 = 0;
        float sum = a + b;
#pragma unroll
        for (int x = 4; x < 32; x <<= 1) sum += __shfl_xor_sync(~0u, sum, x);
        l = l * f + sum;
#pragma unroll
        for (int i = 0; i < HEAD_DIM / 16; ++i) {
            o[i][0] *= f; o[i][1] *= f; o[i][2] *= f; o[i][3] *= f;
            mma(o[i], t.v[i], b0, b1);
        }
    }
};

// A lane's four neighbouring values of a head: norm with weight, if the model has it, and RoPE, which the norm's factor may follow.
__device__ __forceinline__ void norm_rope(float (&x)[4], float4 w, float4 t0, float4 t1, u32 lane) {
#if QK_NORM
    float ss = (x[0] * x[0] + x[1] * x[1]) + (x[2] * x[2] + x[3] * x[3]);
    x[0] *= w.x; x[1] *= w.y; x[2] *= w.z; x[3] *= w.w;
#endif
    float cs[4] = {t0.x, t0.z, t1.x, t1.z}, sn[4] = {t0.y, t0.w, t1.y, t1.w}, o[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) o[i] = __shfl_xor_sync(~0u, x[i], 16);
#if QK_NORM
#pragma unroll
    for (int d = 16; d; d >>= 1) ss += __shfl_xor_sync(~0u, ss, d);
    const float r = rsqrtf(ss * (1.f / HEAD_DIM) + EPS);
#else
    const float r = 1.f;
#endif
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = r * (lane < 16 ? x[i] * cs[i] - o[i] * sn[i] : x[i] * cs[i] + o[i] * sn[i]);
}

typedef Slab<OUT_TILES, OUT_STEPS> OutSlab;

// Stages q (scaled), for every head of the group, as hi and lo parts in the order of fragments.
__device__ __forceinline__ void put_query(Head& h, u32 k, const float (&x)[4]) {
    u32 slice = k >> 5, step = (k >> 4) & 1, quad = (k >> 2) & 3, at = ((slice * 4 + quad) * 2 + step) * 2;
    u32 h0 = bf16x2(x[0], x[1]), h1 = bf16x2(x[2], x[3]);
    *(uint2*)(h.q[0] + at) = make_uint2(h0, h1);
    *(uint2*)(h.q[1] + at) = make_uint2(bf16x2(x[0] - lo_f(h0), x[1] - hi_f(h0)), bf16x2(x[2] - lo_f(h1), x[3] - hi_f(h1)));
    *(float4*)&h.qf[k] = make_float4(x[0], x[1], x[2], x[3]);
}

// Attention to the positions that are this worker's: up to WHOLE blocks to all, and the result is staged for the output
// matrix; beyond, to every GROUP_SIZEth block, and the partial result goes to the group.
__device__ __forceinline__ void attend(Ctx& c, OutSlab& out, float* po, u32 layer, u32 pos, u32 epoch) {
    const Params& p = c.p;
    Head& s = c.s.head;
    u32 blocks = (pos + BLOCK_POSITIONS - 1) / BLOCK_POSITIONS;
    bool all = blocks <= WHOLE, owner = ((pos / BLOCK_POSITIONS) % GROUP_SIZE) == c.member;
    u32 begin = all ? 0 : c.member, stride = all ? 1 : GROUP_SIZE;
    u32 mine = blocks > begin ? (blocks - begin + stride - 1) / stride : 0;
    Tile tile;
    Soft soft;
    soft.init();
    const u32 half = c.warp & 1;
    // Blocks 4 g .. 4 g + 3 of this worker's.
    auto load = [&](u32 g) {
        u32 count = mine - g * 4 < 4 ? mine - g * 4 : 4;
        tile.take_keys(c, count);
        tile.take_values(c, count);
    };
    if (mine) load(0);
    u32 kv0 = 0, kv1 = 0;
    // Parts of the group's vector: query heads, one key head, one value head; one warp each.
    if (c.warp < GQA + 2) {
        u32 kind = c.warp < GQA ? 0 : c.warp - GQA + 1;
        float x[4];
        float4 w, t0, t1;
        if (kind < 2) {
            w = QK_NORM ? *(const float4*)(p.head_norms + ((u64)layer * 2 + kind) * HEAD_DIM + c.lane * 4) : make_float4(0.f, 0.f, 0.f, 0.f);
            const float4* t = (const float4*)(p.rope + ((u64)pos * (HEAD_DIM / 2) + (c.lane & 15) * 4) * 2);
            t0 = t[0];
            t1 = t[1];
        }
        uint4 in[1];
        c.hold(HOLD_QKV);
        c.poll<1>(p.link + LINK_QKV + c.group * QKV_WORDS + (c.warp * HEAD_DIM + c.lane * 4) / 2, 0, epoch, in, true, 2);
        unpack24(in[0].x, in[0].y, x[0], x[1]);
        unpack24(in[0].z, in[0].w, x[2], x[3]);
        if (kind < 2) norm_rope(x, w, t0, t1, c.lane);
        if (kind == 0) {
            const float scale = 1.4426950408889634f * 0.08838834764831845f;
#pragma unroll
            for (int i = 0; i < 4; ++i) x[i] *= scale;
            put_query(s, c.warp * HEAD_DIM + c.lane * 4, x);
        } else {
            kv0 = bf16x2(x[0], x[1]);
            kv1 = bf16x2(x[2], x[3]);
            *(float4*)&(kind == 1 ? s.kcur : s.vcur)[c.lane * 4] = make_float4(lo_f(kv0), hi_f(kv0), lo_f(kv1), hi_f(kv1));
        }
    }
    sync_consumers();
    c.give_back();
    uint4 q[4];
    {
        u32 n = c.lane >> 2, at = saddr(s.q) + (n & 1) * ((HEADS_WIDTH / 2 + 16) * 4) + ((n >> 1) % GQA) * (HEAD_DIM * 2) + (c.lane & 3) * 16;
#pragma unroll
        for (int i = 0; i < 4; ++i) q[i] = n < GQA * 2 ? lds128(at + i * 64) : make_uint4(0, 0, 0, 0);
    }
    // Scores of the current position, by the last warps, which have least to do where positions are few.
    const u32 own = c.warp * GQA / WARPS; // the head whose dims this warp merges
    if (c.warp >= WARPS - GQA) {
        u32 h = c.warp - (WARPS - GQA);
        float4 b = *(float4*)&s.kcur[c.lane * 4], a = *(float4*)&s.qf[h * HEAD_DIM + c.lane * 4];
        float now = (a.x * b.x + a.y * b.y) + (a.z * b.z + a.w * b.w);
#pragma unroll
        for (int x = 16; x; x >>= 1) now += __shfl_xor_sync(~0u, now, x);
        s.now[h] = now;
    }
#pragma unroll 1
    for (u32 g = 0; g * 4 < mine; ++g) {
        if (g) {
            load(g);
            c.give_back();
        }
        u32 n = g * 4 + c.warp / 2;
        if (n < mine) soft.add(tile, Soft::scores(tile, q), c.lane, (begin + n * stride) * BLOCK_POSITIONS + half * 16, pos);
    }
    {
        // A warp that saw no position leaves what it left before, which then counts nothing.
        u32 row = c.lane >> 2, h = c.lane & 3;
        if (h < GQA) {
            if (c.warp / 2 < mine) {
#pragma unroll
                for (int i = 0; i < HEAD_DIM / 16; ++i) {
                    float* to = po + (c.warp * GQA + h) * HEAD_DIM + i * 16 + row;
                    to[0] = soft.o[i][0] + soft.o[i][1];
                    to[8] = soft.o[i][2] + soft.o[i][3];
                }
            }
            if (row == 0) *(float2*)s.ml[c.warp][h] = make_float2(soft.m, soft.l);
        }
    }
    sync_consumers();
    c.since = cycles();
    // The warps' results together: a warp has an eighth of all dims, which belong to one head.
    const int DIMS = HEADS_WIDTH / CONSUMERS;
    bool current = all || owner;
    u32 active = pos / BLOCK_POSITIONS + 1;
    if (all || c.member < active) {
        float2 ml[WARPS];
        float f[WARPS], d = current ? s.now[own] : -1e30f, acc[DIMS];
#pragma unroll
        for (int w = 0; w < WARPS; ++w) ml[w] = *(float2*)s.ml[w][own];
        float mx = fmaxf(fmaxf(fmaxf(fmaxf(ml[0].x, ml[1].x), fmaxf(ml[2].x, ml[3].x)), fmaxf(fmaxf(ml[4].x, ml[5].x), fmaxf(ml[6].x, ml[7].x))), d);
        float e = current ? exp2_fast(d - mx) : 0.f, ls = e;
#pragma unroll
        for (int w = 0; w < WARPS; ++w) { f[w] = exp2_fast(ml[w].x - mx); ls = fmaf(f[w], ml[w].y, ls); }
#pragma unroll
        for (int j = 0; j < DIMS; ++j) {
            u32 dim = c.warp * (HEADS_WIDTH / WARPS) + j * 32 + c.lane;
            acc[j] = current ? e * s.vcur[dim & (HEAD_DIM - 1)] : 0.f;
#pragma unroll
            for (int w = 0; w < WARPS; ++w) acc[j] = fmaf(f[w], po[w * HEADS_WIDTH + dim], acc[j]);
        }
        if (all) {
            float most = 0.f, by = 0.f;
#pragma unroll
            for (int j = 0; j < DIMS; ++j) { acc[j] = __fdividef(acc[j], ls); most = fmaxf(most, fabsf(acc[j])); }
#if INT8
            by = out.grade(0, most);
#endif
#pragma unroll
            for (int j = 0; j < DIMS; ++j) {
                float next = __shfl_down_sync(~0u, acc[j], 1);
                if (!(c.lane & 1)) out.put2(c, j * 32 + c.lane, acc[j], next, by);
            }
        } else {
            u64* dst = p.link + LINK_PART + ((u64)c.group * GROUP_SIZE + c.member) * PART_WORDS;
#pragma unroll
            for (int j = 0; j < DIMS; ++j) {
                float next = __shfl_down_sync(~0u, acc[j], 1);
                u32 dim = c.warp * (HEADS_WIDTH / WARPS) + j * 32 + c.lane;
                if (!(c.lane & 1)) put(dst + dim / 2, pack24(acc[j], next, epoch));
            }
            if (c.lane < 2 && c.warp % (WARPS / GQA) == 0)
                put(dst + HEADS_WIDTH / 2 + own * 2 + c.lane, (u64)__float_as_uint(c.lane ? ls : mx) | ((u64)epoch << 32));
        }
    }
    // The current position's K and V go to the cache off the critical path: they are next read a token later.
    if (owner && (c.warp == GQA || c.warp == GQA + 1)) {
        u32 row = pos % 16, tile = pos % BLOCK_POSITIONS / 16, up = row >> 3;
        u8* block = p.kv + kv_block(layer, c.group, c.warp == GQA + 1, pos / BLOCK_POSITIONS);
        if (c.warp == GQA) {
            u8* to = block + tile * 4096 + (c.lane >> 2) * 512 + ((row & 7) * 4 + (c.lane & 3)) * 16 + up * 4;
            *(u32*)to = kv0;
            *(u32*)(to + 8) = kv1;
        } else {
            // Dims are rows here, positions columns: lane (row % 8, quad) of A holds columns 2 quad, 2 quad + 1 and those + 8.
            u32 quad = (row & 7) >> 1, odd = row & 1;
            u8* to = block + (c.lane >> 2) * 1024 + tile * 512 + odd * 2 + up * 8;
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                u32 dim = (c.lane & 3) * 4 + i, v = i < 2 ? kv0 : kv1;
                *(u16*)(to + ((dim & 7) * 4 + quad) * 16 + (dim >> 3) * 4) = (u16)(i & 1 ? v >> 16 : v);
            }
        }
    }
}

// Merges what the group's workers found: every worker all dims, a warp the eighth that it multiplies with.
__device__ __forceinline__ void merge(Ctx& c, OutSlab& out, u32 pos, u32 epoch) {
    const int LANES = HEADS_WIDTH / WARPS / 4, SETS = 32 / LANES, EACH = GROUP_SIZE / SETS;
    u32 active = pos / BLOCK_POSITIONS + 1, at = c.lane % LANES, set = c.lane / LANES, own = c.warp * GQA / WARPS;
    if (active > GROUP_SIZE) active = GROUP_SIZE;
    const u64* from = c.p.link + LINK_PART + (u64)c.group * GROUP_SIZE * PART_WORDS;
    const u64* words = from + (set * PART_WORDS + (c.warp * LANES + at) * 2);
    const u64* pair = from + (u64)c.lane * PART_WORDS + HEADS_WIDTH / 2 + own * 2;
    uint4 v[EACH], ml;
    bool ready, has = c.lane < active;
    c.hold(HOLD_PART);
    do {
        ready = true;
        if (has) ml = get4(pair);
#pragma unroll
        for (int k = 0; k < EACH; ++k) if (set + k * SETS < active) v[k] = get4(words + k * SETS * PART_WORDS);
#pragma unroll
        for (int k = 0; k < EACH; ++k) if (set + k * SETS < active) ready = ready && fresh(v[k], epoch << 16);
        if (has) ready = ready && ml.y == epoch && ml.w == epoch;
    } while (c.waiting(ready, 3));
    float m = has ? __uint_as_float(ml.x) : -1e30f;
    // The greatest, as the greatest of integers in the order of floats.
    u32 bits = __float_as_uint(m), most = __reduce_max_sync(~0u, bits & 0x80000000u ? ~bits : bits | 0x80000000u);
    float mx = __uint_as_float(most & 0x80000000u ? most ^ 0x80000000u : ~most);
    float f = has ? exp2_fast(m - mx) : 0.f, weight = has ? f * __uint_as_float(ml.z) : 0.f, den = 0.f, o[4] = {};
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        float by = __shfl_sync(~0u, f, set + k * SETS), x[4];
        den += __shfl_sync(~0u, weight, set + k * SETS);
        if (set + k * SETS < active) {
            unpack24(v[k].x, v[k].y, x[0], x[1]);
            unpack24(v[k].z, v[k].w, x[2], x[3]);
#pragma unroll
            for (int i = 0; i < 4; ++i) o[i] = fmaf(by, x[i], o[i]);
        }
    }
#pragma unroll
    for (int d = 16; d >= LANES; d >>= 1) {
        den += __shfl_xor_sync(~0u, den, d);
#pragma unroll
        for (int i = 0; i < 4; ++i) o[i] += __shfl_xor_sync(~0u, o[i], d);
    }
    float scale = __fdividef(1.f, den), by = 0.f;
#pragma unroll
    for (int i = 0; i < 4; ++i) o[i] *= scale;
#if INT8
    by = out.grade(0, fmaxf(fmaxf(fabsf(o[0]), fabsf(o[1])), fmaxf(fabsf(o[2]), fabsf(o[3]))));
#endif
    if (set == 0) out.put4(c, at * 4, o[0], o[1], o[2], o[3], by);
}
