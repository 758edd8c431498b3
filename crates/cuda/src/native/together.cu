// Persistent decode of several rows: one cooperative launch runs some steps of 2 to ROWS sequences.
//
// Workers, groups, tape and ring are those of decode.cu. A worker multiplies its weights with all rows at once; a warp takes
// its eighth of the columns of all rows from an exchange into registers, as bf16. Weights of 8 bits are widened to it. Sums over
// the groups are made by the workers that hold the residual stream, each some columns of one row: they take what the groups
// give, and give the next product's input to all. Between QKV and attention, attention and its output, gate and up and down, a row goes from workers of a group
// to workers of the same group. No row's arithmetic depends on another's.
// Follows together.cuh and mates.cuh.
#ifndef HOLD_SUMS
#define HOLD_SUMS (ROWS <= 16 ? 400 : 800)
#endif
#ifndef HOLD_PRODUCT
#define HOLD_PRODUCT (ROWS <= 8 ? 800 : 400)
#endif
#ifndef HOLD_Y
#define HOLD_Y (ROWS <= 8 ? 1600 : ROWS <= 16 ? 2400 : 3000)
#endif
#ifndef HOLD_OUT
#define HOLD_OUT 0
#endif
#ifndef FLY_KV
#define FLY_KV (ROWS <= 8 ? 2 : ROWS <= 16 ? 3 : 6) // copies of keys and values in flight a producer
#endif
#ifndef EARLY
#define EARLY 18 // chunks of keys and values of which as few as of weights are in flight: workers still exchange when they are sent
#endif

static_assert(EARLY % 2 == 0, "keys and values of a block are sent alike");
static_assert(FLY <= SLOTS / PRODUCERS && FLY_KV <= SLOTS / PRODUCERS && FLY_HEAD <= SLOTS / PRODUCERS, "a slot's copy is seen to land before the next is sent to it");

// As produce of decode.cu: one of PRODUCERS threads. Of a layer's keys and values the first come before the weights that the queries
// are made with: they wait in registers then, and the ring has room for more.
__device__ void produce(const Together& t, Mates& m, u32 ring, u32 worker, u32 me) {
    const Params& p = t.p;
    Shared& s = m.shared;
    Sender out(s, ring, me);
    const u8* tape;
    auto weights = [&](u32 count, u32 fly) {
        out.run(count, fly, [&](u32 i) { return tape + i * CHUNK; });
        tape += count * CHUNK;
    };
    for (u32 step = 0; out.going && step < p.steps; ++step) {
        asm volatile("" : "+r"(worker));
        tape = p.tape + (u64)worker * p.tape_stride;
        for (u32 layer = 0; out.going && layer < LAYERS; ++layer) {
            if (!layer) {
                weights(CHUNKS(QKV_TILES, HIDDEN_STEPS), FLY);
                // Until the last token's keys and values are stored and the step's spans known.
                out.wait(saddr(&s.stored), step & 1);
            }
            const u32 items = m.items[step & 1];
            if (layer && !items) weights(CHUNKS(QKV_TILES, HIDDEN_STEPS), FLY);
            u32 few = EARLY;
            for (u32 k = 0; out.going && k < items; ++k) {
                u32 begin = m.begin[step & 1][k], end = m.end[step & 1][k];
                const u8* cache = m.rows[m.list[step & 1][k] % ROWS].cache + kv_block(layer, worker / GROUP_SIZE, 0, 0);
                // A block's keys, its values, those of the next.
                auto at = [&](u32 i) { return cache + kv_block(0, 0, 0, begin + i / 2) + i % 2 * VALUES_BEHIND; };
                if (layer && !k) {
                    // What is taken before the queries are made comes before their weights.
                    u32 early = end - begin < 4 ? end - begin : 4;
                    out.run(early * 2, FLY, at);
                    begin += early;
                    weights(CHUNKS(QKV_TILES, HIDDEN_STEPS), FLY);
                }
                u32 count = (end - begin) * 2, some = count < few ? count : few;
                few -= some;
                out.run(some, FLY, at);
                begin += some / 2;
                out.run(count - some, FLY_KV, at);
            }
            weights(CHUNKS(OUT_TILES, OUT_STEPS) + CHUNKS(GU_TILES, HIDDEN_STEPS) + CHUNKS(OUT_TILES, MID_STEPS), FLY);
        }
        u32 first = (u32)((u64)HEAD_TILES_ALL * worker / WORKERS), last = (u32)((u64)HEAD_TILES_ALL * (worker + 1) / WORKERS);
        weights((last - first) * CHUNKS(1, HIDDEN_STEPS), FLY_HEAD);
    }
    out.finish();
}

