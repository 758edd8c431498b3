// One token for each of 2 to 32 sequences on Hopper: weights as the tall side of wgmma, rows as its columns, so that every weight
// is read once. Which columns a block sums up depends on the matrix alone, never on how many rows there are: a row's bits do not
// depend on the rows beside it. Five kernels a layer; what would be a kernel of its own between two products is done by the one
// before: blocks of a cluster share a tile's columns and add up what they have through each other's shared memory. A norm's
// factor is applied after the product that follows it: rows travel as x * weight, with their sums of squares beside.
// Follows prefill.cu.
#define MOST 32 // rows

struct Row {
    u8* cache; // as kv.cuh has it
    u32 position;
    u32 rest;  // nothing
};

// What lies at `address` of this block's shared memory, in block `rank` of its cluster.
__device__ __forceinline__ float2 peer2(u32 address, u32 rank) {
    float2 v;
    asm volatile("{ .reg .u32 a; mapa.shared::cluster.u32 a, %2, %3; ld.shared::cluster.v2.f32 {%0, %1}, [a]; }" : "=f"(v.x), "=f"(v.y) : "r"(address), "r"(rank) : "memory");
    return v;
}
__device__ __forceinline__ float peer(u32 address, u32 rank) {
    float v;
    asm volatile("{ .reg .u32 a; mapa.shared::cluster.u32 a, %1, %2; ld.shared::cluster.f32 %0, [a]; }" : "=f"(v) : "r"(address), "r"(rank) : "memory");
    return v;
}

#define SENDERS 4
#define MOST_RANKS 8 // blocks of a cluster

// Sums of squares of a row come by eight columns.
#define SQUARES (HIDDEN / 8)

// Factors of the norm for all rows, by the four warps that multiply; 1 without squares.
template <int R> __device__ __forceinline__ void norm_factors(float* factors, const float* squares) {
    u32 warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    float sum[R / 4] = {};
    // All rows' loads in flight together.
    if (squares)
#pragma unroll 4
        for (u32 s = lane; s < SQUARES; s += 32)
#pragma unroll
            for (int i = 0; i < R / 4; ++i) sum[i] += squares[(warp * (R / 4) + i) * SQUARES + s];
#pragma unroll
    for (int i = 0; i < R / 4; ++i) {
        sum[i] = warp_sum(sum[i]);
        if (lane == 0) factors[warp * (R / 4) + i] = squares ? rsqrtf(sum[i] / HIDDEN + EPS) : 1.f;
    }
}

