// Attention of together.cu: a worker takes spans of positions of its group's KV head, of any row. Follows together.cuh.
//
// A row's spans follow from its own length. All eight warps share a span, as in attend.cuh; the worker of a row's last span has
// the current position too, and puts the row's spans together.

struct Item {
    u32 row, span, spans, position, begin, end; // blocks of 32 old positions
    bool last;
};

__device__ __forceinline__ u32 spans_of(u32 blocks) { return blocks < SPAN * 3 / 2 ? 1 : (blocks + SPAN / 2) / SPAN; }

__device__ __forceinline__ Item item_at(const Mates& m, u32 step, u32 k) {
    Item i;
    u32 v = m.list[step & 1][k];
    i.row = v % ROWS;
    i.span = v / ROWS;
    i.position = m.rows[i.row].position + step;
    u32 blocks = (i.position + BLOCK_POSITIONS - 1) / BLOCK_POSITIONS;
    i.spans = spans_of(blocks);
    i.begin = m.begin[step & 1][k];
    i.end = m.end[step & 1][k];
    i.last = i.span + 1 == i.spans;
    return i;
}

// What this worker attends to in a step: a run of all rows' spans, those first that are not the last of their row, which wait for
// the others. One warp.
__device__ __forceinline__ void list_items(Mates& m, u32 lane, u32 member, u32 step, u32 count) {
    u32 blocks = lane < count ? (m.rows[lane].position + step + BLOCK_POSITIONS - 1) / BLOCK_POSITIONS : 0;
    u32 spans = lane < count ? spans_of(blocks) : 0, up = spans;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        u32 v = __shfl_up_sync(~0u, up, d);
        if (lane >= d) up += v;
    }
    u32 all = __shfl_sync(~0u, up, 31), first = up - spans, from = all * member / GROUP_SIZE, to = all * (member + 1) / GROUP_SIZE;
    // This lane's row from `own` to `end`; of rows' last spans in the run, those before this lane's.
    u32 own = first > from ? first : from, end = up < to ? up : to, last = spans && up > from && up <= to;
    u32 before = __popc(__ballot_sync(~0u, last) & ((1u << lane) - 1)), lasts = __popc(__ballot_sync(~0u, last));
    for (u32 i = own; i < end; ++i) {
        u32 span = i - first, at = span + 1 == spans ? to - from - lasts + before : i - from - before;
        if (at >= LIST) continue;
        m.list[step & 1][at] = (u16)(lane + span * ROWS);
        m.begin[step & 1][at] = (u16)(blocks * span / spans);
        m.end[step & 1][at] = (u16)(blocks * (span + 1) / spans);
    }
    if (lane == 0) m.items[step & 1] = to - from < LIST ? to - from : LIST;
}

// Takes a key or value of the current position to the cache.
__device__ __forceinline__ void store_kv(const Ctx& c, const Row& at, u32 layer, u32 pos, u32 value, u32 kv0, u32 kv1) {
    u32 row = pos % 16, tile = pos % BLOCK_POSITIONS / 16, up = row >> 3;
    u8* block = at.cache + kv_block(layer, c.group, value, pos / BLOCK_POSITIONS);
    if (!value) {
        u8* to = block + tile * 4096 + (c.lane >> 2) * 512 + ((row & 7) * 4 + (c.lane & 3)) * 16 + up * 4;
        *(u32*)to = kv0;
        *(u32*)(to + 8) = kv1;
        return;
    }
    // Dims are rows here, positions columns: lane (row % 8, quad) of A holds columns 2 quad, 2 quad + 1 and those + 8.
    u32 quad = (row & 7) >> 1, odd = row & 1;
    u8* to = block + (c.lane >> 2) * 1024 + tile * 512 + odd * 2 + up * 8;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        u32 dim = (c.lane & 3) * 4 + i, v = i < 2 ? kv0 : kv1;
        *(u16*)(to + ((dim & 7) * 4 + quad) * 16 + (dim >> 3) * 4) = (u16)(i & 1 ? v >> 16 : v);
    }
}

// Four dims of a head, and what the weights they are summed by add up to.
struct Weighed {
    float m, l, o[4];
    __device__ __forceinline__ void join(float n, float k, const float (&v)[4]) {
        float mx = fmaxf(m, n), f = exp2_fast(m - mx), g = exp2_fast(n - mx);
        m = mx;
        l = f * l + g * k;
#pragma unroll
        for (int i = 0; i < 4; ++i) o[i] = f * o[i] + g * v[i];
    }
};

