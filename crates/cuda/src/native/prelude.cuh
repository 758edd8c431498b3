// Exchange layout and primitives of decode.cu and pack.cu. Header-free, so that NVRTC needs no include path.
//
// Constants in front of this text: LAYERS, HIDDEN, HEADS, KV_HEADS, INTER, VOCAB, EPS, QK_NORM, INT8. Follows kv.cuh.
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;

#ifndef SLOTS
#define SLOTS 24    // chunks of the ring, a multiple of PRODUCERS
#endif
#ifndef INT8
#define INT8 0      // weights of 8 bits, one scale for 128 columns of a row
#endif
#ifndef PRODUCERS
#define PRODUCERS 2 // threads that send copies
#endif
#ifndef FLY
#define FLY (HIDDEN > 2560 ? 5 : HIDDEN > 1024 ? 3 : 2) // copies each has in flight during the layers
#endif
#ifndef QK_NORM
#define QK_NORM 1
#endif
#ifndef FLY_FAR
#define FLY_FAR (HIDDEN > 1024 ? FLY : FLY + 1) // the same from position FAR on, where keys and values are much of what is read
#endif
#ifndef FAR
#define FAR 2048
#endif
#ifndef FLY_HEAD
#define FLY_HEAD 5  // and during the head, where nobody exchanges
#endif
// Cycles between a worker's own word and its first look for the others', by what is waited for.
#ifndef HOLD_QKV
#define HOLD_QKV (HIDDEN > 1024 ? 1200 : INT8 ? 600 : 800)
#endif
#ifndef HOLD_PART
#define HOLD_PART (HIDDEN > 1024 ? 1200 : INT8 ? 600 : 800)
#endif
#ifndef HOLD_MID
#define HOLD_MID (HIDDEN > 1024 ? 1200 : INT8 ? 400 : 800)
#endif
#ifndef HOLD_SUM
#define HOLD_SUM (HIDDEN > 1024 ? 1200 : INT8 ? 700 : 900)
#endif
#ifndef WHOLE
#define WHOLE 2     // blocks up to which every worker attends to all positions
#endif
#ifndef HELD_MOST
#define HELD_MOST (HIDDEN > 1024 ? 8 : 16) // units of weights, of four registers, that wait for a stage's input; more would not leave registers enough
#endif
#ifndef EVERY_LANE
#define EVERY_LANE 0 // for a checker of races, which follows no order that passes from lane to lane: each lane waits for chunks and gives them back
#endif
#define HEAD_DIM 128
#define WORKERS 128
#define GROUP_SIZE (WORKERS / KV_HEADS) // workers of a KV head, which also share a part of the MLP
#define GQA (HEADS / KV_HEADS)
#define WARPS 8
#define CONSUMERS (WARPS * 32)
#define THREADS (CONSUMERS + 128)
#define CHUNK 8192
// Rows and columns of a worker's part of each matrix. QKV and gate/up: whole rows. Output and down: the columns that
// belong to its group, so that what they read comes from the group alone; their sums go to all.
#define HEADS_WIDTH (GQA * HEAD_DIM)
#define QKV_ROWS ((GQA + 2) * HEAD_DIM / GROUP_SIZE)
#define OUT_ROWS (HIDDEN / GROUP_SIZE)
#define MID_OWN (INTER / WORKERS)
#define MID_ROWS ((MID_OWN + 7) / 8 * 8) // with rows of zeros
#define MID_WIDTH (MID_ROWS * GROUP_SIZE)
// Tiles of sixteen rows, and steps of sixteen columns a warp: the columns are spread over all eight.
#define QKV_TILES (QKV_ROWS / 16)
#define OUT_TILES (OUT_ROWS / 16)
#define GU_TILES (MID_ROWS / 8)
#define HIDDEN_STEPS (HIDDEN / 128)
#define OUT_STEPS (HEADS_WIDTH / 128)
#define MID_STEPS (MID_WIDTH / 128)
// A lane reads 16 bytes of a chunk at once: one fragment of 16 x 16 in bf16, two in int8.
#define PER_UNIT (INT8 ? 2 : 1)
#define CHUNKS(tiles, steps) ((tiles) * (steps) / PER_UNIT / 2)
#define HEAD_TILES_ALL (VOCAB / 16)
#define HEAD_SPAN 16
#define PART_STRIDE 264
#define PAIRS (HIDDEN / 512) // pairs of neighbours of the residual stream a lane
#define WIDEST_STEPS (HIDDEN_STEPS > MID_STEPS ? HIDDEN_STEPS : MID_STEPS)
#define XS_WORDS ((WIDEST_STEPS > OUT_STEPS ? WIDEST_STEPS : OUT_STEPS) * 16 + 8) // of a warp: hi, then lo parts

