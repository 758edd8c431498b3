// Attention of together.cu: a worker takes spans of positions of its group's KV head, of any row. Follows together.cuh.
//
// A row's spans follow from its own length. All eight warps share a span, as in attend.cuh; the worker of a row's last span has
// the current position too, and puts the row's spans together.

#define LAST 0x8000u // of a list's entry: the last span of its row

struct Item {
    u32 row, span, spans, position, begin, end; // blocks of 32 old positions
    bool last;
};

__device__ __forceinline__ u32 spans_of(u32 blocks) { return blocks < SPAN * 3 / 2 ? 1 : (blocks + SPAN / 2) / SPAN; }

__device__ __forceinline__ Item item_at(const Mates& m, u32 step, u32 k) {
    Item i;
    u32 v = m.list[step & 1][k];
    i.row = v % ROWS;
    i.span = v % LAST / ROWS;
    i.position = m.rows[i.row].position + step;
    u32 blocks = (i.position + BLOCK_POSITIONS - 1) / BLOCK_POSITIONS;
    i.spans = spans_of(blocks);
    i.begin = m.begin[step & 1][k];
    i.end = m.end[step & 1][k];
    i.last = v & LAST;
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
        m.list[step & 1][at] = (u16)(lane + span * ROWS + (span + 1 == spans ? LAST : 0));
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
        // Fused by hand: a compiler may fuse two uses of this differently.
        l = fmaf(g, k, f * l);
#pragma unroll
        for (int i = 0; i < 4; ++i) o[i] = fmaf(f, o[i], g * v[i]);
    }
};

// The score of the current position for head h.
__device__ __forceinline__ float score_now(const Ctx& c, const Head& head, u32 h) {
    float4 b = *(float4*)&head.kcur[c.lane * 4], a = *(float4*)&head.qf[h * HEAD_DIM + c.lane * 4];
    float now = (a.x * b.x + a.y * b.y) + (a.z * b.z + a.w * b.w);
#pragma unroll
    for (int x = 16; x; x >>= 1) now += __shfl_xor_sync(~0u, now, x);
    return now;
}

// What the warps found of head h, in order, and the current position's part, whose score is `now`. `ml` and `po` are the span's.
__device__ __forceinline__ Weighed merge_warps(const Ctx& c, const Head& head, const float (&ml)[WARPS][GQA][2], const float* po, u32 h, bool current, float now) {
    float2 each[WARPS];
    Weighed r;
    r.m = now;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) { each[w] = *(float2*)ml[w][h]; r.m = fmaxf(r.m, each[w].x); }
    float e = current ? exp2_fast(now - r.m) : 0.f;
    float4 v = current ? *(float4*)&head.vcur[c.lane * 4] : make_float4(0.f, 0.f, 0.f, 0.f);
    r.l = e;
    r.o[0] = e * v.x; r.o[1] = e * v.y; r.o[2] = e * v.z; r.o[3] = e * v.w;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) {
        float f = exp2_fast(each[w].x - r.m);
        float4 p = *(const float4*)(po + w * HEADS_WIDTH + h * HEAD_DIM + c.lane * 4);
        r.l = fmaf(f, each[w].y, r.l);
        r.o[0] = fmaf(f, p.x, r.o[0]); r.o[1] = fmaf(f, p.y, r.o[1]); r.o[2] = fmaf(f, p.z, r.o[2]); r.o[3] = fmaf(f, p.w, r.o[3]);
    }
    return r;
}

// Spans between two barriers, the list's from `k` on: `count` of at most two rows.
struct Round {
    u32 count, first, second; // rows; ROWS if there is none
    u32 which;                // bit i: whether the i-th span is of the second
    bool apart;               // whether one is not the last of its row
    __device__ __forceinline__ Round(const Mates& m, u32 step, u32 k) : count(0), first(ROWS), second(ROWS), which(0), apart(false) {
        static_assert(AT_ONCE == 2, "two rows");
        const u32 items = m.items[step & 1];
#pragma unroll
        for (u32 i = 0; i < ITEMS; ++i) {
            if (count < i || k + i >= items) continue;
            u32 entry = m.list[step & 1][k + i], row = entry % ROWS;
            if (!i) first = row;
            else if (row != first && second == ROWS) second = row;
            if (row != first && row != second) continue;
            which |= (u32)(row != first) << i;
            apart = apart || !(entry & LAST);
            ++count;
        }
    }
    __device__ __forceinline__ u32 of(u32 i) const { return which >> i & 1; }
};