// Products of blocks of 64 * TALL rows of `w` with R rows of x: one warpgroup multiplies, one
// thread of each of SENDERS more warps sends copies. Block y of gridDim.y sums up its own part of the columns. PAIRED: a block has 32 rows of gate and 32 of up, eight by eight.
template <int R, int TALL, bool PAIRED, class Before, class Store> __device__ __forceinline__ void stream(const TensorMap& x, const TensorMap& w, u32 blocks, u32 depth, u32 stages, u32 row0, Before before, Store store) {
    __shared__ u64 full[16], empty[16];
    const u32 STAGE = TALL * BOX + R * 128;
    u32 ring = (saddr(dynamic) + 1023) & ~1023u, tid = threadIdx.x, all = (depth + DEPTH - 1) / DEPTH;
    u32 from = all * blockIdx.y / gridDim.y, steps = all * (blockIdx.y + 1) / gridDim.y - from;
    if (tid == 0) {
        for (u32 s = 0; s < stages; ++s) { mbar_init(saddr(&full[s]), 1); mbar_init(saddr(&empty[s]), 1); }
        mbar_fence();
    }
    __syncthreads();
    let_next_start();
    if (tid >= 128) {
        if (tid % 32) return;
        u32 sender = (tid - 128) / 32, mine = blockIdx.x < blocks ? (blocks - blockIdx.x + gridDim.x - 1) / gridDim.x * steps : 0;
        auto weights = [&](u32 i) {
            u32 s = i % stages, block = blockIdx.x + i / steps * gridDim.x, column = (from + i % steps) * DEPTH;
            mbar_expect(saddr(&full[s]), STAGE);
            if (PAIRED) copy_box(ring + s * STAGE, w, saddr(&full[s]), column, 0, 0, block * 4);
            else
#pragma unroll
                for (int t = 0; t < TALL; ++t) copy_box(ring + s * STAGE + t * BOX, w, saddr(&full[s]), column, (block * TALL + t) * 64);
        };
        u32 early = mine < stages ? mine : stages;
        for (u32 i = sender; i < early; i += SENDERS) weights(i);
        await_previous();
        for (u32 i = sender; i < mine; i += SENDERS) {
            u32 s = i % stages;
            if (i >= early) {
                mbar_wait(saddr(&empty[s]), (i / stages & 1) ^ 1);
                weights(i);
            }
            copy_box(ring + s * STAGE + TALL * BOX, x, saddr(&full[s]), (from + i % steps) * DEPTH, row0);
        }
        return;
    }
    await_previous();
    before();
    u32 s = 0, parity = 0;
    for (u32 block = blockIdx.x; block < blocks; block += gridDim.x) {
        // A chain of products waits for each of its links: several chains.
        const int CHAINS = 4 / TALL;
        float sum[CHAINS][TALL][R / 2];
        u32 last = 0;
        for (u32 i = 0; i < steps; ++i) {
            u32 at = ring + s * STAGE;
            mbar_wait(saddr(&full[s]), parity);
            mma_begin();
#pragma unroll
            for (int k = 0; k < DEPTH / 16; ++k)
#pragma unroll
                for (int t = 0; t < TALL; ++t) mma64(sum[k % CHAINS][t], matrix(at + t * BOX + k * 32), matrix(at + TALL * BOX + k * 32), i | k / CHAINS);
            mma_commit();
            mma_wait<1>();
            if (i && tid == 0) mbar_arrive(saddr(&empty[last]));
            last = s;
            if (++s == stages) { s = 0; parity ^= 1; }
        }
        mma_wait<0>();
        if (tid == 0) mbar_arrive(saddr(&empty[last]));
#pragma unroll
        for (int t = 0; t < TALL; ++t)
#pragma unroll
            for (int e = 0; e < R / 2; ++e) sum[0][t][e] = CHAINS == 2 ? sum[0][t][e] + sum[1][t][e] : (sum[0][t][e] + sum[1][t][e]) + (sum[2 % CHAINS][t][e] + sum[3 % CHAINS][t][e]);
        store(sum[0], block, tid / 32 * 16 + (tid & 31) / 4, tid & 3, ring);
    }
}
__device__ __forceinline__ void sync_four() { asm volatile("bar.sync 1, 128;" ::: "memory"); }

// This block's sums where its cluster finds them, [R][PITCH]; rows begin in banks that the lanes of a warp do not share.
template <int R, int TALL> struct Table {
    static const u32 PITCH = 64 * TALL + 4;
    u32 at;
    __device__ __forceinline__ void put(const float (&sum)[TALL][R / 2], u32 row, u32 quad) const {
#pragma unroll
        for (int t = 0; t < TALL; ++t)
#pragma unroll
            for (int j = 0; j < R / 8; ++j)
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    asm volatile("st.shared.f32 [%0], %1;" ::"r"(at + ((j * 8 + quad * 2 + (e & 1)) * PITCH + t * 64 + row + (e >> 1) * 8) * 4), "f"(sum[t][j * 4 + e]) : "memory");
    }
    __device__ __forceinline__ u32 address(u32 row, u32 column) const { return at + (row * PITCH + column) * 4; }
};

