// What a worker of the persistent decoder works with: its ring of chunks, the exchanges, its products. Follows prelude.cuh.
//
// A warp multiplies with the columns that it took from an exchange itself, so that nothing waits between the two. One
// barrier a stage is left: before the sums over the eight warps. Their buffers alternate, since the next stage begins
// while the last one's sums are still read.

// One of PRODUCERS threads that send copies into the ring, each every PRODUCERS-th chunk, since one alone cannot issue them fast
// enough. It goes through its own chunks only: passing over those of others took longer than sending.
struct Sender {
    u64 policy;
    u32 ring, full, empty, stop;
    u32 skip; // chunks of others before its next
    u32 slot, parity; // where that goes, and the parity of the slot's release
    u32 flying, landing, landing_parity; // its chunks that were not seen to land, and the first of them
    bool round, going; // whether the ring has been filled once; whether to go on
    __device__ __forceinline__ Sender(Shared& s, u32 ring, u32 me)
        : policy(evict_first()), ring(ring), full(saddr(s.full)), empty(saddr(s.empty)), stop(saddr(&s.stop)), skip(me), slot(me), parity(1), flying(0), landing(me), landing_parity(0),
          round(false), going(true) {
        static_assert(SLOTS % PRODUCERS == 0, "a slot is one thread's, or nobody knows which of its copies landed");
    }
    __device__ __forceinline__ static void next(u32& slot, u32& parity) {
        slot += PRODUCERS;
        if (slot >= SLOTS) { slot -= SLOTS; parity ^= 1; }
    }
    __device__ __forceinline__ void land() {
        while (!mbar_try(full + landing * 8, landing_parity)) {}
        next(landing, landing_parity);
        --flying;
    }
    __device__ __forceinline__ void wait(u32 bar, u32 phase) {
        while (going && !mbar_try(bar, phase)) if (mbar_test(stop, 0)) going = false;
    }
    // Its own of the next `count` chunks, of which `at` tells where they are; keeps `fly` of its own in flight: more than the
    // bandwidth-delay product only queues, and the exchanges wait there.
    template <class At> __device__ __forceinline__ void run(u32 count, u32 fly, At at) {
#pragma unroll 1
        for (; skip < count; skip += PRODUCERS) {
            while (flying >= fly) land();
            if (round) wait(empty + slot * 8, parity);
            if (!going) return;
            mbar_expect(full + slot * 8, CHUNK);
            bulk(ring + slot * CHUNK, at(skip), CHUNK, full + slot * 8, policy);
            ++flying;
            u32 before = slot;
            next(slot, parity);
            round = round || slot < before;
        }
        skip -= count;
    }
    // What is in flight must land before the block may end.
    __device__ __forceinline__ void finish() {
        while (!mbar_try(stop, 0)) {}
        while (flying) land();
    }
};

