// Exchange layout, words and products of together.cu: several rows, each a token of its own sequence. Follows attend.cuh.
//
// Values that matrix instructions read travel in bf16, four neighbours of a row a word, scaled by 2^-64: the uppermost bit of
// the first one's exponent is then free, and says in which of two turns the word was written. Each word is written in every
// turn. What is added up travels as words of decode.cu, two floats of 24 bits and an epoch. All of it is zero when a launch
// begins.
//
// Constant in front: ROWS, 8, 16 or 32.
#define NARROW (ROWS / 8)          // tiles of eight rows
#define SIDES (ROWS <= 16 ? 2 : 1) // buffers of sums
#define SUM_PITCH 68               // of a row of a warp's sums, for 64 rows of weights
#define SUM_SIDE (WARPS * ROWS * SUM_PITCH)
#define PIECE 64                   // columns of a sum of squares
#define PIECES (HIDDEN / PIECE)
#define ADDERS_ROW (WORKERS / ROWS) // workers that add up a row of the residual stream
#define ADDED (HIDDEN / ADDERS_ROW) // columns of one
#define ADDING (ADDED / 4)          // its threads
#ifndef SPAN
#define SPAN 8 // blocks of 32 positions that a worker attends to at once
#endif
#define AT_ONCE (WARPS / (GQA + 2)) // rows whose queries a worker makes ready at once
#define ITEMS (ROWS <= 8 ? 2 : WARPS / GQA) // spans of them between two barriers
#define LIST 256                            // spans of a worker
#define TINY 5.421010862427522e-20f // 2^-64
#define HUGE 18446744073709551616.f // 2^64

// Words of the exchange buffers.
#define WORD_Y 0 // [2][ROWS * HIDDEN / 4] input of QKV and the head, of gate and up
#define WORD_SQUARES (WORD_Y + 2 * ROWS * HIDDEN / 4)
#define WORD_QKV (WORD_SQUARES + 2 * ROWS * PIECES) // [KV_HEADS][ROWS][QKV_WORDS]
#define WORD_SUM (WORD_QKV + KV_HEADS * ROWS * QKV_WORDS) // [2][ROWS][KV_HEADS][HIDDEN / 2]
#define WORD_OUT (WORD_SUM + 2 * ROWS * KV_HEADS * HIDDEN / 2) // [KV_HEADS][ROWS * HEADS_WIDTH / 4]
#define WORD_MID (WORD_OUT + KV_HEADS * ROWS * HEADS_WIDTH / 4) // [KV_HEADS][ROWS * MID_WIDTH / 4]
#define WORD_BEST (WORD_MID + KV_HEADS * ROWS * MID_WIDTH / 4) // [ROWS][WORKERS] x 2
#define WORD_NEXT (WORD_BEST + ROWS * WORKERS * 2) // [ROWS]

// A sequence: its cache, and the position of the token fed first.
struct Row {
    u8* cache;
    u32 position;
    u32 rest; // nothing
};

// `p` is that of decode.cu, of which position, kv and ends are not used; out is [steps][ROWS], logits are those of the last step.
struct Together {
    Params p;
    const Row* rows;
    const u32* tokens; // fed first
    u64* parts;        // [KV_HEADS][ROWS][spans][PART_WORDS]
    u32 spans, count;
};

struct Mates {
    Shared shared;
    Head more[AT_ONCE - 1];
    __align__(8) float ml[ITEMS][WARPS][GQA][2]; // of the spans between two barriers: what each warp found
    Row rows[ROWS];
    __align__(16) float4 residual[ADDING]; // of a thread that adds up: its four columns of a row of the residual stream
    float factor[ROWS]; // of the norm, times 2^64
    // Spans of this worker, of even and odd steps: row, number and whether it is the last; blocks of 32 old positions.
    u16 list[2][LIST], begin[2][LIST], end[2][LIST];
    u32 items[2];
    // What a row's attention works with, of those that are made ready at once.
    __device__ __forceinline__ Head& head(u32 i) { return i ? more[i - 1] : shared.head; }
};

static_assert(sizeof(Mates) <= 15360, "what the host leaves behind the ring and the sums");

__device__ __forceinline__ void put2(u64* p, u64 a, u64 b) { asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(p), "l"(a), "l"(b) : "memory"); }
__device__ __forceinline__ u64 get1(const u64* p) {
    u64 v;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
}