// x += the product; then x * gain as the next product's input, and sums of its squares.
struct Stream {
    float* x;
    const float* gain;
    u16* y;
    float* squares;
};
template <int R> __device__ __forceinline__ void add_rows(const TensorMap& in, const TensorMap& w, const Stream& to, u32 depth, u32 stages, u32 count) {
    stream<R, 1, false>(in, w, (HIDDEN + 63) / 64, depth, stages, 0, []() {}, [=](const float (&sum)[1][R / 2], u32 block, u32 row, u32 quad, u32 ring) {
        Table<R, 1> table{ring};
        // The ring is read no more by any warp.
        sync_four();
        table.put(sum, row, quad);
        u32 ranks = gridDim.y, wide = 64 / ranks, first = block * 64 + blockIdx.y * wide;
        cluster_sync();
        // Groups of eight columns in eight neighbouring lanes.
        for (u32 at = threadIdx.x; at < R * wide; at += 128) {
            u32 r = at / wide, n = at % wide, c = first + n;
            bool there = r < count && c < HIDDEN;
            float v = there ? to.x[r * HIDDEN + c] : 0.f, gain = there ? to.gain[c] : 0.f, part[MOST_RANKS];
#pragma unroll
            for (u32 rank = 0; rank < MOST_RANKS; ++rank)
                if (rank < ranks) part[rank] = peer(table.address(r, blockIdx.y * wide + n), rank);
#pragma unroll
            for (u32 rank = 0; rank < MOST_RANKS; ++rank)
                if (rank < ranks) v += part[rank];
            float ss = there ? v * v : 0.f;
            ss += __shfl_xor_sync(~0u, ss, 1);
            ss += __shfl_xor_sync(~0u, ss, 2);
            ss += __shfl_xor_sync(~0u, ss, 4);
            if (there) {
                to.x[r * HIDDEN + c] = v;
                to.y[r * HIDDEN + c] = (u16)bf16x2(v * gain, 0.f);
                if (c % 8 == 0) to.squares[r * SQUARES + c / 8] = ss;
            }
        }
        // Others may still read this block's table.
        cluster_sync();
    });
}

// Queries, keys and values of whole heads: bias, norm, RoPE; queries scaled, keys and values cached. A block of the cluster has
// every gridDim.y-th row.
struct Rotate {
    const float *squares, *bias, *q_norm, *k_norm, *rope;
    float* queries;
    const Row* rows;
    u32 layer, count;
};
template <int R> __device__ __forceinline__ void qkv_rows(const TensorMap& in, const TensorMap& w, const Rotate& h, u32 stages) {
    __shared__ float factors[R];
    stream<R, 2, false>(in, w, (QKV_WIDTH + 127) / 128, HIDDEN, stages, 0, [&]() { norm_factors<R>(factors, h.squares); }, [&](const float (&sum)[2][R / 2], u32 block, u32 row, u32 quad, u32 ring) {
        Table<R, 2> table{ring};
        sync_four();
        table.put(sum, row, quad);
        cluster_sync();
        const u32 half = HEAD_DIM / 2, parts = 128 / HEAD_DIM;
        u32 lane = threadIdx.x & 31, ranks = gridDim.y, d = lane * 2;
        for (u32 task = threadIdx.x / 32;; task += 4) {
            u32 r = blockIdx.y + task / parts * ranks, part = task % parts, slot = block * parts + part;
            if (r >= h.count) break;
            if (slot >= HEADS + 2 * KV_HEADS) continue;
            bool there = d < half, value = slot >= HEADS + KV_HEADS, query = slot < HEADS;
            float2 a = make_float2(0.f, 0.f), b = a;
            u32 position = h.rows[r].position;
            if (there) {
                float2 p[MOST_RANKS], q[MOST_RANKS];
#pragma unroll
                for (u32 rank = 0; rank < MOST_RANKS; ++rank)
                    if (rank < ranks) { p[rank] = peer2(table.address(r, part * HEAD_DIM + d), rank); q[rank] = peer2(table.address(r, part * HEAD_DIM + d + half), rank); }
#pragma unroll
                for (u32 rank = 0; rank < MOST_RANKS; ++rank)
                    if (rank < ranks) { a.x += p[rank].x; a.y += p[rank].y; b.x += q[rank].x; b.y += q[rank].y; }
                float f = factors[r];
                a.x *= f; a.y *= f; b.x *= f; b.y *= f;
#if QKV_BIAS
                const float* c = h.bias + slot * HEAD_DIM + d;
                a.x += c[0]; a.y += c[1]; b.x += c[half]; b.y += c[half + 1];
#endif
            }
            if (!value) {
#if QK_NORM
                float s = rsqrtf(warp_sum((a.x * a.x + a.y * a.y) + (b.x * b.x + b.y * b.y)) / HEAD_DIM + EPS);
                const float* g = (query ? h.q_norm : h.k_norm) + d;
                if (there) { a.x *= s * g[0]; a.y *= s * g[1]; b.x *= s * g[half]; b.y *= s * g[half + 1]; }
#endif
                if (there) {
                    float4 t = *(const float4*)(h.rope + ((u64)position * half + d) * 2);
                    float2 c = a;
                    a.x = c.x * t.x - b.x * t.y; a.y = c.y * t.z - b.y * t.w;
                    b.x = b.x * t.x + c.x * t.y; b.y = b.y * t.z + c.y * t.w;
                }
            }
            if (!there) continue;
            if (query) {
                const float scale = rsqrtf((float)HEAD_DIM) * 1.4426950408889634f;
                float* to = h.queries + (u64)r * Q_WIDTH + slot * HEAD_DIM + d;
                *(float2*)to = make_float2(a.x * scale, a.y * scale);
                *(float2*)(to + half) = make_float2(b.x * scale, b.y * scale);
                continue;
            }
            u32 head = slot - HEADS - (value ? KV_HEADS : 0), inside = position % BLOCK_POSITIONS;
            u16* to = (u16*)(h.rows[r].cache + kv_block(h.layer, head, value, position / BLOCK_POSITIONS));
            u32 first = bf16x2(a.x, a.y), second = bf16x2(b.x, b.y);
            to[place(inside, d, value)] = (u16)first;
            to[place(inside, d + 1, value)] = (u16)(first >> 16);
            to[place(inside, d + half, value)] = (u16)second;
            to[place(inside, d + half + 1, value)] = (u16)(second >> 16);
        }
        cluster_sync();
    });
    // The copy engine reads the cache next.
    asm volatile("fence.proxy.async;" ::: "memory");
}