// Scales of weights of 8 bits, of a layer's matrix that `before` fragments of this warp come before.
__device__ __forceinline__ const u32* scales_of(const Ctx& c, u32 layer, u32 before) {
    const u32 FRAGMENTS = (QKV_TILES + GU_TILES) * HIDDEN_STEPS + OUT_TILES * (OUT_STEPS + MID_STEPS);
    return c.p.scales + c.worker * c.p.scale_stride + (layer * FRAGMENTS + before) * 8;
}

// Gives a product that is added to the residual stream: OUT_ROWS of its columns, for this worker's group.
__device__ __forceinline__ void give_sums(const Ctx& c, const float* side, u32 which, u32 epoch, u32 count) {
#pragma unroll
    for (u32 task = c.tid; task < OUT_ROWS / 4 * ROWS; task += CONSUMERS) {
        // All loads together, also those of rows that are not there.
        u32 quad = task % (OUT_ROWS / 4), n = task / (OUT_ROWS / 4);
        float4 v = total(side, n, quad * 4);
        if (n < count) put2(c.p.link + WORD_SUM + (((u64)(which * ROWS + n) * KV_HEADS + c.group) * HIDDEN + c.member * OUT_ROWS + quad * 4) / 2,
             pack24(v.x * HUGE, v.y * HUGE, epoch), pack24(v.z * HUGE, v.w * HUGE, epoch));
    }
}

__device__ __forceinline__ bool better(float v, u32 i, float best, u32 id) { return v > best || (v == best && i < id); }

// The head over this worker's rows of it; the best of every row goes to all.
__device__ __forceinline__ void head(Ctx& c, const Mates& m, float* sums, const Inputs<HIDDEN_STEPS>& x, const u32* scales, float* logits, u32 epoch, u32 count) {
    typedef Weights<1, HIDDEN_STEPS> Tile16;
    u32 tile = (u32)((u64)HEAD_TILES_ALL * c.worker / WORKERS), half = 0, id = 0xffffffffu;
    float best = -3.4e38f;
    u32 scale = 0, next = 0;
#if INT8
    Tile16::load_scales(c, scales, 0, &next);
#endif
#pragma unroll 1
    while (tile < (u32)((u64)HEAD_TILES_ALL * (c.worker + 1) / WORKERS)) {
        // Found anew instead of being kept.
        asm volatile("" : "+r"(c.tid), "+r"(c.lane), "+r"(c.worker));
        scale = next;
#if INT8
        // Of the next tile; behind the last one is room.
        Tile16::load_scales(c, scales += HIDDEN_STEPS * 8, 0, &next);
#endif
        Tile16::stream(c, sums + c.warp * (ROWS * SUM_PITCH), half, x, &scale);
        // Sums of one tile are written while those before are read: one barrier a tile is enough.
        sync_consumers();
        u32 n = c.tid / 4, quad = c.tid % 4, token = tile * 16 + quad * 4, from = half * 16 + quad * 4;
        ++tile;
        half ^= 1;
        if (n >= count) continue;
        float r = m.factor[n];
        float4 v = total(sums, n, from);
        v.x *= r; v.y *= r; v.z *= r; v.w *= r;
        if (logits) *(float4*)(logits + (u64)n * VOCAB + token) = v;
        float each[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            // Not a number, or no end to it: what the host is to know outdoes every id.
            if (!(fabsf(each[i]) < 3.4e38f)) { best = __int_as_float(0x7f800000); id = 0xffffffffu; }
            else if (each[i] > best) { best = each[i]; id = token + i; }
        }
    }
#pragma unroll
    for (int d = 1; d < 4; d *= 2) {
        float v = __shfl_xor_sync(~0u, best, d);
        u32 i = __shfl_xor_sync(~0u, id, d);
        if (better(v, i, best, id)) { best = v; id = i; }
    }
    sync_consumers();
    u32 n = c.tid / 4;
    if (n < count && c.tid % 4 == 0) {
        // This worker's keys and values come before its word.
        __threadfence();
        put2(c.p.link + WORD_BEST + (n * WORKERS + c.worker) * 2, (u64)__float_as_uint(best) | (u64)epoch << 32, (u64)id | (u64)epoch << 32);
    }
}