// Four neighbours of a row, for the matrix instructions. What is no number, or too large, makes the row's every sum no number.
__device__ __forceinline__ u64 word4(float a, float b, float c, float d, u32 turn) {
    bool fits = fabsf(a) + fabsf(b) + fabsf(c) + fabsf(d) < HUGE;
    u32 lo = fits ? bf16x2(a * TINY, b * TINY) : 0x7fc00000u, hi = fits ? bf16x2(c * TINY, d * TINY) : 0u;
    return (u64)(lo | turn << 14) | (u64)hi << 32;
}

// Where the word of row n's columns k to k + 3 lies: by warps of the reader, tiles of rows, steps and lanes, two steps together
// where their number is even.
template <int STEPS> __device__ __forceinline__ u32 place(u32 n, u32 k) {
    const u32 WIDTH = STEPS < 8 ? STEPS : 8;
    u32 block = k / (WIDTH * 128), inside = k % (WIDTH * 128), warp = inside / (WIDTH * 16), step = block * WIDTH + inside % (WIDTH * 16) / 16;
    u32 lane = n % 8 * 4 + k % 16 / 4, tile = (warp * NARROW + n / 8) * STEPS;
    return STEPS % 2 ? (tile + step) * 32 + lane : (tile + step / 2 * 2) * 32 + lane * 2 + step % 2;
}

// What follows from a thread's place is found anew in each product: kept, it would take the weights' registers.
__device__ __forceinline__ void forget(Ctx& c) { asm volatile("" : "+r"(c.tid), "+r"(c.warp), "+r"(c.lane), "+r"(c.group), "+r"(c.member)); }

// This warp's columns of all rows, as fragments of B, of two steps each.
template <int STEPS> struct Inputs {
    static const int EACH = STEPS % 2 ? 1 : 2;
    uint4 b[NARROW][(STEPS + 1) / 2];
    __device__ __forceinline__ void gather(Ctx& c, const u64* words, u32 turn, u32 count, u32 where) {
        const u64* from = words + c.warp * (NARROW * STEPS * 32);
        const u32 flag = turn << 14;
        // A lane whose row is not there takes the last one's words: nobody reads its sums.
        u32 at[NARROW];
#pragma unroll
        for (int t = 0; t < NARROW; ++t) {
            u32 n = t * 8 + (c.lane >> 2);
            n = n < count ? n : count - 1;
            at[t] = n / 8 * (STEPS * 32) + (n % 8 * 4 + (c.lane & 3)) * EACH;
        }
        for (;;) {
            u32 off = 0;
#pragma unroll
            for (int t = 0; t < NARROW; ++t)
#pragma unroll
                for (int s = 0; s < STEPS; s += EACH) {
                    uint4& v = b[t][s / 2];
                    if (EACH == 2) v = get4(from + at[t] + s * 32);
                    else {
                        u64 w = get1(from + at[t] + s * 32);
                        (s & 1 ? v.z : v.x) = (u32)w;
                        (s & 1 ? v.w : v.y) = (u32)(w >> 32);
                    }
                }
#pragma unroll
            for (int t = 0; t < NARROW; ++t)
#pragma unroll
                for (int s = 0; s < STEPS; ++s) off |= (s & 1 ? b[t][s / 2].z : b[t][s / 2].x) ^ flag;
            if (__all_sync(~0u, !(off & 0x4000u))) break;
            if (c.waiting(false, where)) continue;
            // Nothing to be kept in registers over a look at the clock.
#pragma unroll
            for (int t = 0; t < NARROW; ++t)
#pragma unroll
                for (int s = 0; s < STEPS; s += 2) b[t][s / 2] = make_uint4(0, 0, 0, 0);
            break;
        }
#pragma unroll
        for (int t = 0; t < NARROW; ++t)
#pragma unroll
            for (int s = 0; s < STEPS; s += 2) { b[t][s / 2].x &= ~0x4000u; b[t][s / 2].z &= ~0x4000u; }
    }
};