struct Ctx {
    const Params& p;
    Shared& s;
    u32 ring; // shared address
    u32* xs; // this warp's activations: hi parts, then lo parts
    float* part; // [2][WARPS][PART_STRIDE]
    u32 worker, group, member, tid, warp, lane;
    u32 slot, phase; // where the next chunk to consume lies, and its parity
    u32 side; // of the alternating buffers
    u32 since; // when this worker last gave something
    u32 tries;
    u32 owed, seen; // chunks that are in registers and not yet given back, and what was seen of them
    bool gone; // somebody gave up: nothing is waited for any more
    // A warp waits as one. Every wait counts its tries; now and then it looks at the clock and at the word by which others
    // give up.
    __device__ __forceinline__ bool waiting(bool ready, u32 where) {
        if (__all_sync(~0u, ready) || gone) return false;
        if ((++tries & 0xfff) == 0) gone = __any_sync(~0u, give_up(p.abort_word, s.deadline, where, worker, tid, slot));
        return !gone;
    }
    // No answer can be there sooner, and every look of all workers takes room from the weights and from the answers.
    __device__ __forceinline__ void hold(u32 time) { while (!__all_sync(~0u, cycles() - since >= time)) {} }
    // Address of the chunk `i` places on.
    __device__ __forceinline__ u32 chunk_at(u32 i) const {
        u32 at = slot + i;
        return ring + (at < SLOTS ? at : at - SLOTS) * CHUNK;
    }
    // Waits until the next `count` chunks are in the ring: a lane looks at each.
    __device__ __forceinline__ void wait(u32 count) {
#if EVERY_LANE
        for (u32 i = 0; i < count; ++i)
            while (waiting(mbar_try(saddr(&s.full[slot + i - (slot + i >= SLOTS ? SLOTS : 0)]), phase ^ (slot + i >= SLOTS)), 100)) {}
#endif
        u32 at = slot + lane, wrapped = at >= SLOTS;
        u32 bar = saddr(&s.full[at - (wrapped ? SLOTS : 0)]);
        while (waiting(lane >= count || mbar_try(bar, phase ^ wrapped), 100)) {}
        // What one lane has seen arrive, all read.
        __syncwarp();
    }
    // This warp has read them: `seen` is made of a word of each load. A load from shared memory may still be on its way when a
    // later arrival at a barrier counts, and its chunk be overwritten; so the arrival is made to wait for the loads' answers, by
    // a condition that never holds and that no compiler knows.
    __device__ __forceinline__ void release(u32 count, u32 seen) {
        u32 never = seen == 0x7fc1a5a5u & p.fault == 0xffffffffu, by = lane + never * 64, at = slot + by;
        __syncwarp();
#if EVERY_LANE
        for (u32 i = never; i < count; ++i) mbar_arrive(saddr(&s.empty[slot + i - (slot + i >= SLOTS ? SLOTS : 0)]));
#else
        if (by < count) mbar_arrive(saddr(&s.empty[at - (at >= SLOTS ? SLOTS : 0)]));
#endif
        slot += count;
        if (slot >= SLOTS) { slot -= SLOTS; phase ^= 1; }
    }
    // This warp's part of N chunks, into registers. They are given back after the next wait for others: by then the loads have
    // answered, so nothing waits for them, and the copies that take the room do not meet the words that are waited for.
    template <int N> __device__ __forceinline__ void fetch(uint4* w) {
        wait(N);
        owe(N, load<N>(w));
    }
    __device__ __forceinline__ void owe(u32 count, u32 what) { owed = count; seen = what; }
    __device__ __forceinline__ void give_back() {
        if (owed) release(owed, seen);
        owed = 0;
    }
    template <int N> __device__ __forceinline__ u32 load(uint4* w) const {
        u32 seen = 0;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            u32 at = chunk_at(i) + warp * 1024 + lane * 16;
            w[i * 2] = lds128(at);
            w[i * 2 + 1] = lds128(at + 512);
        }
#pragma unroll
        for (int i = 0; i < 2 * N; ++i) seen ^= w[i].w;
        return seen;
    }
    // Waits until all of this lane's pairs of words carry the epoch.
    template <int N> __device__ __forceinline__ void poll(const u64* w, u32 stride, u32 epoch, uint4 (&v)[N], bool own, u32 where) {
        bool ready;
        do {
            ready = true;
#pragma unroll
            for (int i = 0; i < N; ++i) if (own) v[i] = get4(w + i * stride);
#pragma unroll
            for (int i = 0; i < N; ++i) ready = ready && (!own || fresh(v[i], epoch << 16));
        } while (waiting(ready, where));
    }
    __device__ __forceinline__ float* sums() const { return part + side * WARPS * PART_STRIDE; }
    // The barrier of a stage, after which sums() of before it are complete; returns them.
    __device__ __forceinline__ const float* settle() {
        const float* base = sums();
        sync_consumers();
        side ^= 1;
        since = cycles();
        return base;
    }
    __device__ __forceinline__ float row_sum(const float* base, u32 row) const {
        float v[WARPS];
#pragma unroll
        for (int w = 0; w < WARPS; ++w) v[w] = base[w * PART_STRIDE + row];
        return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
    }
    // 1 / rms of the residual stream, whose sums of squares put_ss left before the last settle().
    __device__ __forceinline__ float rstd() const {
        const float4 *v = (const float4*)s.ss[side ^ 1], a = v[0], b = v[1];
        float t = ((a.x + a.y) + (a.z + a.w)) + ((b.x + b.y) + (b.z + b.w));
        return rsqrtf(t * (1.f / HIDDEN) + EPS);
    }
    __device__ __forceinline__ void put_ss(float v) {
#pragma unroll
        for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
        if (lane == 0) s.ss[side][warp] = v;
    }
};