// Words of the exchange buffers.
#define LINK_QKV 0 // [KV_HEADS][QKV_WORDS]
#define QKV_WORDS (QKV_ROWS * GROUP_SIZE / 2)
#define LINK_PART (LINK_QKV + KV_HEADS * QKV_WORDS) // [KV_HEADS][GROUP_SIZE][PART_WORDS]
#define PART_WORDS (HEADS_WIDTH / 2 + GQA * 2)
#define LINK_MID (LINK_PART + KV_HEADS * GROUP_SIZE * PART_WORDS) // [KV_HEADS][MID_WIDTH / 2]
#define LINK_SUM (LINK_MID + KV_HEADS * MID_WIDTH / 2) // [output, down][even, odd layers][HIDDEN]: what a layer adds to the residual stream
#define LINK_BEST (LINK_SUM + 4 * HIDDEN) // [WORKERS] x 2 words
#define LINK_WORDS (LINK_BEST + WORKERS * 2)

struct Params {
    const u8* tape;          // [WORKERS][tape_stride]
    u64 tape_stride;
    const u32* scales;       // int8: [WORKERS][scale_stride], pairs of rows r and r + 8
    u64 scale_stride;
    const u16* embedding;    // [VOCAB][HIDDEN] bf16
    const float* norms;      // [LAYERS][2][HIDDEN], then [HIDDEN]
    const float* head_norms; // [LAYERS][2][HEAD_DIM]
    const float* rope;       // [positions][HEAD_DIM / 2][2]
    u8* kv;                  // as kv.cuh has it; a block is a chunk
    u64* link;               // LINK_WORDS
    const int* forced;       // [steps]: token to feed at each step or -1 for the model's own
    int* out;                // [steps] chosen tokens; as many as were decoded
    float* logits;           // null, or [steps][VOCAB]
    u32* abort_word;         // 8 words: flag, then a record of who waited for what
    u32 position, steps, epoch;
    u32 fault;               // 0, or the number of a worker that stays away, from 1: to test the deadline
    int ends[8];             // tokens after which nothing is decoded, or -1
    u64 deadline_ns;
};

// What one KV head's attention of one token works with.
struct Head {
    __align__(16) u32 q[2][HEADS_WIDTH / 2 + 16]; // hi and lo parts in the order of fragments
    __align__(16) float qf[HEADS_WIDTH];
    __align__(16) float kcur[HEAD_DIM];
    __align__(16) float vcur[HEAD_DIM];
    __align__(8) float ml[WARPS][GQA][2];
    float now[GQA]; // scores of the current position
};

struct Shared {
    u64 full[SLOTS], empty[SLOTS];
    __align__(16) float ss[2][WARPS];
    Head head;
    float best_v[WARPS];
    u32 best_i[WARPS];
    volatile u32 gone;
    u64 deadline; // when waiting is given up
    u64 stop;     // completed once: nothing is multiplied any more
    u64 stored;   // completed once a token, when every worker has stored its KV
};