// Sums of squares on their way, two pieces a lane and eight lanes a row, of ROWS / 4 warps. Where they come from is found anew: kept,
// it would take the weights' registers.
struct Squares {
    uint4 v;
    __device__ __forceinline__ static bool mine(const Ctx& c, u32 count) { return c.warp < ROWS / 4 && c.tid / 8 < count; }
    __device__ __forceinline__ static const u64* from(const Ctx& c, u32 which) { return c.p.link + WORD_SQUARES + (which * ROWS + c.tid / 8) * PIECES + c.tid % 8 * 2; }
    __device__ __forceinline__ Squares(const Ctx& c, u32 which, u32 count) {
        static_assert(PIECES == 16, "two pieces a lane");
        v = make_uint4(0, 0, 0, 0);
        if (mine(c, count)) v = get4(from(c, which));
    }
    // The factors of the norm, for all rows.
    __device__ __forceinline__ void finish(Ctx& c, float* factor, u32 which, u32 count, u32 epoch, u32 where) {
        forget(c);
        if (c.warp >= ROWS / 4) return;
        const bool own = mine(c, count);
        while (c.waiting(!own || (v.y == epoch && v.w == epoch), where)) if (own) v = get4(from(c, which));
        float sum = __uint_as_float(v.x) + __uint_as_float(v.z);
#pragma unroll
        for (int d = 1; d < 8; d *= 2) sum += __shfl_xor_sync(~0u, sum, d);
        // No end to it: nothing of this row is a number.
        if (own && c.tid % 8 == 0) factor[c.tid / 8] = sum < 3.4e38f ? rsqrtf(sum * (1.f / HIDDEN) + EPS) * HUGE : __int_as_float(0x7fc00000);
    }
};

