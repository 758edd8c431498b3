// Persistent greedy decode of a Qwen3-shaped model: one cooperative launch runs many tokens.
//
// 128 workers (one a multiprocessor), those of a KV head a group. The weights of a worker lie in one contiguous tape in the
// order they are used; a few producer threads stream the tape, and the old keys and values of the worker's head, through a
// shared-memory ring and never wait for a dependency. Eight consumer warps multiply with tensor cores, each its eighth of
// the columns; a stage's weights wait in registers before its input arrives. Activations enter as two parts, of bf16 or
// int8 as the weights, that together have 16 bits.
// A layer has two exchanges between all workers: what attention and what the MLP add to the residual stream. Every worker
// has rows of these matrices for the columns of its own group, and adds its sums in fixed point to LINK_SUM, where the
// count of additions says when they are complete. The rest is exchanged inside groups: words of values and an epoch.
// Follows prelude.cuh, worker.cuh and attend.cuh.

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
    } while (c.waiting(ready, 7));
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
    u32 full = saddr(s.full), empty = saddr(s.empty), stop = saddr(&s.stop), stored = saddr(&s.stored);
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
                while (!mbar_try(empty + slot * 8, parity)) if (mbar_test(stop, 0)) { going = false; return; };
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
        u32 pos = p.position + step, blocks = (pos + BLOCK_POSITIONS - 1) / BLOCK_POSITIONS, fly = pos < FAR ? FLY : FLY_FAR;
        tape = p.tape + (u64)worker * p.tape_stride;
        for (u32 layer = 0; going && layer < LAYERS; ++layer) {
            weights(CHUNKS(QKV_TILES, HIDDEN_STEPS), fly);
            // The last block was written a token ago.
            while (going && step && !mbar_try(stored, (step - 1) & 1)) if (mbar_test(stop, 0)) going = false;
            bool all = blocks <= WHOLE;
            for (u32 b = all ? 0 : member; going && b < blocks; b += all ? 1 : GROUP_SIZE) {
                const u8* keys = p.kv + kv_block(layer, group, 0, b);
                chunk(fly, CHUNK, [&](u32 to, u32 bar) { bulk(to, keys, CHUNK, bar, policy); });
                if (going) chunk(fly, CHUNK, [&](u32 to, u32 bar) { bulk(to, keys + VALUES_BEHIND, CHUNK, bar, policy); });
            }
            weights(CHUNKS(OUT_TILES, OUT_STEPS) + CHUNKS(GU_TILES, HIDDEN_STEPS) + CHUNKS(OUT_TILES, MID_STEPS), fly);
        }
        weights((last - first) * CHUNKS(1, HIDDEN_STEPS), FLY_HEAD);
    }
    // What is in flight must land before the block may end.
    while (!mbar_try(stop, 0)) {}
    while (landed < own)
        if (mbar_try(full + landed_slot * 8, landed_parity)) land();
}

typedef Slab<1, HIDDEN_STEPS> HeadSlab;

// The head over this worker's rows, span by span; best row so far.
__device__ __forceinline__ void head(Ctx& c, HeadSlab& slab, const u32* scales, float* logits, float& best, u32& id) {
    u32 first = (u32)((u64)HEAD_TILES_ALL * c.worker / WORKERS), last = (u32)((u64)HEAD_TILES_ALL * (c.worker + 1) / WORKERS);
    HeadSlab::Inputs x;
    slab.inputs(c, x);
    float r = 0.f;
    for (u32 t0 = first; t0 < last; t0 += HEAD_SPAN) {
        u32 tiles = last - t0 < HEAD_SPAN ? last - t0 : HEAD_SPAN;
        float* part = c.sums();
#if INT8
        // Scales come from memory: a span's at once, a lane some of them.
        u32 own[HeadSlab::SCALES][HEAD_SPAN / 4];
#pragma unroll
        for (int g = 0; g < HeadSlab::SCALES; ++g)
#pragma unroll
            for (int i = 0; i < HEAD_SPAN / 4; ++i)
                own[g][i] = __ldg(scales + ((t0 - first + i * 4 + c.lane / 8) * HIDDEN_STEPS + column(c.warp, g * 8, HIDDEN_STEPS) / 128) * 8 + c.lane % 8);
#pragma unroll
        for (int i = 0; i < HEAD_SPAN / 4; ++i)
#pragma unroll 1
            for (u32 j = 0; j < 4 && i * 4 + j < tiles; ++j) {
                u32 scale[HeadSlab::SCALES];
#pragma unroll
                for (int g = 0; g < HeadSlab::SCALES; ++g) scale[g] = __shfl_sync(~0u, own[g][i], j * 8 + (c.lane >> 2));
                slab.stream_tile(c, part, i * 4 + j, scale, x);
            }
#else
#pragma unroll 1
        for (u32 t = 0; t < tiles; ++t) slab.stream_tile(c, part, t, nullptr, x);
#endif
        // The other half of `part` is written until the next barrier, so one a span is enough.
        part = (float*)c.settle();
        if (t0 == first) r = c.rstd();
        if (c.tid < tiles * 16) {
            float v = c.row_sum(part, c.tid) * r;
            u32 token = t0 * 16 + c.tid;
            if (logits) logits[token] = v;
            // Not a number, or no end to it: what the host is to know outdoes every id.
            if (!(fabsf(v) < 3.4e38f)) { best = __int_as_float(0x7f800000); id = 0xffffffffu; }
            else if (v > best) { best = v; id = token; }
        }
    }
}

