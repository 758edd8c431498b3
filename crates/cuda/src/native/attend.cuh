// Attention of the persistent decoder. Follows worker.cuh.

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