#if INT8
// Two weights of 8 bits in bf16, which has them all. Each is below 0x43: 128 and its low seven bits, less 128, or 256 where it is negative.
__device__ __forceinline__ u32 widen(u32 v) {
    u32 r;
    asm("sub.rn.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(v & 0xff7fff7fu), "r"(v & 0xff80ff80u));
    return r;
}
// A fragment of four columns of rows r and r + 8.
__device__ __forceinline__ uint4 widen(u32 upper, u32 lower) {
    const u32 OVER = 0x43434343u;
    return make_uint4(widen(__byte_perm(upper, OVER, 0x4140)), widen(__byte_perm(lower, OVER, 0x4140)), widen(__byte_perm(upper, OVER, 0x4342)), widen(__byte_perm(lower, OVER, 0x4342)));
}
#endif

// A worker's part of a matrix, TILES x 16 rows and STEPS x 128 columns; some of it waits in registers. Weights of 8 bits wait in bf16
// if there is room, and are summed up as such; sums are scaled.
template <int TILES, int STEPS> struct Weights {
    static const int ALL = TILES * STEPS, HELD = ALL <= HELD_MOST || ALL <= 12 ? TILES : HELD_MOST / STEPS, UNITS = HELD * STEPS;
    // int8: scales of rows r and r + 8, two where a warp's columns do not lie within 128.
    static const int SCALES = 8 % STEPS ? 2 : 1;
    static const int FEW = NARROW < 2 ? NARROW : 2;
    static const int WAITING = INT8 && NARROW > 2 ? UNITS / 2 : UNITS; // 16 bytes a lane
    uint4 w[WAITING ? WAITING : 1];
    u32 scale[(HELD ? HELD : 1) * SCALES];
    // Whether all of it is waited for before its input is, since even a look at what has landed takes time; tiles that stay in the
    // ring are then read one ahead. In 8 bits it would not leave registers enough, and a few rows do not gain.
    static const bool AHEAD = HELD < TILES && ROWS > 8 && !INT8 && CHUNKS(TILES, STEPS) <= SLOTS;
    __device__ __forceinline__ void fetch(Ctx& c, const u32* scales) {
        if (AHEAD) c.wait(CHUNKS(TILES, STEPS));
#if INT8
#pragma unroll
        for (int t = 0; t < HELD; ++t) load_scales(c, scales, t, scale + t * SCALES);
#endif
        if (HELD && WAITING == UNITS / PER_UNIT) c.fetch<UNITS / PER_UNIT / 2>(w);
        else if (HELD) {
            uint4 read[UNITS ? UNITS / PER_UNIT : 1];
            c.fetch<UNITS / PER_UNIT / 2>(read);
            widen_some(read, 0, UNITS, w);
        }
        c.give_back();
    }
    __device__ __forceinline__ static void load_scales(const Ctx& c, const u32* scales, int tile, u32* to) {
#pragma unroll
        for (int g = 0; g < SCALES; ++g) to[g] = __ldg(scales + (tile * STEPS + block(c, g * (STEPS - 1))) * 8 + (c.lane >> 2));
    }
    // Of 128 columns, that of a step.
    __device__ __forceinline__ static u32 block(const Ctx& c, int step) { return column(c.warp, step, STEPS) / 128; }
    // Fragments `first` to `first + count` of what was read.
    __device__ __forceinline__ static void widen_some(const uint4* from, int first, int count, uint4* to) {
#pragma unroll
        for (int i = 0; i < count; ++i) {
#if INT8
            const uint4 v = from[(first + i) / 2];
            to[i] = (first + i) & 1 ? widen(v.z, v.w) : widen(v.x, v.y);
#else
            to[i] = from[first + i];
#endif
        }
    }
    // A tile's sums over this warp's columns, to its place among the warp's: [row][SUM_PITCH], TOGETHER tiles of rows at once. `after`
    // is called when the weights are used no more.
    template <int TOGETHER, class After>
    __device__ __forceinline__ static void tile(Ctx& c, float* sums, int at, const uint4* u, const u32* scale, const Inputs<STEPS>& x, After after) {
        float* to = sums + (c.lane & 3) * 2 * SUM_PITCH + at * 16 + (c.lane >> 2);
#pragma unroll
        for (int t = 0; t < NARROW; t += TOGETHER) {
            float a[TOGETHER][4] = {}, b[TOGETHER][4] = {};
#pragma unroll
            for (int s = 0; s < STEPS; ++s)
#pragma unroll
                for (int i = 0; i < TOGETHER; ++i) {
                    const uint4& v = x.b[t + i][s / 2];
                    if (INT8 && SCALES > 1) {
                        float sum[4] = {};
                        u32 pair = s == 0 || (s + 1 < STEPS && block(c, s) == block(c, 0)) ? scale[0] : scale[SCALES - 1];
                        mma(sum, u[s], s & 1 ? v.z : v.x, s & 1 ? v.w : v.y);
#pragma unroll
                        for (int j = 0; j < 4; ++j) a[i][j] = fmaf(sum[j], scale_of(pair, j), a[i][j]);
                    } else
                        mma(s & 1 ? b[i] : a[i], u[s], s & 1 ? v.z : v.x, s & 1 ? v.w : v.y);
                }
            if (t + TOGETHER == NARROW) after();
#pragma unroll
            for (int i = 0; i < TOGETHER; ++i) {
                float v[4], *row = to + (t + i) * 8 * SUM_PITCH;
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    v[j] = a[i][j] + b[i][j];
                    if (INT8 && SCALES == 1) v[j] *= scale_of(scale[0], j);
                }
                row[0] = v[0];
                row[SUM_PITCH] = v[1];
                row[8] = v[2];
                row[SUM_PITCH + 8] = v[3];
            }
        }
    }
    // Of sum j of a fragment: the first two are of row r.
    __device__ __forceinline__ static float scale_of(u32 pair, int j) { return j < 2 ? lo_f(pair) : hi_f(pair); }
    __device__ __forceinline__ void multiply(Ctx& c, float* side, const Inputs<STEPS>& x, const u32* scales) {
        const int N = AHEAD ? STEPS / PER_UNIT / 2 : 1;
        float* sums = side + c.warp * (ROWS * SUM_PITCH);
        uint4 read[2 * N];
        u32 seen = 0;
        if (AHEAD) seen = c.load<N>(read);
#pragma unroll
        for (int t = 0; t < HELD; ++t) {
            uint4 u[STEPS];
            if (WAITING == UNITS)
#pragma unroll
                for (int s = 0; s < STEPS; ++s) u[s] = w[t * STEPS + s];
            else
                widen_some(w, t * STEPS, STEPS, u);
            tile<FEW>(c, sums, t, u, scale + t * SCALES, x, []() {});
        }
        if constexpr (AHEAD) {
#pragma unroll
            for (int t = HELD; t < TILES; ++t) {
                uint4 u[STEPS];
                widen_some(read, 0, STEPS, u);
                c.release(N, seen);
                if (t + 1 < TILES) seen = c.load<N>(read);
                tile<FEW>(c, sums, t, u, scale, x, []() {});
            }
        } else if constexpr (HELD < TILES)
#pragma unroll 1
            for (int t = HELD; t < TILES; ++t) {
                u32 own[SCALES] = {};
#if INT8
                load_scales(c, scales, t, own);
#endif
                stream(c, sums, t, x, own);
            }
    }
    // A tile whose weights are still in the ring. They are given back after the products, which wait for the loads anyway.
    __device__ __forceinline__ static void stream(Ctx& c, float* sums, int t, const Inputs<STEPS>& x, const u32* scale) {
        const int N = STEPS / PER_UNIT / 2;
        uint4 read[2 * N], u[STEPS];
        c.wait(N);
        u32 seen = c.load<N>(read);
        widen_some(read, 0, STEPS, u);
        tile<FEW>(c, sums, t, u, scale, x, [&]() { c.release(N, seen); });
    }
};