// What the warps found of head h, in order, and the current position's part.
__device__ __forceinline__ Weighed merge_warps(const Ctx& c, const Head& head, const float* po, u32 h, bool current) {
    float now = -1e30f;
    if (current) {
        float4 b = *(float4*)&head.kcur[c.lane * 4], a = *(float4*)&head.qf[h * HEAD_DIM + c.lane * 4];
        now = (a.x * b.x + a.y * b.y) + (a.z * b.z + a.w * b.w);
#pragma unroll
        for (int x = 16; x; x >>= 1) now += __shfl_xor_sync(~0u, now, x);
    }
    float2 ml[WARPS];
    Weighed r;
    r.m = now;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) { ml[w] = *(float2*)head.ml[w][h]; r.m = fmaxf(r.m, ml[w].x); }
    float e = current ? exp2_fast(now - r.m) : 0.f;
    float4 v = current ? *(float4*)&head.vcur[c.lane * 4] : make_float4(0.f, 0.f, 0.f, 0.f);
    r.l = e;
    r.o[0] = e * v.x; r.o[1] = e * v.y; r.o[2] = e * v.z; r.o[3] = e * v.w;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) {
        float f = exp2_fast(ml[w].x - r.m);
        float4 p = *(const float4*)(po + w * HEADS_WIDTH + h * HEAD_DIM + c.lane * 4);
        r.l = fmaf(f, ml[w].y, r.l);
        r.o[0] = fmaf(f, p.x, r.o[0]); r.o[1] = fmaf(f, p.y, r.o[1]); r.o[2] = fmaf(f, p.z, r.o[2]); r.o[3] = fmaf(f, p.w, r.o[3]);
    }
    return r;
}