template <int R> __device__ __forceinline__ void gate_up_rows(const TensorMap& x, const TensorMap& w, const float* squares, u16* product, u32 stages) {
    __shared__ float factors[R];
    stream<R, 1, true>(x, w, (INTER + 31) / 32, HIDDEN, stages, 0, [&]() { norm_factors<R>(factors, squares); }, [&](const float (&sum)[1][R / 2], u32 block, u32 row, u32 quad, u32) {
        u32 n = block * 32 + row / 16 * 8 + row % 16;
        sync_four();
        if (n >= INTER) return;
#pragma unroll
        for (int j = 0; j < R / 8; ++j)
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                u32 r = j * 8 + quad * 2 + i;
                float f = factors[r];
                product[(u64)r * INTER + n] = (u16)bf16x2(silu(sum[0][j * 4 + i] * f) * (sum[0][j * 4 + 2 + i] * f), 0.f);
            }
    });
}

// Logits of the rows of x from `row0` on.
template <int R> __device__ __forceinline__ void head_rows(const TensorMap& x, const TensorMap& w, const float* squares, float* out, u32 stages, u32 row0) {
    __shared__ float factors[R];
    stream<R, 1, false>(x, w, (VOCAB + 63) / 64, HIDDEN, stages, row0, [&]() { norm_factors<R>(factors, squares); }, [&](const float (&sum)[1][R / 2], u32 block, u32 row, u32 quad, u32) {
        sync_four();
#pragma unroll
        for (int up = 0; up < 2; ++up) {
            u32 n = block * 64 + row + up * 8;
            if (n >= VOCAB) continue;
#pragma unroll
            for (int j = 0; j < R / 8; ++j)
#pragma unroll
                for (int i = 0; i < 2; ++i) { u32 r = j * 8 + quad * 2 + i; out[(u64)r * VOCAB + n] = sum[0][j * 4 + up * 2 + i] * factors[r]; }
        }
    });
}

#define STREAMS(R)                                                                                                              \
    extern "C" __global__ void __launch_bounds__(256, 2) qkv_rows_##R(const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap w, const __grid_constant__ Rotate h, u32 stages) { qkv_rows<R>(x, w, h, stages); } \
    extern "C" __global__ void __launch_bounds__(256, 2) add_rows_##R(const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap w, const __grid_constant__ Stream to, u32 depth, u32 stages, u32 count) { add_rows<R>(x, w, to, depth, stages, count); } \
    extern "C" __global__ void __launch_bounds__(256, 2) gate_up_rows_##R(const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap w, const float* squares, u16* product, u32 stages) { gate_up_rows<R>(x, w, squares, product, stages); } \
    extern "C" __global__ void __launch_bounds__(256, 2) head_rows_##R(const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap w, const float* squares, float* out, u32 stages, u32 row0) { head_rows<R>(x, w, squares, out, stages, row0); }