// Weights of a norm for this lane's pairs.
__device__ __forceinline__ void norm_weights(const Ctx& c, const float* g, float2 (&w)[PAIRS]) {
#pragma unroll
    for (int i = 0; i < PAIRS; ++i) w[i] = *(const float2*)Stream::at(c, g, i);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) decode(const __grid_constant__ Params p) {
    extern __shared__ __align__(1024) u8 memory[];
    u8* ring = memory;
    float* part = (float*)(memory + SLOTS * CHUNK);
    float* po = part + 2 * WARPS * PART_STRIDE; // [WARPS][HEADS_WIDTH]
    u32* xs = (u32*)(po + WARPS * HEADS_WIDTH);
    Shared& s = *(Shared*)(xs + WARPS * XS_WORDS);
    u32 tid = threadIdx.x, worker = blockIdx.x;
    if (worker + 1 == p.fault) return;
    if (tid == 0) {
        for (int i = 0; i < SLOTS; ++i) { mbar_init(saddr(&s.full[i]), 1); mbar_init(saddr(&s.empty[i]), EVERY_LANE ? CONSUMERS : WARPS); }
        mbar_init(saddr(&s.stop), 1);
        mbar_init(saddr(&s.stored), 1);
        s.gone = 0;
        s.deadline = now_ns() + p.deadline_ns;
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    for (u32 i = tid; i < WARPS * HEADS_WIDTH; i += THREADS) po[i] = 0.f;
    __syncthreads();
    // The producer's group of warps gives its registers to the others, which hold a stage's weights in them.
    if (tid >= CONSUMERS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        u32 me = (tid - CONSUMERS) / 32;
        if (tid % 32 == 0 && me < PRODUCERS) produce(p, s, saddr(ring), worker, me);
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    Ctx c{p, s, saddr(ring), xs + tid / 32 * XS_WORDS, part, worker, worker / GROUP_SIZE, worker % GROUP_SIZE, tid, tid / 32, tid % 32, 0, 0, 0, 0, 0, 0, 0, false};
    Stream stream;
    stream.cleared = 0;
    u64* sums = p.link + LINK_SUM + c.member * OUT_ROWS;
    u32 epoch = p.epoch, token = 0, odd = 0; // of the layer
    for (u32 step = 0; step < p.steps; ++step) {
        int forced = p.forced[step];
        if (forced >= 0) token = (u32)forced;
        u32 pos = p.position + step;
        stream.embed(c, token);
        const u32* scales = p.scales + worker * p.scale_stride;
#pragma unroll 1
        for (u32 layer = 0; layer < LAYERS; ++layer) {
            // What follows from a thread's place is found anew in each layer: kept, it would take the weights' registers.
            asm volatile("" : "+r"(c.tid), "+r"(c.warp), "+r"(c.lane), "+r"(c.group), "+r"(c.member));
            const float* g = p.norms + (u64)2 * layer * HIDDEN;
            {
                Slab<QKV_TILES, HIDDEN_STEPS> slab;
                float2 gw[PAIRS];
                norm_weights(c, g, gw);
                slab.fetch(c, scales);
                if (layer) stream.gather<1>(c, odd ^ 1, 1);
                else c.give_back();
                c.put_ss(slab.put_stream(c, stream, gw));
                slab.multiply(c, scales);
                const float* base = c.settle();
                scales += QKV_TILES * HIDDEN_STEPS * 8;
                if (tid < (QKV_ROWS + 31) / 32 * 32) {
                    float v = c.row_sum(base, tid) * c.rstd(), next = __shfl_down_sync(~0u, v, 1);
                    if (tid < QKV_ROWS && !(tid & 1)) put(p.link + LINK_QKV + c.group * QKV_WORDS + (c.member * QKV_ROWS + tid) / 2, pack24(v, next, epoch));
                }
                if (layer) stream.clear_before<1>(c, odd ^ 1);
            }
            {
                OutSlab slab;
                attend(c, slab, po, layer, pos, epoch);
                slab.fetch(c, scales);
                if (pos > WHOLE * BLOCK_POSITIONS) merge(c, slab, pos, epoch);
                c.give_back();
                slab.multiply(c, scales);
                stream.await_clear(c);
                const float* base = c.settle();
                scales += OUT_TILES * OUT_STEPS * 8;
                if (tid < OUT_ROWS) add(sums + odd * HIDDEN + tid, c.row_sum(base, tid));
            }
            {
                Slab<GU_TILES, HIDDEN_STEPS> slab;
                float2 gw[PAIRS];
                norm_weights(c, g + HIDDEN, gw);
                slab.fetch(c, scales);
                stream.gather<0>(c, odd, 5);
                c.put_ss(slab.put_stream(c, stream, gw));
                slab.multiply(c, scales);
                const float* base = c.settle();
                scales += GU_TILES * HIDDEN_STEPS * 8;
                if (tid < (MID_ROWS + 31) / 32 * 32) {
                    // Rows alternate: gate, up.
                    u32 row = tid < MID_ROWS ? tid * 2 : 0;
                    float r = c.rstd(), v = c.row_sum(base, row) * r, u = c.row_sum(base, row + 1) * r;
                    v = __fdividef(v, 1.f + exp2_fast(-1.4426950408889634f * v)) * u;
                    float next = __shfl_down_sync(~0u, v, 1);
                    if (tid < MID_ROWS && !(tid & 1)) put(p.link + LINK_MID + (worker * MID_ROWS + tid) / 2, pack24(v, next, epoch));
                }
                stream.clear_before<0>(c, odd);
            }
            {
                Slab<OUT_TILES, MID_STEPS> slab;
                slab.fetch(c, scales);
                const int BLOCKS = (MID_STEPS + 7) / 8;
                c.hold(HOLD_MID);
#pragma unroll
                for (int b = 0; b < BLOCKS; ++b) {
                    const u32 width = (b * 8 + 8 <= MID_STEPS ? 8 : MID_STEPS % 8) * 16;
                    bool own = c.lane * 4 < width;
                    uint4 v[1] = {};
                    c.poll<1>(p.link + LINK_MID + (c.group * MID_WIDTH + column(c.warp, b * 8, MID_STEPS) + c.lane * 4) / 2, 0, epoch, v, own, 8);
                    c.give_back();
                    float x[4], by = 0.f;
                    unpack24(v[0].x, v[0].y, x[0], x[1]);
                    unpack24(v[0].z, v[0].w, x[2], x[3]);
#if INT8
                    by = slab.grade(b, fmaxf(fmaxf(fabsf(x[0]), fabsf(x[1])), fmaxf(fabsf(x[2]), fabsf(x[3]))));
#endif
                    if (own) slab.put4(c, b * 128 + c.lane * 4, x[0], x[1], x[2], x[3], by);
                }
                slab.multiply(c, scales);
                stream.await_clear(c);
                const float* base = c.settle();
                scales += OUT_TILES * MID_STEPS * 8;
                if (tid < OUT_ROWS) add(sums + (2 + odd) * HIDDEN + tid, c.row_sum(base, tid));
            }
            odd ^= 1;
            ++epoch;
        }
        float best = -3.4e38f;
        u32 id = 0xffffffffu;
        {
            HeadSlab slab;
            float2 gw[PAIRS];
            norm_weights(c, p.norms + (u64)2 * LAYERS * HIDDEN, gw);
            stream.gather<1>(c, odd ^ 1, 6);
            c.put_ss(slab.put_stream(c, stream, gw));
            head(c, slab, scales, p.logits ? p.logits + (u64)step * VOCAB : nullptr, best, id);
            stream.clear_before<1>(c, odd ^ 1);
        }
        token = agree(c, epoch, best, id);
        ++epoch;
        if (tid == 0) {
            // Every worker's K and V of this token are in the second level cache; the copy engine reads them next.
            __threadfence();
            asm volatile("fence.proxy.async;" ::: "memory");
            mbar_arrive(saddr(&s.stored));
            if (worker == 0) p.out[step] = token == 0xffffffffu ? -2 : (int)token;
        }
        // Everybody leaves after the same token.
        if (c.gone) s.gone = 1;
        sync_consumers();
        bool end = s.gone || token == 0xffffffffu;
#pragma unroll
        for (int i = 0; i < 8; ++i) end = end || p.ends[i] == (int)token;
        if (end) break;
    }
    sync_consumers();
    if (tid == 0) mbar_arrive(saddr(&s.stop));
}