// The residual stream, of which a lane holds PAIRS pairs of its warp's columns.
struct Stream {
    float x[PAIRS * 2];
    u32 cleared; // by a lane of the last warp: a part of what its word was
    // Column of a pair; as a sum with a constant wherever it can be, since addresses take registers.
    __device__ __forceinline__ static u32 first(const Ctx& c) { return c.warp * 128 + c.lane * 2; }
    template <typename T> __device__ __forceinline__ static T* at(const Ctx& c, T* row, int pair) {
        if (pair * 4 < HIDDEN_STEPS / 8 * 8) return row + first(c) + (pair / 2 * 1024 + pair % 2 * 64);
        return row + column(c.warp, pair * 4, HIDDEN_STEPS) + c.lane * 2;
    }
    __device__ __forceinline__ void embed(const Ctx& c, u32 token) {
#pragma unroll
        for (int i = 0; i < PAIRS; ++i) {
            u32 e = *(const u32*)at(c, c.p.embedding + (u64)token * HIDDEN, i);
            x[i * 2] = lo_f(e);
            x[i * 2 + 1] = hi_f(e);
        }
    }
    // Adds what every group has given to the sums of an even or odd layer. LINK_SUM is zero when a launch begins.
    template <int WHICH> __device__ __forceinline__ void gather(Ctx& c, u32 odd, u32 where) {
        c.hold(HOLD_SUM);
        uint4 v[PAIRS];
        bool ready;
        do {
            ready = true;
#pragma unroll
            for (int i = 0; i < PAIRS; ++i) v[i] = get4(at(c, (const u64*)c.p.link, i) + (LINK_SUM + (WHICH * 2 + odd) * HIDDEN));
#pragma unroll
            for (int i = 0; i < PAIRS; ++i) ready = ready && added(v[i].y) == KV_HEADS && added(v[i].w) == KV_HEADS;
        } while (c.waiting(ready, where));
        c.give_back();
#pragma unroll
        for (int i = 0; i < PAIRS; ++i) {
            x[i * 2] += sum_of((u64)v[i].y << 32 | v[i].x);
            x[i * 2 + 1] += sum_of((u64)v[i].w << 32 | v[i].z);
        }
    }
    // After a barrier behind `gather`: all workers have added to those sums, so all have taken those of the exchange before. This
    // worker clears its share of them. They are added to again by workers that have seen a sum which this worker adds to later.
    template <int WHICH> __device__ __forceinline__ void clear_before(const Ctx& c, u32 odd) {
        cleared = 0;
        if (c.warp == WARPS - 1 && c.lane < HIDDEN / WORKERS)
            cleared = (u32)(clear(c.p.link + LINK_SUM + ((1 - WHICH) * 2 + (WHICH ? odd : odd ^ 1)) * HIDDEN + c.worker * (HIDDEN / WORKERS) + c.lane) >> 32);
    }
    // Before the barrier ahead of that: waits for the answer, by a store that is never made.
    __device__ __forceinline__ void await_clear(const Ctx& c) const {
        if (cleared == 0x7fc1a5a5u & c.p.fault == 0xffffffffu) c.s.gone = 1;
    }
};