STREAMS(8)
STREAMS(16)
STREAMS(32)

// One block of 256 threads a row: the token's embedding as the residual stream.
extern "C" __global__ void __launch_bounds__(256) embed_rows(const u32* tokens, const u16* table, const __grid_constant__ Stream to) {
    u32 row = blockIdx.x;
    const u16* from = table + (u64)(tokens[row] < VOCAB ? tokens[row] : 0) * HIDDEN;
    let_next_start();
    for (u32 g = threadIdx.x; g < SQUARES; g += 256) {
        uint4 e = *(const uint4*)(from + g * 8);
        float v[8] = {lo_f(e.x), hi_f(e.x), lo_f(e.y), hi_f(e.y), lo_f(e.z), hi_f(e.z), lo_f(e.w), hi_f(e.w)}, ss = 0.f;
        u32 y[4];
#pragma unroll
        for (int i = 0; i < 8; ++i) { to.x[(u64)row * HIDDEN + g * 8 + i] = v[i]; ss += v[i] * v[i]; }
#pragma unroll
        for (int i = 0; i < 4; ++i) y[i] = bf16x2(v[2 * i] * to.gain[g * 8 + 2 * i], v[2 * i + 1] * to.gain[g * 8 + 2 * i + 1]);
        *(uint4*)(to.y + (u64)row * HIDDEN + g * 8) = make_uint4(y[0], y[1], y[2], y[3]);
        to.squares[row * SQUARES + g] = ss;
    }
}

#define PART (GQA * (HEAD_DIM + 2))
#define NARROW ((2 * GQA + 7) / 8) // tiles of eight columns: two parts of each head's query
#define SLOT (2 * BLOCK_BYTES)     // bytes of a block of keys and of values
#define SLOTS (HEAD_DIM > 64 ? 4 : 8)
#define READERS 4                  // warps that multiply

// Items of a row's head: about sixteen blocks of the cache each, as its length alone says.
__device__ __forceinline__ u32 item_count(u32 blocks) { return blocks < 24 ? 1 : (blocks + 8) / 16; }

__device__ __forceinline__ void mma16(float (&c)[4], uint4 a, u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}

__device__ __forceinline__ uint4 lds128(u32 a) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(a) : "memory");
    return v;
}
__device__ __forceinline__ void copy_bytes(u32 to, const void* from, u32 bytes, u32 bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(bytes), "r"(bar) : "memory");
}

