// Persistent greedy decode of a Qwen3-shaped model: one cooperative launch runs many tokens.
//
// 128 workers (one a multiprocessor). The weights of a worker lie in one contiguous tape in the order they are used; a few
// producer threads stream the tape, and the old keys and values of the worker's head, through a shared-memory ring and
// never wait for a dependency. Eight consumer warps multiply with tensor cores: a chunk of 16 rows x 256 columns is
// eight k-slices, one a warp; a stage's weights wait in registers before its input arrives. Activations enter as two
// bf16 parts (16 bits of mantissa) in two columns of B.
// Exchanges between workers carry readiness in the data: every 8-byte word holds values and an epoch.
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