// A row's token, found by the worker of its number and told to all.
__device__ __forceinline__ void settle_token(Ctx& c, u32* out, u32 epoch) {
    const u64* from = c.p.link + WORD_BEST + c.worker * WORKERS * 2;
    float best = -3.4e38f;
    u32 id = 0xffffffffu;
    uint4 v[WORKERS / 32];
    bool ready;
    do {
        ready = true;
#pragma unroll
        for (int i = 0; i < WORKERS / 32; ++i) v[i] = get4(from + (c.lane + i * 32) * 2);
#pragma unroll
        for (int i = 0; i < WORKERS / 32; ++i) ready = ready && v[i].y == epoch && v[i].w == epoch;
    } while (c.waiting(ready, 7));
#pragma unroll
    for (int i = 0; i < WORKERS / 32; ++i)
        if (better(__uint_as_float(v[i].x), v[i].z, best, id)) { best = __uint_as_float(v[i].x); id = v[i].z; }
#pragma unroll
    for (int d = 16; d; d >>= 1) {
        float w = __shfl_xor_sync(~0u, best, d);
        u32 i = __shfl_xor_sync(~0u, id, d);
        if (better(w, i, best, id)) { best = w; id = i; }
    }
    if (c.lane == 0) {
        out[c.worker] = id;
        __threadfence();
        put(c.p.link + WORD_NEXT + c.worker, (u64)id | (u64)epoch << 32);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) together(const __grid_constant__ Together t) {
    extern __shared__ __align__(1024) u8 memory[];
    const Params& p = t.p;
    u8* ring = memory;
    float* sums = (float*)(memory + SLOTS * CHUNK); // [SIDES][WARPS][ROWS][SUM_PITCH]; attention's, between
    Mates& m = *(Mates*)(sums + SIDES * SUM_SIDE);
    Shared& s = m.shared;
    u32 tid = threadIdx.x, worker = blockIdx.x;
    const u32 count = t.count;
    if (worker + 1 == p.fault) return;
    if (tid == 0) {
        for (int i = 0; i < SLOTS; ++i) { mbar_init(saddr(&s.full[i]), 1); mbar_init(saddr(&s.empty[i]), EVERY_LANE ? CONSUMERS : WARPS); }
        mbar_init(saddr(&s.stop), 1);
        mbar_init(saddr(&s.stored), EVERY_LANE ? 32 : 1);
        s.gone = 0;
        s.deadline = now_ns() + p.deadline_ns;
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    if (tid < count) m.rows[tid] = t.rows[tid];
    __syncthreads();
    if (tid >= CONSUMERS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        u32 me = (tid - CONSUMERS) / 32;
        if (tid % 32 == 0 && me < PRODUCERS) produce(t, m, saddr(ring), worker, me);
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    Ctx c{p, s, saddr(ring), nullptr, nullptr, worker, worker / GROUP_SIZE, worker % GROUP_SIZE, tid, tid / 32, tid % 32, 0, 0, 0, 0, 0, 0, 0, false};
    // Every product's input is given once a layer, that of QKV once more for the head: what `turn` a word is of.
    u32 epoch = 1, side = 0;
    // Where sums have one buffer, all have read it before a next product begins: here, where nobody waits for others yet.
    auto flip = [&]() { if (SIDES == 2) side ^= 1; else sync_consumers(); };
    for (u32 step = 0; step < p.steps; ++step) {
        if (c.warp == WARPS - 1) {
            // Every worker's keys and values of the token before are stored; the copy engine reads them next.
            u64 word = 0;
            if (step) {
                do if (c.lane < count) word = get1(p.link + WORD_NEXT + c.lane);
                while (c.waiting(c.lane >= count || (u32)(word >> 32) == epoch - 1, 7));
                __threadfence();
                asm volatile("fence.proxy.async;" ::: "memory");
            }
            list_items(m, c.lane, c.member, step, count);
            __threadfence_block();
            __syncwarp();
            if (EVERY_LANE || c.lane == 0) mbar_arrive(saddr(&s.stored));
        }
        if (Adder::warps(c)) {
            Adder adder(c, count);
            float4 gain = adder.gain(p.norms);
            u64 word = adder.mine && !step ? t.tokens[adder.row] : 0;
            if (step) {
                do if (adder.mine) word = get1(p.link + WORD_NEXT + adder.row);
                while (c.waiting(!adder.mine || (u32)(word >> 32) == epoch - 1, 7));
            }
            adder.give(c, m, adder.embed(p, (u32)word), gain, 0, epoch & 1, epoch);
        }
        Tile tile;
        c.since = cycles();
#pragma unroll 1
        for (u32 layer = 0; layer < LAYERS; ++layer) {
            const float* gains = p.norms + (u64)2 * layer * HIDDEN;
            const u32 turn = (epoch - step) & 1;
            {
                forget(c);
                Weights<QKV_TILES, HIDDEN_STEPS> w;
                const u32* scales = scales_of(c, layer, 0);
                Inputs<HIDDEN_STEPS> x;
                if (layer) take_first(c, m, step, tile);
                w.fetch(c, scales);
                c.hold(layer ? HOLD_Y : 0);
                x.gather(c, p.link + WORD_Y, epoch & 1, count, 1);
                Squares squares(c, 0, count);
                float* to = sums + side * SUM_SIDE;
                w.multiply(c, to, x, scales);
                squares.finish(c, m.factor, 0, count, epoch, 1);
                sync_consumers();
                u32 n = c.tid / (QKV_ROWS / 4), quad = c.tid % (QKV_ROWS / 4);
                if (n < count) {
                    float4 v = total(to, n, quad * 4);
                    float r = m.factor[n];
                    put2(p.link + WORD_QKV + (c.group * ROWS + n) * QKV_WORDS + (c.member * QKV_ROWS + quad * 4) / 2, pack24(v.x * r, v.y * r, epoch), pack24(v.z * r, v.w * r, epoch));
                }
                c.since = cycles();
                // Attention has barriers of its own, unless there is nothing to attend to.
                if (SIDES == 2 || !m.items[step & 1]) flip();
            }
            attend_rows(c, m, t, sums + side * SUM_SIDE, tile, layer, step, epoch, turn);
            {
                forget(c);
                Weights<OUT_TILES, OUT_STEPS> w;
                const u32* scales = scales_of(c, layer, QKV_TILES * HIDDEN_STEPS);
                Inputs<OUT_STEPS> x;
                w.fetch(c, scales);
                c.hold(HOLD_OUT);
                x.gather(c, p.link + WORD_OUT + c.group * (ROWS * HEADS_WIDTH / 4), turn, count, 9);
                float* to = sums + side * SUM_SIDE;
                w.multiply(c, to, x, scales);
                sync_consumers();
                give_sums(c, to, 0, epoch, count);
                c.since = cycles();
                flip();
            }
            {
                forget(c);
                Weights<GU_TILES, HIDDEN_STEPS> w;
                const u32* scales = scales_of(c, layer, QKV_TILES * HIDDEN_STEPS + OUT_TILES * OUT_STEPS);
                Inputs<HIDDEN_STEPS> x;
                if (Adder::warps(c)) {
                    Adder adder(c, count);
                    float4 gain = adder.gain(gains + HIDDEN);
                    c.hold(HOLD_SUMS);
                    float4 x = adder.add(c, m, 0, epoch);
                    adder.give(c, m, x, gain, 1, turn, epoch);
                }
                w.fetch(c, scales);
                c.hold(HOLD_Y);
                x.gather(c, p.link + WORD_Y + ROWS * HIDDEN / 4, turn, count, 5);
                Squares squares(c, 1, count);
                float* to = sums + side * SUM_SIDE;
                w.multiply(c, to, x, scales);
                squares.finish(c, m.factor, 1, count, epoch, 5);
                sync_consumers();
                // Rows alternate: gate, up. A lane has two of them, two lanes a word.
                const int TURNS = (ROWS * 16 + CONSUMERS - 1) / CONSUMERS;
                const u32 quad = c.tid % 16;
                float2 v[TURNS];
#pragma unroll
                for (int i = 0; i < TURNS; ++i) {
                    u32 n = i * (CONSUMERS / 16) + c.tid / 16;
                    // All loads together, also of places that nobody wrote.
                    float4 s = total(to, n < ROWS ? n : 0, quad * 4);
                    float r = m.factor[n < ROWS ? n : 0], a = s.x * r, b = s.z * r;
                    v[i].x = __fdividef(a, 1.f + exp2_fast(-1.4426950408889634f * a)) * (s.y * r);
                    v[i].y = __fdividef(b, 1.f + exp2_fast(-1.4426950408889634f * b)) * (s.w * r);
                }
#pragma unroll
                for (int i = 0; i < TURNS; ++i) {
                    u32 n = i * (CONSUMERS / 16) + c.tid / 16;
                    float2 o = make_float2(__shfl_down_sync(~0u, v[i].x, 1), __shfl_down_sync(~0u, v[i].y, 1));
                    if (n < count && quad * 2 < MID_ROWS && quad % 2 == 0)
                        put(p.link + WORD_MID + c.group * (ROWS * MID_WIDTH / 4) + place<MID_STEPS>(n, c.member * MID_ROWS + quad * 2), word4(v[i].x, v[i].y, o.x, o.y, turn));
                }
                c.since = cycles();
                flip();
            }
            {
                forget(c);
                Weights<OUT_TILES, MID_STEPS> w;
                const u32* scales = scales_of(c, layer, (QKV_TILES + GU_TILES) * HIDDEN_STEPS + OUT_TILES * OUT_STEPS);
                Inputs<MID_STEPS> x;
                w.fetch(c, scales);
                c.hold(HOLD_PRODUCT);
                x.gather(c, p.link + WORD_MID + c.group * (ROWS * MID_WIDTH / 4), turn, count, 8);
                float* to = sums + side * SUM_SIDE;
                w.multiply(c, to, x, scales);
                sync_consumers();
                give_sums(c, to, 1, epoch, count);
                c.since = cycles();
                flip();
            }
            if (Adder::warps(c)) {
                Adder adder(c, count);
                float4 gain = adder.gain(gains + 2 * HIDDEN);
                c.hold(HOLD_SUMS);
                float4 x = adder.add(c, m, 1, epoch);
                adder.give(c, m, x, gain, 0, (epoch + 1) & 1, epoch + 1);
            }
            ++epoch;
        }
        {
            forget(c);
            Inputs<HIDDEN_STEPS> x;
            c.hold(HOLD_Y);
            x.gather(c, p.link + WORD_Y, epoch & 1, count, 6);
            Squares(c, 0, count).finish(c, m.factor, 0, count, epoch, 6);
            head(c, m, sums + side * SUM_SIDE, x, scales_of(c, LAYERS, 0), p.logits && step + 1 == p.steps ? p.logits : nullptr, epoch, count);
        }
        if (worker < count && c.warp == 0) settle_token(c, (u32*)p.out + step * ROWS, epoch);
        ++epoch;
        // Everybody leaves after the same step.
        if (c.gone) s.gone = 1;
        sync_consumers();
        if (s.gone) break;
    }
    sync_consumers();
    if (tid == 0) mbar_arrive(saddr(&s.stop));
}