// Attention of all rows, some blocks a multiprocessor. An item is some blocks of the cache of one KV head, two warps a block; one
// thread of another warp streams the blocks of all items of this block through a ring, and waits for the kernel before only for
// the block that holds the row's own position. The block that finishes a row's head last merges its items in order.
extern "C" __global__ void __launch_bounds__(160, 3) attend_rows(const float* queries, const Row* rows, float* parts, u32* arrived, u16* out, u32 layer, u32 count, u32 most_items) {
    __shared__ float weighed[2][READERS][GQA][HEAD_DIM];
    __shared__ float2 limits[2][READERS][GQA];
    __shared__ u32 before[MOST + 1];
    __shared__ u64 full[SLOTS], empty[SLOTS];
    u32 ring = (saddr(dynamic) + 127) & ~127u, tid = threadIdx.x, lane = tid & 31, warp = tid / 32, quad = lane & 3, n = lane >> 2;
    if (warp == 0) {
        u32 items = lane < count ? item_count(rows[lane].position / BLOCK_POSITIONS + 1) * KV_HEADS : 0;
#pragma unroll
        for (int d = 1; d < 32; d <<= 1) {
            u32 v = __shfl_up_sync(~0u, items, d);
            if (lane >= d) items += v;
        }
        before[lane + 1] = items;
        if (lane == 0) before[0] = 0;
    }
    if (tid == 32) {
        for (u32 s = 0; s < SLOTS; ++s) { mbar_init(saddr(&full[s]), 1); mbar_init(saddr(&empty[s]), 2); }
        mbar_fence();
    }
    __syncthreads();
    let_next_start();
    struct Item { u32 row, head, span, spans, first, end; Row at; };
    auto find = [&](u32 item) {
        Item i;
        i.row = 0;
        while (before[i.row + 1] <= item) ++i.row;
        i.at = rows[i.row];
        u32 inside = item - before[i.row], blocks = i.at.position / BLOCK_POSITIONS + 1;
        i.spans = item_count(blocks);
        i.head = inside / i.spans;
        i.span = inside % i.spans;
        i.first = blocks * i.span / i.spans;
        i.end = blocks * (i.span + 1) / i.spans;
        return i;
    };
    u32 total = before[count];
    if (warp == READERS) {
        if (lane) return;
        bool waited = false;
        u32 s = 0, parity = 1;
        for (u32 item = blockIdx.x; item < total; item += gridDim.x) {
            Item i = find(item);
            for (u32 b = i.first; b < i.end; ++b) {
                if (!waited && b == i.at.position / BLOCK_POSITIONS) { await_previous(); waited = true; }
                mbar_wait(saddr(&empty[s]), parity);
                mbar_expect(saddr(&full[s]), SLOT);
                const u8* keys = i.at.cache + kv_block(layer, i.head, 0, b);
                copy_bytes(ring + s * SLOT, keys, SLOT / 2, saddr(&full[s]));
                copy_bytes(ring + s * SLOT + SLOT / 2, keys + VALUES_BEHIND, SLOT / 2, saddr(&full[s]));
                if (++s == SLOTS) { s = 0; parity ^= 1; }
            }
        }
        if (!waited) await_previous();
        return;
    }
    await_previous();
    u32 base = 0, turn = 0; // blocks gone through the ring
    for (u32 item = blockIdx.x; item < total; item += gridDim.x, turn ^= 1) {
        Item it = find(item);
        u32 length = it.at.position + 1;
        float most[NARROW], sum[NARROW], o[NARROW][HEAD_DIM / 16][4];
        uint2 q[NARROW][HEAD_DIM / 16];
#pragma unroll
        for (int t = 0; t < NARROW; ++t) {
            most[t] = -1e30f;
            sum[t] = 0.f;
            u32 h = t * 4 + (n >> 1);
            const float* from = queries + (u64)it.row * Q_WIDTH + (it.head * GQA + (h < GQA ? h : 0)) * HEAD_DIM + quad * 4;
            float4 x[HEAD_DIM / 16];
#pragma unroll
            for (int i = 0; i < HEAD_DIM / 16; ++i) x[i] = *(const float4*)(from + i * 16);
#pragma unroll
            for (int i = 0; i < HEAD_DIM / 16; ++i) {
                o[t][i][0] = o[t][i][1] = o[t][i][2] = o[t][i][3] = 0.f;
                u32 b0 = bf16x2(x[i].x, x[i].y), b1 = bf16x2(x[i].z, x[i].w);
                if (n & 1) { b0 = bf16x2(x[i].x - lo_f(b0), x[i].y - hi_f(b0)); b1 = bf16x2(x[i].z - lo_f(b1), x[i].w - hi_f(b1)); }
                q[t][i] = h < GQA ? make_uint2(b0, b1) : make_uint2(0, 0);
            }
        }
        for (u32 b = it.first + warp / 2; b < it.end; b += READERS / 2) {
            u32 at = base + b - it.first, s = at % SLOTS, first = b * BLOCK_POSITIONS + (warp & 1) * 16;
            mbar_wait(saddr(&full[s]), at / SLOTS & 1);
            u32 keys = ring + s * SLOT + (warp & 1) * (32 * HEAD_DIM) + lane * 16, values = ring + s * SLOT + SLOT / 2 + (warp & 1) * 512 + lane * 16;
            uint4 k[HEAD_DIM / 16], v[HEAD_DIM / 16];
#pragma unroll
            for (int i = 0; i < HEAD_DIM / 16; ++i) { k[i] = lds128(keys + i * 512); v[i] = lds128(values + i * 1024); }
            // The arrival waits for the loads' answers, which it could overtake: by a condition that never holds and that no
            // compiler knows.
            u32 seen = 0;
#pragma unroll
            for (int i = 0; i < HEAD_DIM / 16; ++i) seen ^= k[i].w ^ v[i].w;
            u32 never = seen == 0x7fc1a5a5u & count == 0xffffffffu;
            __syncwarp();
            if (lane == never * 64) mbar_arrive(saddr(&empty[s]));
            bool va = first + n < length, vb = first + n + 8 < length;
#pragma unroll
            for (int t = 0; t < NARROW; ++t) {
                float c[4] = {}, d[4] = {};
#pragma unroll
                for (int i = 0; i < HEAD_DIM / 16; i += 2) { mma16(c, k[i], q[t][i].x, q[t][i].y); mma16(d, k[i + 1], q[t][i + 1].x, q[t][i + 1].y); }
                float a = va ? (c[0] + d[0]) + (c[1] + d[1]) : -1e30f, b = vb ? (c[2] + d[2]) + (c[3] + d[3]) : -1e30f;
                float mx = fmaxf(a, b);
#pragma unroll
                for (int x = 4; x < 32; x <<= 1) mx = fmaxf(mx, __shfl_xor_sync(~0u, mx, x));
                mx = fmaxf(mx, most[t]);
                float f = exp2_fast(most[t] - mx);
                most[t] = mx;
                a = va ? exp2_fast(a - mx) : 0.f;
                b = vb ? exp2_fast(b - mx) : 0.f;
                float all = a + b;
#pragma unroll
                for (int x = 4; x < 32; x <<= 1) all += __shfl_xor_sync(~0u, all, x);
                sum[t] = sum[t] * f + all;
                u32 source = quad * 8 + (n >> 1);
                float p0 = __shfl_sync(~0u, a, source), p1 = __shfl_sync(~0u, a, source + 4);
                float p2 = __shfl_sync(~0u, b, source), p3 = __shfl_sync(~0u, b, source + 4);
                u32 b0 = bf16x2(p0, p1), b1 = bf16x2(p2, p3);
                if (n & 1) { b0 = bf16x2(p0 - lo_f(b0), p1 - hi_f(b0)); b1 = bf16x2(p2 - lo_f(b1), p3 - hi_f(b1)); }
                // A column's factor is that of the head whose scores its lanes hold.
#pragma unroll
                for (int i = 0; i < HEAD_DIM / 16; ++i) {
                    o[t][i][0] *= f; o[t][i][1] *= f; o[t][i][2] *= f; o[t][i][3] *= f;
                    mma16(o[t][i], v[i], b0, b1);
                }
            }
        }
        base += it.end - it.first;
#pragma unroll
        for (int t = 0; t < NARROW; ++t) {
            u32 h = t * 4 + quad;
            if (h >= GQA) continue;
#pragma unroll
            for (int i = 0; i < HEAD_DIM / 16; ++i) {
                weighed[turn][warp][h][i * 16 + n] = o[t][i][0] + o[t][i][1];
                weighed[turn][warp][h][i * 16 + n + 8] = o[t][i][2] + o[t][i][3];
            }
            if (n == 0) limits[turn][warp][h] = make_float2(most[t], sum[t]);
        }
        asm volatile("bar.sync 1, 128;" ::: "memory");
        float* mine = parts + (((u64)it.row * KV_HEADS + it.head) * most_items + it.span) * PART;
        u16* result = out + (u64)it.row * Q_WIDTH + it.head * GQA * HEAD_DIM;
        for (u32 i = tid; i < GQA * HEAD_DIM; i += READERS * 32) {
            u32 h = i / HEAD_DIM;
            float mx = -1e30f, v = 0.f, all = 0.f;
#pragma unroll
            for (int w = 0; w < READERS; ++w) mx = fmaxf(mx, limits[turn][w][h].x);
#pragma unroll
            for (int w = 0; w < READERS; ++w) {
                float2 l = limits[turn][w][h];
                float f = exp2_fast(l.x - mx);
                v = fmaf(f, weighed[turn][w][h][i % HEAD_DIM], v);
                all = fmaf(f, l.y, all);
            }
            if (it.spans == 1) result[i] = (u16)bf16x2(v / all, 0.f);
            else {
                mine[i] = v;
                if (i % HEAD_DIM == 0) *(float2*)(mine + GQA * HEAD_DIM + h * 2) = make_float2(mx, all);
            }
        }
        if (it.spans == 1) continue;
        if (warp) { asm volatile("bar.arrive 2, 128;" ::: "memory"); continue; }
        asm volatile("bar.sync 2, 128;" ::: "memory");
        u32 ready = 0;
        if (lane == 0) {
            __threadfence();
            ready = atomicInc(&arrived[it.row * KV_HEADS + it.head], it.spans - 1) == it.spans - 1;
            __threadfence();
        }
        if (!__shfl_sync(~0u, ready, 0)) continue;
        const float* from = parts + ((u64)it.row * KV_HEADS + it.head) * most_items * PART;
        for (u32 i = lane * 4; i < GQA * HEAD_DIM; i += 128) {
            const float* limit = from + GQA * HEAD_DIM + i / HEAD_DIM * 2;
            float mx = -1e30f, all = 0.f;
            float4 v = make_float4(0.f, 0.f, 0.f, 0.f);
#pragma unroll 4
            for (u32 s = 0; s < it.spans; ++s) mx = fmaxf(mx, __ldcg(limit + (u64)s * PART));
#pragma unroll 4
            for (u32 s = 0; s < it.spans; ++s) {
                float f = exp2_fast(__ldcg(limit + (u64)s * PART) - mx);
                // Parts are even in number of floats, not always by four.
                float2 p = __ldcg((const float2*)(from + (u64)s * PART + i)), q = __ldcg((const float2*)(from + (u64)s * PART + i + 2));
                v.x = fmaf(f, p.x, v.x); v.y = fmaf(f, p.y, v.y); v.z = fmaf(f, q.x, v.z); v.w = fmaf(f, q.y, v.w);
                all = fmaf(f, __ldcg(limit + (u64)s * PART + 1), all);
            }
            *(uint2*)(result + i) = make_uint2(bf16x2(v.x / all, v.y / all), bf16x2(v.z / all, v.w / all));
        }
    }
}