// A value as pack24 passes it on.
__device__ __forceinline__ float as24(float v) { return __uint_as_float(__float_as_uint(v) + 0x80u & 0xffffff00u); }

// The first blocks that this worker attends to, which wait in registers until the queries are made.
__device__ __forceinline__ void take_first(Ctx& c, const Mates& m, u32 step, Tile& tile) {
    asm volatile("" : "+r"(step));
    if (!m.items[step & 1]) return;
    u32 left = m.end[step & 1][0] - m.begin[step & 1][0], count = left < 4 ? left : 4;
    tile.take_keys(c, count);
    tile.take_values(c, count);
    c.give_back();
}

__device__ __forceinline__ void attend_rows(Ctx& c, Mates& m, const Together& t, float* po, Tile& tile, u32 layer, u32 step, u32 epoch, u32 turn) {
    const Params& p = c.p;
    // Found anew in each layer instead of being kept.
    asm volatile("" : "+r"(step));
    const u32 items = m.items[step & 1], half = c.warp & 1;
    u32 known = 0; // rows whose queries are ready
    // Blocks b to b + 3 of a span.
    auto take = [&](const Item& it, u32 b, u32 pair) {
        u32 left = it.end - it.begin - b, count = left < 4 ? left : 4;
        tile.take_keys(c, count, pair);
        tile.take_values(c, count, pair);
        // At once: with several rows the ring's room is what copies wait for.
        c.give_back();
    };
    for (u32 k = 0; k < items;) {
        const Round r(m, step, k);
        // The first blocks wait for the query in registers, and the ring has room for more.
        if (k || !layer) take(item_at(m, step, k), 0, c.warp / 2);
        // Queries, keys and values: a warp each.
        const bool again = known == (r.first | r.second << 8 | 1 << 16);
        if (!again) {
            u32 who = c.warp / (GQA + 2), part = c.warp % (GQA + 2), row = who == 0 ? r.first : who == 1 ? r.second : ROWS;
            if (row < ROWS) {
                u32 kind = part < GQA ? 0 : part - GQA + 1, position = m.rows[row].position + step;
                Head& head = m.head(who);
                float x[4];
                float4 w, t0, t1;
                if (kind < 2) {
                    w = QK_NORM ? *(const float4*)(p.head_norms + ((u64)layer * 2 + kind) * HEAD_DIM + c.lane * 4) : make_float4(0.f, 0.f, 0.f, 0.f);
                    const float4* at = (const float4*)(p.rope + ((u64)position * (HEAD_DIM / 2) + (c.lane & 15) * 4) * 2);
                    t0 = at[0];
                    t1 = at[1];
                }
                uint4 in[1];
                if (!k) c.hold(HOLD_QKV);
                c.poll<1>(p.link + WORD_QKV + (c.group * ROWS + row) * QKV_WORDS + (part * HEAD_DIM + c.lane * 4) / 2, 0, epoch, in, true, 2);
                unpack24(in[0].x, in[0].y, x[0], x[1]);
                unpack24(in[0].z, in[0].w, x[2], x[3]);
                if (kind < 2) norm_rope(x, w, t0, t1, c.lane);
                if (kind == 0) {
                    const float scale = 1.4426950408889634f * 0.08838834764831845f;
#pragma unroll
                    for (int i = 0; i < 4; ++i) x[i] *= scale;
                    put_query(head, part * HEAD_DIM + c.lane * 4, x);
                } else {
                    u32 kv0 = bf16x2(x[0], x[1]), kv1 = bf16x2(x[2], x[3]);
                    *(float4*)&(kind == 1 ? head.kcur : head.vcur)[c.lane * 4] = make_float4(lo_f(kv0), hi_f(kv0), lo_f(kv1), hi_f(kv1));
                }
            }
            sync_consumers();
            known = r.first | r.second << 8 | 1 << 16;
        }
#pragma unroll 1
        for (u32 i = 0; i < r.count; ++i) {
            Item it = item_at(m, step, k + i);
            Head& head = m.head(r.of(i));
            // Spans that end in a block alone give it to warps in turn.
            const u32 pair = (c.warp / 2 + i * (4 / AT_ONCE)) % 4, as = pair * 2 + half;
            uint4 q[4];
            u32 n = c.lane >> 2, at = saddr(head.q) + (n & 1) * ((HEADS_WIDTH / 2 + 16) * 4) + ((n >> 1) % GQA) * (HEAD_DIM * 2) + (c.lane & 3) * 16;
#pragma unroll
            for (int j = 0; j < 4; ++j) q[j] = n < GQA * 2 ? lds128(at + j * 64) : make_uint4(0, 0, 0, 0);
            Soft soft;
            soft.init();
            u32 mine = it.end - it.begin;
#pragma unroll 1
            for (u32 b = 0; b < mine; b += 4) {
                if (i | b) take(it, b, pair);
                if (b + pair < mine) soft.add(tile, Soft::scores(tile, q), c.lane, (it.begin + b + pair) * BLOCK_POSITIONS + half * 16, it.position);
            }
            u32 h = c.lane & 3;
            if (h < GQA) {
#pragma unroll
                for (int j = 0; j < HEAD_DIM / 16; ++j) {
                    float* to = po + (i * WARPS + as) * HEADS_WIDTH + h * HEAD_DIM + j * 16 + n;
                    to[0] = soft.o[j][0] + soft.o[j][1];
                    to[8] = soft.o[j][2] + soft.o[j][3];
                }
                if (n == 0) *(float2*)m.ml[i][as][h] = make_float2(soft.m, soft.l);
            }
        }
        u32 slot = c.warp / GQA, h = c.warp % GQA, dim = h * HEAD_DIM + c.lane * 4;
        const bool merges = slot < r.count;
        const Item it = item_at(m, step, merges ? k + slot : k);
        Head& head = m.head(r.of(slot));
        const float now = it.last ? score_now(c, head, h) : -1e30f;
        sync_consumers();
        Weighed found;
        u64* parts = t.parts + (u64)(c.group * ROWS + it.row) * t.spans * PART_WORDS;
        if (merges) {
            float* own = po + slot * WARPS * HEADS_WIDTH;
            found = merge_warps(c, head, m.ml[slot], own, h, it.last, now);
            if (!it.last) {
                // To the worker of the row's last span, which may be this one: through its shared memory, the same values.
                parts += it.span * PART_WORDS;
                put2(parts + dim / 2, pack24(found.o[0], found.o[1], epoch), pack24(found.o[2], found.o[3], epoch));
                if (c.lane < 2) put(parts + HEADS_WIDTH / 2 + h * 2 + c.lane, (u64)__float_as_uint(c.lane ? found.l : found.m) | (u64)epoch << 32);
                *(float4*)(own + dim) = make_float4(as24(found.o[0]), as24(found.o[1]), as24(found.o[2]), as24(found.o[3]));
                __syncwarp();
                if (c.lane == 0) *(float2*)m.ml[slot][0][h] = make_float2(found.m, found.l);
            }
        }
        if (r.apart) sync_consumers();
        if (merges && it.last) {
            for (u32 s = 0; s + 1 < it.spans; ++s, parts += PART_WORDS) {
                u32 from = ITEMS;
#pragma unroll
                for (u32 i = 0; i < ITEMS; ++i) if (i < r.count && m.list[step & 1][k + i] == it.row + s * ROWS) from = i;
                if (from < ITEMS) {
                    float4 v = *(float4*)(po + from * WARPS * HEADS_WIDTH + dim);
                    float2 ml = *(float2*)m.ml[from][0][h];
                    float x[4] = {v.x, v.y, v.z, v.w};
                    found.join(ml.x, ml.y, x);
                    continue;
                }
                uint4 v, ml;
                do {
                    v = get4(parts + dim / 2);
                    ml = get4(parts + HEADS_WIDTH / 2 + h * 2);
                } while (c.waiting(fresh(v, epoch << 16) && ml.y == epoch && ml.w == epoch, 3));
                float x[4];
                unpack24(v.x, v.y, x[0], x[1]);
                unpack24(v.z, v.w, x[2], x[3]);
                found.join(__uint_as_float(ml.x), __uint_as_float(ml.z), x);
            }
            float by = __fdividef(1.f, found.l);
            put(p.link + WORD_OUT + c.group * (ROWS * HEADS_WIDTH / 4) + place<OUT_STEPS>(it.row, dim), word4(found.o[0] * by, found.o[1] * by, found.o[2] * by, found.o[3] * by, turn));
            // Read next a token later: the key by the first head's warp, the value by the second's.
            if (h < 2) {
                float4 v = *(float4*)&(h ? head.vcur : head.kcur)[c.lane * 4];
                store_kv(c, m.rows[it.row], layer, it.position, h, bf16x2(v.x, v.y), bf16x2(v.z, v.w));
            }
        }
        k += r.count;
        sync_consumers();
    }
}