// First column of step `s` of a warp in a matrix of `steps` x 128 columns: blocks of 1024 columns and what remains, each
// in eight equal parts, so that a warp multiplies with just the columns that it takes from an exchange.
__device__ __forceinline__ u32 column(u32 warp, u32 s, u32 steps) {
    u32 base = s / 8 * 8, width = steps - base < 8 ? steps - base : 8;
    return base * 128 + (warp * width + s - base) * 16;
}
__device__ __forceinline__ u32 saddr(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ u64 now_ns() { u64 t; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)); return t; }
__device__ __forceinline__ u32 cycles() { u32 t; asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory"); return t; }
__device__ __forceinline__ void mbar_init(u32 a, u32 n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(a), "r"(n)); }
__device__ __forceinline__ void mbar_expect(u32 a, u32 n) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(a), "r"(n) : "memory"); }
__device__ __forceinline__ void mbar_arrive(u32 a) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(a) : "memory"); }
__device__ __forceinline__ bool mbar_try(u32 a, u32 parity) {
    u32 ok;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(a), "r"(parity) : "memory");
    return ok;
}
// The same without waiting a while for it.
__device__ __forceinline__ bool mbar_test(u32 a, u32 parity) {
    u32 ok;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(a), "r"(parity) : "memory");
    return ok;
}
__device__ __forceinline__ u64 evict_first() { u64 p; asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(p)); return p; }
__device__ __forceinline__ void bulk(u32 dst, const void* src, u32 bytes, u32 bar, u64 policy) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(dst), "l"(src), "r"(bytes), "r"(bar), "l"(policy) : "memory");
}
__device__ __forceinline__ void bulk_l2(const void* src, u32 bytes) { asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(src), "r"(bytes) : "memory"); }
__device__ __forceinline__ void sync_consumers() { asm volatile("bar.sync 1, %0;" ::"n"(CONSUMERS) : "memory"); }
__device__ __forceinline__ uint4 lds128(u32 a) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(a) : "memory");
    return v;
}
__device__ __forceinline__ uint2 lds64(u32 a) {
    uint2 v;
    asm volatile("ld.shared.v2.u32 {%0,%1}, [%2];" : "=r"(v.x), "=r"(v.y) : "r"(a) : "memory");
    return v;
}
__device__ __forceinline__ u32 lds32(u32 a) {
    u32 v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(a) : "memory");
    return v;
}
__device__ __forceinline__ void mma8(int (&c)[4], u32 a0, u32 a1, u32 b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a0), "r"(a1), "r"(b));
}
__device__ __forceinline__ void mma(float (&c)[4], uint4 w, u32 x0, u32 x1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(w.x), "r"(w.y), "r"(w.z), "r"(w.w), "r"(x0), "r"(x1));
}
__device__ __forceinline__ float exp2_fast(float x) { float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
__device__ __forceinline__ float lo_f(u32 v) { return __uint_as_float(v << 16); }
__device__ __forceinline__ float hi_f(u32 v) { return __uint_as_float(v & 0xffff0000u); }
__device__ __forceinline__ u32 bf16x2(float lo, float hi) { u32 r; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo)); return r; }

// A word of an exchange: two floats of 24 bits and a 16-bit epoch.
__device__ __forceinline__ u64 pack24(float a, float b, u32 epoch) {
    u32 x = (__float_as_uint(a) + 0x80u) >> 8, y = (__float_as_uint(b) + 0x80u) >> 8;
    return (u64)(x | (y << 24)) | ((u64)((y >> 8) | (epoch << 16)) << 32);
}
__device__ __forceinline__ void unpack24(u32 lo, u32 hi, float& a, float& b) {
    a = __uint_as_float(lo << 8);
    b = __uint_as_float(__byte_perm(lo, hi, 0x5430) & 0xffffff00u);
}
__device__ __forceinline__ void put(u64* p, u64 v) { asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory"); }
// Makes a word zero; what it was says that this was done.
__device__ __forceinline__ u64 clear(u64* p) {
    u64 was;
    asm volatile("atom.relaxed.gpu.global.exch.b64 %0, [%1], 0;" : "=l"(was) : "l"(p) : "memory");
    return was;
}
__device__ __forceinline__ uint4 get4(const u64* p) {
    uint4 v;
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p) : "memory");
    return v;
}
__device__ __forceinline__ uint2 get2(const u64* p) {
    uint2 v;
    asm volatile("ld.relaxed.gpu.global.v2.u32 {%0,%1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(p) : "memory");
    return v;
}
// Adds to a word of LINK_SUM: fixed point of 2^-32 in 56 bits, so that the order does not matter, and a count above.
__device__ __forceinline__ void add(u64* p, float v) {
    u64 w = (u64)__float2ll_rn(fminf(fmaxf(v, -524288.f), 524288.f) * 4294967296.f) + (1ull << 56);
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(p), "l"(w) : "memory");
}
// How many have added, and what.
__device__ __forceinline__ u32 added(u32 high) { return (high + 0x800000u) >> 24; }
__device__ __forceinline__ float sum_of(u64 d) { return (float)(long long)(d << 8) * (1.f / 1099511627776.f); }
// Whether both words carry the epoch (given shifted left by 16).
__device__ __forceinline__ bool fresh(uint4 v, u32 epoch16) { return ((v.y ^ epoch16) | (v.w ^ epoch16)) < 0x10000u; }

__device__ __forceinline__ bool give_up(u32* word, u64 deadline, u32 where, u32 worker, u32 tid, u32 chunk) {
    u32 flag;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(flag) : "l"(word) : "memory");
    if (flag) return true;
    if (now_ns() <= deadline) return false;
    if (atomicCAS(word, 0u, 1u) == 0u) { word[1] = where; word[2] = worker; word[3] = tid; word[4] = chunk; __threadfence(); }
    return true;
}