// A worker's part of a matrix, TILES x 16 rows and STEPS x 128 columns: what of it waits in registers, and the input.
template <int TILES, int STEPS> struct Slab {
    // Whether the input, too wide for registers, is read again for every tile.
    static const bool WIDE = STEPS > 20;
    // Tiles whose weights wait in registers; the others are read from the ring as they are used. All or whole chunks.
    static const int ALL = TILES * STEPS / PER_UNIT, SOME = HELD_MOST * PER_UNIT / STEPS;
    static const int HELD = WIDE ? 0 : ALL <= HELD_MOST ? TILES : SOME, UNITS = HELD * STEPS / PER_UNIT;
    uint4 w[UNITS ? UNITS : 1];
    static const int BLOCKS = (STEPS + 7) / 8;
    // int8: scales of weights, one a row for each step, or for each block of columns if a warp's part lies within 128.
    static const bool EACH = STEPS % 8 != 0 && STEPS % 8 != 1 && STEPS % 8 != 2 && STEPS % 8 != 4;
    static const int SCALES = EACH ? STEPS : BLOCKS;
    u32 scale[HELD ? HELD * SCALES : SCALES];
    float sx[BLOCKS], grades[BLOCKS]; // of activations, and what takes them to integers
    __device__ __forceinline__ void fetch(Ctx& c, const u32* scales) {
#if INT8
        load_scales<HELD>(c, scales, 0);
#endif
        if (HELD) c.fetch<UNITS / 2>(w);
    }
#if INT8
    template <int N> __device__ __forceinline__ void load_scales(const Ctx& c, const u32* scales, u32 tile) {
#pragma unroll
        for (int t = 0; t < N; ++t)
#pragma unroll
            for (int g = 0; g < SCALES; ++g)
                scale[t * SCALES + g] = __ldg(scales + ((tile + t) * STEPS + column(c.warp, EACH ? g : g * 8, STEPS) / 128) * 8 + (c.lane >> 2));
    }
    // The factor that brings block b, whose greatest magnitude in this lane is `most`, to 16 bits.
    __device__ __forceinline__ float grade(int b, float most) {
        u32 all = __reduce_max_sync(~0u, __float_as_uint(most));
        float m = __uint_as_float(all);
        sx[b] = m * (1.f / 32512.f);
        return m > 0.f ? __fdividef(32512.f, m) : 0.f;
    }
#endif
    // Two or four neighbours from column k of this warp's own on, of block k / 128.
    __device__ __forceinline__ void put2(Ctx& c, u32 k, float a, float b, float grade) {
#if INT8
        int i = __float2int_rn(a * grade), j = __float2int_rn(b * grade), hi = (i + 128) >> 8, hj = (j + 128) >> 8;
        *(u16*)((u8*)c.xs + k) = (u16)((hi & 255) | (hj << 8));
        *(u16*)((u8*)c.xs + STEPS * 16 + k) = (u16)((i & 255) | (j << 8));
#else
        u32 h = bf16x2(a, b);
        c.xs[k / 2] = h;
        c.xs[STEPS * 8 + 8 + k / 2] = bf16x2(a - lo_f(h), b - hi_f(h));
#endif
    }
    __device__ __forceinline__ void put4(Ctx& c, u32 k, float x, float y, float z, float w, float grade) {
#if INT8
        put2(c, k, x, y, grade);
        put2(c, k + 2, z, w, grade);
#else
        u32 h = bf16x2(x, y), i = bf16x2(z, w);
        *(uint2*)(c.xs + k / 2) = make_uint2(h, i);
        *(uint2*)(c.xs + STEPS * 8 + 8 + k / 2) = make_uint2(bf16x2(x - lo_f(h), y - hi_f(h)), bf16x2(z - lo_f(i), w - hi_f(i)));
#endif
    }
    // The residual stream weighed by a norm's weight; returns this lane's sum of squares.
    __device__ __forceinline__ float put_stream(Ctx& c, const Stream& r, const float2 (&g)[PAIRS]) {
        float ss = 0.f;
#pragma unroll
        for (int i = 0; i < PAIRS; ++i) {
            float by = 0.f;
#if INT8
            if (i % 2 == 0) {
                float most = fmaxf(fabsf(r.x[i * 2] * g[i].x), fabsf(r.x[i * 2 + 1] * g[i].y));
                if (i + 1 < PAIRS) most = fmaxf(most, fmaxf(fabsf(r.x[i * 2 + 2] * g[i + 1].x), fabsf(r.x[i * 2 + 3] * g[i + 1].y)));
                grades[i / 2] = grade(i / 2, most);
            }
            by = grades[i / 2];
#endif
            put2(c, i * 64 + c.lane * 2, r.x[i * 2] * g[i].x, r.x[i * 2 + 1] * g[i].y, by);
            ss += r.x[i * 2] * r.x[i * 2] + r.x[i * 2 + 1] * r.x[i * 2 + 1];
        }
        return ss;
    }
#if INT8
    typedef u32 Input;
    typedef int Sum;
#else
    typedef uint2 Input;
    typedef float Sum;
#endif
    // Column n of B for steps FROM to TO: hi or lo part of the activations, or nothing.
    template <int FROM, int TO> __device__ __forceinline__ void inputs(const Ctx& c, Input* x) {
        u32 n = c.lane >> 2, quad = c.lane & 3;
#if INT8
        u32 at = saddr(c.xs) + n * (STEPS * 16) + quad * 4;
#pragma unroll
        for (int s = FROM; s < TO; ++s) x[s - FROM] = n < 2 ? lds32(at + s * 16) : 0u;
#else
        u32 at = saddr(c.xs) + n * (STEPS * 32 + 32) + quad * 8;
#pragma unroll
        for (int s = FROM; s < TO; ++s) x[s - FROM] = n < 2 ? lds64(at + s * 32) : make_uint2(0, 0);
#endif
    }
    // What `multiply` takes of the input at once.
    typedef Input Inputs[WIDE ? 1 : STEPS];
    __device__ __forceinline__ void inputs(Ctx& c, Inputs& x) {
        __syncwarp();
        if (!WIDE) inputs<0, WIDE ? 0 : STEPS>(c, x);
    }
    // The sums of a tile's rows r and r + 8 over its steps FROM to TO, a whole number of scales, from weights in registers
    // of which the first of the tile is fragment `first`, and the input from step `base` on.
    template <int FROM, int TO> __device__ __forceinline__ void span(float (&v)[2], const uint4* w, int first, const u32* scale, const Input* x, int base) {
#if INT8
        const int EACH_STEPS = EACH ? 1 : 8;
#pragma unroll
        for (int begin = FROM; begin < TO; begin += EACH_STEPS) {
            const int g = begin / EACH_STEPS;
            int a[4] = {}, b[4] = {};
#pragma unroll
            for (int s = begin; s < begin + EACH_STEPS && s < TO; ++s) {
                const uint4 u = w[(first + s) / 2];
                if ((first + s) & 1) mma8(s & 1 ? b : a, u.z, u.w, x[s - base]);
                else mma8(s & 1 ? b : a, u.x, u.y, x[s - base]);
            }
            float by = sx[begin / 8];
            v[0] += (float)((a[0] + b[0]) * 256 + (a[1] + b[1])) * (lo_f(scale[g]) * by);
            v[1] += (float)((a[2] + b[2]) * 256 + (a[3] + b[3])) * (hi_f(scale[g]) * by);
        }
#else
        float a[4] = {}, b[4] = {};
#pragma unroll
        for (int s = FROM; s < TO; ++s) mma(s & 1 ? b : a, w[first + s], x[s - base].x, x[s - base].y);
        v[0] += (a[0] + b[0]) + (a[1] + b[1]);
        v[1] += (a[2] + b[2]) + (a[3] + b[3]);
#endif
    }
    // Into base[warp][row].
    __device__ __forceinline__ void put_sums(const Ctx& c, float* base, int t, const float (&v)[2]) {
        if ((c.lane & 3) == 0) {
            float* to = base + c.warp * PART_STRIDE + t * 16 + (c.lane >> 2);
            to[0] = v[0];
            to[8] = v[1];
        }
    }
    // A tile whose weights are still in the ring: four chunks at a time.
    template <int FROM = 0> __device__ __forceinline__ void stream(Ctx& c, float (&v)[2], const u32* scale, const Inputs& x) {
        const int TO = FROM + 8 * PER_UNIT < STEPS ? FROM + 8 * PER_UNIT : STEPS;
        uint4 u[(TO - FROM) / PER_UNIT];
        const int N = (TO - FROM) / PER_UNIT / 2;
        c.wait(N);
        u32 seen = c.load<N>(u);
        // Given back after the products, which wait for the loads anyway.
        if constexpr (WIDE) {
            Input near[TO - FROM];
            inputs<FROM, TO>(c, near);
            span<FROM, TO>(v, u, -FROM, scale, near, FROM);
        } else
            span<FROM, TO>(v, u, -FROM, scale, x, 0);
        c.release(N, seen);
        if constexpr (TO < STEPS) stream<TO>(c, v, scale, x);
    }
    __device__ __forceinline__ void stream_tile(Ctx& c, float* base, int t, const u32* scale, const Inputs& x) {
        float v[2] = {};
        stream(c, v, scale, x);
        put_sums(c, base, t, v);
    }
    // Products with the activations put before: this warp's sums go to sums().
    __device__ __forceinline__ void multiply(Ctx& c, const u32* scales) {
        Inputs x;
        inputs(c, x);
        float* base = c.sums();
        const u32* own = scale;
#pragma unroll
        for (int t = 0; t < HELD; ++t) {
            float v[2] = {};
            span<0, STEPS>(v, w, t * STEPS, own + t * SCALES, x, 0);
            put_sums(c, base, t, v);
        }
#pragma unroll 1
        for (int t = HELD; t < TILES; ++t) {
#if INT8
            load_scales<1>(c, scales, t);
#endif
            stream_tile(c, base, t, own, x);
        }
    }
};