// The greatest logit's id of every row, the lowest of equals: SHARES blocks a row, the last of which concludes. The id is the row's
// next token (2^32 - 1 where a logit is no finite number), and the row moves on by a position; `out`, [WINDOW][MOST], keeps the ids of the last positions.
#define WINDOW 16
#define SHARES 32
extern "C" __global__ void __launch_bounds__(256) choose(const float* logits, u64* best, u32* arrived, u32* tokens, u32* out, Row* rows) {
    __shared__ u64 found[8];
    __shared__ bool concludes;
    u32 row = blockIdx.y, part = blockIdx.x, tid = threadIdx.x;
    let_next_start();
    await_previous();
    const float* from = logits + (u64)row * VOCAB;
    // Order of floats as order of integers; among equals the lowest id is the greatest.
    auto key = [](float v, u32 id) {
        // Not a number, or no end to it: no id, and greater than all.
        if (!(fabsf(v) < 3.4e38f)) return (u64)0xffffffffu << 32;
        u32 bits = __float_as_uint(v);
        return (u64)(bits & 0x80000000u ? ~bits : bits | 0x80000000u) << 32 | (u32)~id;
    };
    u64 mine = 0;
    u32 first = (u64)VOCAB * part / SHARES, last = (u64)VOCAB * (part + 1) / SHARES;
    for (u32 i = first + tid; i < last; i += 256) { u64 k = key(from[i], i); mine = k > mine ? k : mine; }
    auto settle = [&]() {
#pragma unroll
        for (int d = 16; d; d >>= 1) { u64 k = __shfl_xor_sync(~0u, mine, d); mine = k > mine ? k : mine; }
        if ((tid & 31) == 0) found[tid / 32] = mine;
        __syncthreads();
        for (int i = 0; i < 8; ++i) mine = found[i] > mine ? found[i] : mine;
        __syncthreads();
    };
    settle();
    if (tid == 0) {
        best[row * SHARES + part] = mine;
        __threadfence();
        concludes = atomicInc(&arrived[row], SHARES - 1) == SHARES - 1;
    }
    __syncthreads();
    if (!concludes) return;
    __threadfence();
    mine = tid < SHARES ? __ldcg(best + row * SHARES + tid) : 0;
    settle();
    if (tid == 0) {
        tokens[row] = out[rows[row].position % WINDOW * MOST + row] = ~(u32)mine;
        rows[row].position += 1;
    }
}