__device__ __forceinline__ void attend_rows(Ctx& c, Mates& m, const Together& t, float* po, u32 layer, u32 step, u32 epoch, u32 turn) {
    const Params& p = c.p;
    u32 items = m.items[step & 1], half = c.warp & 1, pair = c.warp / 2;
    Tile tile;
    // Blocks b to b + 3 of a span.
    auto take = [&](const Item& it, u32 b) {
        u32 left = it.end - it.begin - b, count = left < 4 ? left : 4;
        tile.take_keys(c, count);
        tile.take_values(c, count);
        // At once: with several rows the ring's room is what copies wait for.
        c.give_back();
    };
    for (u32 k = 0; k < items; k += AT_ONCE) {
        // The first blocks wait for the query in registers, and the ring has room for more.
        take(item_at(m, step, k), 0);
        u32 who = c.warp / (GQA + 2), part = c.warp % (GQA + 2), kv0 = 0, kv1 = 0;
        bool ready = who < AT_ONCE && k + who < items;
        Item own = item_at(m, step, ready ? k + who : k);
        // Queries, and with the last span key and value: a warp each.
        ready = ready && (part < GQA || own.last);
        if (ready) {
            u32 kind = part < GQA ? 0 : part - GQA + 1;
            Head& head = m.head[who];
            float x[4];
            float4 w, t0, t1;
            if (kind < 2) {
                w = QK_NORM ? *(const float4*)(p.head_norms + ((u64)layer * 2 + kind) * HEAD_DIM + c.lane * 4) : make_float4(0.f, 0.f, 0.f, 0.f);
                const float4* r = (const float4*)(p.rope + ((u64)own.position * (HEAD_DIM / 2) + (c.lane & 15) * 4) * 2);
                t0 = r[0];
                t1 = r[1];
            }
            uint4 in[1];
            if (!k) c.hold(HOLD_QKV);
            c.poll<1>(p.link + WORD_QKV + (c.group * ROWS + own.row) * QKV_WORDS + (part * HEAD_DIM + c.lane * 4) / 2, 0, epoch, in, true, 2);
            unpack24(in[0].x, in[0].y, x[0], x[1]);
            unpack24(in[0].z, in[0].w, x[2], x[3]);
            if (kind < 2) norm_rope(x, w, t0, t1, c.lane);
            if (kind == 0) {
                const float scale = 1.4426950408889634f * 0.08838834764831845f;
#pragma unroll
                for (int i = 0; i < 4; ++i) x[i] *= scale;
                put_query(head, part * HEAD_DIM + c.lane * 4, x);
            } else {
                kv0 = bf16x2(x[0], x[1]);
                kv1 = bf16x2(x[2], x[3]);
                *(float4*)&(kind == 1 ? head.kcur : head.vcur)[c.lane * 4] = make_float4(lo_f(kv0), hi_f(kv0), lo_f(kv1), hi_f(kv1));
            }
        }
        sync_consumers();
#pragma unroll 1
        for (u32 i = 0; i < AT_ONCE && k + i < items; ++i) {
            Item it = item_at(m, step, k + i);
            Head& head = m.head[i];
            uint4 q[4];
            u32 n = c.lane >> 2, at = saddr(head.q) + (n & 1) * ((HEADS_WIDTH / 2 + 16) * 4) + ((n >> 1) % GQA) * (HEAD_DIM * 2) + (c.lane & 3) * 16;
#pragma unroll
            for (int j = 0; j < 4; ++j) q[j] = n < GQA * 2 ? lds128(at + j * 64) : make_uint4(0, 0, 0, 0);
            Soft soft;
            soft.init();
            u32 mine = it.end - it.begin;
#pragma unroll 1
            for (u32 b = 0; b < mine; b += 4) {
                if (i | b) take(it, b);
                if (b + pair < mine) soft.add(tile, Soft::scores(tile, q), c.lane, (it.begin + b + pair) * BLOCK_POSITIONS + half * 16, it.position);
            }
            u32 h = c.lane & 3;
            if (h < GQA) {
#pragma unroll
                for (int j = 0; j < HEAD_DIM / 16; ++j) {
                    float* to = po + (i * WARPS + c.warp) * HEADS_WIDTH + h * HEAD_DIM + j * 16 + n;
                    to[0] = soft.o[j][0] + soft.o[j][1];
                    to[8] = soft.o[j][2] + soft.o[j][3];
                }
                if (n == 0) *(float2*)head.ml[c.warp][h] = make_float2(soft.m, soft.l);
            }
        }
        sync_consumers();
        u32 slot = c.warp / GQA, h = c.warp % GQA;
        if (slot < AT_ONCE && k + slot < items) {
            Item it = item_at(m, step, k + slot);
            Weighed r = merge_warps(c, m.head[slot], po + slot * WARPS * HEADS_WIDTH, h, it.last);
            u64* parts = t.parts + (u64)(c.group * ROWS + it.row) * t.spans * PART_WORDS;
            if (it.last) {
                u32 at = (h * HEAD_DIM + c.lane * 4) / 2;
                for (u32 s = 0; s + 1 < it.spans; ++s, parts += PART_WORDS) {
                    uint4 v, ml;
                    do {
                        v = get4(parts + at);
                        ml = get4(parts + HEADS_WIDTH / 2 + h * 2);
                    } while (c.waiting(fresh(v, epoch << 16) && ml.y == epoch && ml.w == epoch, 3));
                    float x[4];
                    unpack24(v.x, v.y, x[0], x[1]);
                    unpack24(v.z, v.w, x[2], x[3]);
                    r.join(__uint_as_float(ml.x), __uint_as_float(ml.z), x);
                }
                float by = __fdividef(1.f, r.l);
                put(p.link + WORD_OUT + c.group * (ROWS * HEADS_WIDTH / 4) + place<OUT_STEPS>(it.row, h * HEAD_DIM + c.lane * 4), word4(r.o[0] * by, r.o[1] * by, r.o[2] * by, r.o[3] * by, turn));
            } else {
                parts += it.span * PART_WORDS;
                put2(parts + (h * HEAD_DIM + c.lane * 4) / 2, pack24(r.o[0], r.o[1], epoch), pack24(r.o[2], r.o[3], epoch));
                if (c.lane < 2) put(parts + HEADS_WIDTH / 2 + h * 2 + c.lane, (u64)__float_as_uint(c.lane ? r.l : r.m) | (u64)epoch << 32);
            }
        }
        // Read next a token later.
        if (ready && part >= GQA) store_kv(c, m.rows[own.row], layer, own.position, part - GQA, kv0, kv1);
        sync_consumers();
    }
}