// Sums over the warps of four neighbouring rows of weights, for row n.
__device__ __forceinline__ float4 total(const float* side, u32 n, u32 first) {
    float4 v[WARPS];
#pragma unroll
    for (int w = 0; w < WARPS; ++w) v[w] = *(const float4*)(side + (w * ROWS + n) * SUM_PITCH + first);
#pragma unroll
    for (int d = 1; d < WARPS; d *= 2)
#pragma unroll
        for (int w = 0; w < WARPS; w += 2 * d) { v[w].x += v[w + d].x; v[w].y += v[w + d].y; v[w].z += v[w + d].z; v[w].w += v[w + d].w; }
    return v[0];
}

// A thread that adds up some columns of a row of the residual stream, which it keeps in shared memory.
struct Adder {
    u32 row, column;
    bool mine;
    __device__ __forceinline__ Adder(const Ctx& c, u32 count) {
        row = c.worker / ADDERS_ROW;
        column = c.worker % ADDERS_ROW * ADDED + c.tid * 4;
        mine = c.tid < ADDING && row < count;
    }
    __device__ __forceinline__ static bool warps(const Ctx& c) { return c.warp < (ADDING + 31) / 32; }
    __device__ __forceinline__ float4 embed(const Params& p, u32 token) const {
        uint2 e = mine ? *(const uint2*)(p.embedding + (u64)(token < VOCAB ? token : 0) * HIDDEN + column) : make_uint2(0, 0);
        return make_float4(lo_f(e.x), hi_f(e.x), lo_f(e.y), hi_f(e.y));
    }
    // What was there and what every group's workers have given.
    __device__ __forceinline__ float4 add(Ctx& c, const Mates& m, u32 which, u32 epoch) const {
        const u64* from = c.p.link + WORD_SUM + ((u64)(which * ROWS + row) * KV_HEADS * HIDDEN + column) / 2;
        uint4 v[KV_HEADS];
        for (;;) {
            bool ready = true;
#pragma unroll
            for (int g = 0; g < KV_HEADS; ++g) if (mine) v[g] = get4(from + g * (HIDDEN / 2));
#pragma unroll
            for (int g = 0; g < KV_HEADS; ++g) ready = ready && (!mine || fresh(v[g], epoch << 16));
            if (__all_sync(~0u, ready)) break;
            if (!c.waiting(false, 10)) return make_float4(0.f, 0.f, 0.f, 0.f);
        }
        float s[KV_HEADS][4];
#pragma unroll
        for (int g = 0; g < KV_HEADS; ++g) { unpack24(v[g].x, v[g].y, s[g][0], s[g][1]); unpack24(v[g].z, v[g].w, s[g][2], s[g][3]); }
#pragma unroll
        for (int d = 1; d < KV_HEADS; d *= 2)
#pragma unroll
            for (int g = 0; g + d < KV_HEADS; g += 2 * d)
#pragma unroll
                for (int i = 0; i < 4; ++i) s[g][i] += s[g + d][i];
        float4 x = mine ? m.residual[c.tid] : make_float4(0.f, 0.f, 0.f, 0.f);
        return make_float4(x.x + s[0][0], x.y + s[0][1], x.z + s[0][2], x.w + s[0][3]);
    }
    // Keeps it, gives it weighed by a norm's weight, and sums of its squares.
    __device__ __forceinline__ void give(const Ctx& c, Mates& m, float4 x, float4 gain, u32 which, u32 turn, u32 epoch) const {
        float ss = (x.x * x.x + x.y * x.y) + (x.z * x.z + x.w * x.w);
        if (mine) {
            put(c.p.link + WORD_Y + which * (ROWS * HIDDEN / 4) + place<HIDDEN_STEPS>(row, column), word4(x.x * gain.x, x.y * gain.y, x.z * gain.z, x.w * gain.w, turn));
            m.residual[c.tid] = x;
        }
#pragma unroll
        for (int d = 1; d < PIECE / 4; d *= 2) ss += __shfl_xor_sync(~0u, ss, d);
        if (mine && c.tid % (PIECE / 4) == 0) put(c.p.link + WORD_SQUARES + (which * ROWS + row) * PIECES + column / PIECE, (u64)__float_as_uint(ss) | (u64)epoch << 32);
    }
    __device__ __forceinline__ float4 gain(const float* weights) const { return mine ? *(const float4*)(weights + column) : make_float4(0.f, 0.f, 0.f, 0.f); }
};
