// Prompts on Hopper: products by wgmma with what follows them fused, rows of one sequence at neighbouring positions. Each
// output element has one order of summation, along its row from the first column to the last, whatever the tile and the
// rows beside it, so that a prompt may be cut anywhere. Follows hopper.cuh.
//
// What changes the residual stream also leaves it weighed by the next norm's weight, in bf16, and sums of squares of PIECE
// columns; the norm's factor, one for a row, is applied to the sums of the product that reads it.
//
// Constants in front: HIDDEN, HEADS, KV_HEADS, HEAD_DIM, INTER, EPS, QK_NORM, QKV_BIAS.
#define GQA (HEADS / KV_HEADS)
#define Q_WIDTH (HEADS * HEAD_DIM)
#define KV_WIDTH (KV_HEADS * HEAD_DIM)
#define QKV_WIDTH (Q_WIDTH + 2 * KV_WIDTH)
#define BLOCK_POSITIONS 32
#define BLOCK (BLOCK_POSITIONS * HEAD_DIM)
#define ROWS 128    // of a tile
#define COLUMNS 128 // of outputs of a tile
#define DEPTH 64    // columns of the inputs that a stage holds
#define BOX 8192    // bytes of 64 rows of a stage
#define PARTS 2     // that the columns of o and down are summed up in
#define PIECE 64    // columns of a sum of squares
#define PIECES ((HIDDEN + PIECE - 1) / PIECE)

// Rows that go through the layers together: the rows of one sequence from position `start` on.
struct Chunk {
    u16* cache; // [LAYERS][KV_HEADS][K, V][blocks][BLOCK]
    u32 blocks, start, count;
    u32 room;   // positions a head of `keys` and `values` below
};

// Place of element `dim` of position `at` of a block, as the decoder's matrix instructions read it.
__device__ __forceinline__ u32 place(u32 at, u32 dim, bool value) {
    u32 tile = at >> 4, row = at & 15;
    if (!value) return tile * (16 * HEAD_DIM) + (dim >> 4) * 256 + ((row & 7) * 4 + ((dim >> 2) & 3)) * 8 + ((dim >> 1) & 1) * 4 + (row >> 3) * 2 + (dim & 1);
    u32 d = dim & 15;
    return (dim >> 4) * 512 + tile * 256 + ((d & 7) * 4 + ((row & 7) >> 1)) * 8 + (row >> 3) * 4 + (d >> 3) * 2 + (row & 1);
}

// The residual stream, [rows][HIDDEN], and what the next product needs of it.
struct Residual {
    float* x;
    u16* y;         // x weighed by a norm's weight
    float* squares; // [rows][PIECES]
    const float* gain;
};

// A warp for each piece of a row in turn.
extern "C" __global__ void __launch_bounds__(256) embed(const u32* tokens, const u16* table, const __grid_constant__ Residual s, const Chunk* chunk) {
    u32 row = blockIdx.x, lane = threadIdx.x & 31;
    if (row >= chunk->count) return;
    const u32* from = (const u32*)(table + (u64)tokens[row] * HIDDEN);
    let_next_start();
    await_previous();
    for (u32 piece = threadIdx.x / 32; piece < PIECES; piece += 8) {
        u32 i = piece * (PIECE / 2) + lane;
        float2 v = make_float2(0.f, 0.f);
        if (i < HIDDEN / 2) {
            float2 g = __ldg((const float2*)s.gain + i);
            u32 e = from[i];
            v = make_float2(lo_f(e), hi_f(e));
            ((float2*)(s.x + (u64)row * HIDDEN))[i] = v;
            ((u32*)(s.y + (u64)row * HIDDEN))[i] = bf16x2(v.x * g.x, v.y * g.y);
        }
        float ss = warp_sum(v.x * v.x + v.y * v.y);
        if (lane == 0) s.squares[(u64)row * PIECES + piece] = ss;
    }
}

// 1 / rms of the rows of a tile, to shared memory, of which `row` and `row` + 8 by this quad.
__device__ __forceinline__ void norm_factors(const float* squares, u32 row, u32 quad, float* factors) {
    const int N = (PIECES + 3) / 4;
    float v[2][N];
#pragma unroll
    for (int up = 0; up < 2; ++up)
#pragma unroll
        for (int i = 0; i < N; ++i) v[up][i] = quad + i * 4 < PIECES ? squares[(u64)(row + up * 8) * PIECES + quad + i * 4] : 0.f;
#pragma unroll
    for (int up = 0; up < 2; ++up) {
        float ss = 0.f;
#pragma unroll
        for (int i = 0; i < N; ++i) ss += v[up][i];
        ss = quad_sum(ss);
        if (quad == 0) factors[(row + up * 8) % ROWS] = rsqrtf(ss / HIDDEN + EPS);
    }
}

// After the last layer, a block of 128 threads a row: y = x / rms(x) * gain. `last`: of the chunk's last row alone.
extern "C" __global__ void __launch_bounds__(128) rms_norm(const __grid_constant__ Residual s, const Chunk* chunk, u32 last) {
    __shared__ float sums[4];
    u32 row = last ? chunk->count - 1 : blockIdx.x;
    let_next_start();
    if (row >= chunk->count) return;
    await_previous();
    const float* x = s.x + (u64)row * HIDDEN;
    float ss = 0.f;
    for (u32 i = threadIdx.x; i < PIECES; i += 128) ss += s.squares[(u64)row * PIECES + i];
    ss = warp_sum(ss);
    if ((threadIdx.x & 31) == 0) sums[threadIdx.x / 32] = ss;
    __syncthreads();
    float r = rsqrtf(((sums[0] + sums[1]) + (sums[2] + sums[3])) / HIDDEN + EPS);
    for (u32 c = threadIdx.x * 4; c < HIDDEN; c += 512) {
        float4 v = *(const float4*)(x + c), g = __ldg((const float4*)(s.gain + c));
        *(uint2*)(s.y + (u64)row * HIDDEN + c) = make_uint2(bf16x2(v.x * r * g.x, v.y * r * g.y), bf16x2(v.z * r * g.z, v.w * r * g.w));
    }
}

// Keys and values of positions before the chunk, from the cache to where attention reads them.
extern "C" __global__ void __launch_bounds__(256) recall(const Chunk* chunk, u16* keys, u16* values, u32 layer) {
    let_next_start();
    await_previous();
    Chunk at = *chunk;
    u64 pairs = (u64)at.start * (HEAD_DIM / 2);
    for (u64 i = (u64)blockIdx.x * 256 + threadIdx.x; i < pairs * KV_HEADS; i += (u64)gridDim.x * 256) {
        u32 head = i / pairs, p = (i % pairs) / (HEAD_DIM / 2), d = (i % (HEAD_DIM / 2)) * 2;
        const u16* from = at.cache + (((u64)layer * KV_HEADS + head) * 2 * at.blocks + p / BLOCK_POSITIONS) * BLOCK;
        u64 to = ((u64)head * at.room + p) * HEAD_DIM + d;
        *(u32*)(keys + to) = *(const u32*)(from + place(p % BLOCK_POSITIONS, d, false));
        from += (u64)at.blocks * BLOCK;
        *(u32*)(values + to) = (u32)from[place(p % BLOCK_POSITIONS, d, true)] | (u32)from[place(p % BLOCK_POSITIONS, d + 1, true)] << 16;
    }
}

// A warp's sixteen rows of results in shared memory, on their way from the lanes that computed them to whole lines: rows of
// `width` bf16 and 16 bytes more, so that rows begin in different banks.
struct Desk {
    u32 at, stride;
    __device__ __forceinline__ Desk(u32 at, u32 width) : at(at), stride(width * 2 + 16) {}
    __device__ __forceinline__ void put(u32 row, u32 column, u32 pair) const { asm volatile("st.shared.u32 [%0], %1;" ::"r"(at + row * stride + column * 2), "r"(pair) : "memory"); }
    __device__ __forceinline__ uint4 eight(u32 row, u32 column) const {
        uint4 v;
        asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at + row * stride + column * 2) : "memory");
        return v;
    }
    __device__ __forceinline__ uint2 four(u32 row, u32 column) const {
        uint2 v;
        asm volatile("ld.shared.v2.u32 {%0,%1}, [%2];" : "=r"(v.x), "=r"(v.y) : "r"(at + row * stride + column * 2) : "memory");
        return v;
    }
    __device__ __forceinline__ u32 one(u32 row, u32 column) const {
        u16 v;
        asm volatile("ld.shared.u16 %0, [%1];" : "=h"(v) : "r"(at + row * stride + column * 2) : "memory");
        return v;
    }
    // The first `count` rows to memory, `width` columns from `column` on.
    template <int WIDTH> __device__ __forceinline__ void rows(u16* to, u64 pitch, u32 column, u32 count) const {
        const u32 LANES = WIDTH / 8;
        u32 lane = threadIdx.x & 31;
#pragma unroll
        for (u32 first = 0; first < 16; first += 32 / LANES) {
            u32 row = first + lane / LANES, c = lane % LANES * 8;
            if (row < count) *(uint4*)(to + row * pitch + c) = eight(row, column + c);
        }
    }
};
// Nobody reads the ring any more, and its room is the desks'.
__device__ __forceinline__ Desk desk(u32 ring, u32 width) { return Desk(ring + threadIdx.x / 32 * 16 * (width * 2 + 16), width); }
__device__ __forceinline__ u32 left(u32 count, u32 first) { return count > first ? (count - first < 16 ? count - first : 16) : 0; }

// Tiles of ROWS rows by N columns of x w^T, 64, 128 or 192: two warpgroups multiply, one thread of a ninth warp sends copies. Rows
// of `w` are those from `first` on and, of more than 64, half of them those from `second` on. `before` is for what may be read while the
// first copies are under way; `after` takes a warp's 16 rows of sums, of each of CHAINS parts of the columns from `from` to
// `to`. PAIR: two blocks of a cluster share a tile, and know of each other that they have begun.
template <int N, int CHAINS, bool PAIR, class Before, class After> __device__ __forceinline__ void multiply(const TensorMap& x, const TensorMap& w, u32 first, u32 second, u32 from, u32 to, u32 stages, u32 row0, Before before, After after) {
    __shared__ u64 full[8], empty[8];
    const u32 STAGE = (ROWS + N) * DEPTH * 2;
    u32 ring = (saddr(dynamic) + 1023) & ~1023u, tid = threadIdx.x, steps = to - from;
    if (tid == 0) {
        for (u32 s = 0; s < stages; ++s) { mbar_init(saddr(&full[s]), 1); mbar_init(saddr(&empty[s]), 2); }
        mbar_fence();
    }
    __syncthreads();
    if (PAIR) cluster_arrive();
    let_next_start();
    if (tid >= 256) {
        if (PAIR) cluster_wait();
        if (tid != 256) return;
        auto weights = [&](u32 i, u32 s) {
            u32 at = ring + s * STAGE + 2 * BOX, bar = saddr(&full[s]);
            mbar_expect(bar, STAGE);
            copy_box(at, w, bar, (from + i) * DEPTH, first);
            if (N > 64) copy_box(at + N * DEPTH, w, bar, (from + i) * DEPTH, second);
        };
        // Weights need no kernel before this one.
        u32 early = steps < stages ? steps : stages;
        for (u32 i = 0; i < early; ++i) weights(i, i);
        await_previous();
        for (u32 i = 0, s = 0, parity = 1; i < steps; ++i) {
            if (i >= early) {
                mbar_wait(saddr(&empty[s]), parity);
                weights(i, s);
            }
            copy_box(ring + s * STAGE, x, saddr(&full[s]), (from + i) * DEPTH, row0);
            copy_box(ring + s * STAGE + BOX, x, saddr(&full[s]), (from + i) * DEPTH, row0 + 64);
            if (++s == stages) { s = 0; parity ^= 1; }
        }
        return;
    }
    await_previous();
    u32 group = tid / 128, row = row0 + group * 64 + (tid % 128) / 32 * 16 + (tid & 31) / 4, quad = tid & 3;
    before(row, quad);
    float sum[N / 2];
    u32 s = 0, parity = 0;
    auto release = [&](u32 s) { if (tid % 128 == 0) mbar_arrive(saddr(&empty[s])); };
#pragma unroll 1
    for (u32 chain = 0; chain < CHAINS; ++chain) {
        u32 begin = steps * chain / CHAINS, end = steps * (chain + 1) / CHAINS, last = 0;
        if (begin == end)
#pragma unroll
            for (int i = 0; i < N / 2; ++i) sum[i] = 0.f;
        for (u32 i = begin; i < end; ++i) {
            u32 at = ring + s * STAGE;
            mbar_wait(saddr(&full[s]), parity);
            mma_begin();
#pragma unroll
            for (int k = 0; k < DEPTH / 16; ++k) mma64(sum, matrix(at + group * BOX + k * 32), matrix(at + 2 * BOX + k * 32), (i - begin) | k);
            mma_commit();
            mma_wait<1>();
            if (i > begin) release(last);
            last = s;
            if (++s == stages) { s = 0; parity ^= 1; }
        }
        mma_wait<0>();
        if (begin < end) release(last);
        if (chain + 1 == CHAINS) asm volatile("bar.sync 1, 256;" ::: "memory");
        if (PAIR) cluster_wait();
        after(sum, row, quad, ring, chain);
    }
}
__device__ __forceinline__ u32 steps(u32 depth) { return (depth + DEPTH - 1) / DEPTH; }

// First row of this block's tile; in the last layer, where one row is wanted, of the tile that holds it.
__device__ __forceinline__ u32 first_row(const Chunk* chunk, u32 last) { return last ? (chunk->count - 1) / ROWS * ROWS : blockIdx.x * ROWS; }

template <int N> __device__ __forceinline__ float4 four(const float (&sum)[N], int j) { return make_float4(sum[j * 4], sum[j * 4 + 1], sum[j * 4 + 2], sum[j * 4 + 3]); }

// What of the stream a thread of a tile of N columns changes: rows `row` and `row` + 8, pairs of columns eight apart.
template <int N> struct Change {
    float2 v[2][N / 8];
    const Residual& s;
    u32 column, count;
    const float* gains; // shared, of the tile's columns
    __device__ __forceinline__ Change(const Residual& s, u32 column, u32 count, float* gains) : s(s), column(column), count(count), gains(gains) {}
    __device__ __forceinline__ bool there(int j) const { return column + j * 8 < HIDDEN; }
    __device__ __forceinline__ float2* at(u32 row, u32 quad, int up, int j) const { return (float2*)(s.x + (u64)(row + up * 8) * HIDDEN + column + j * 8 + quad * 2); }
    __device__ __forceinline__ void read(u32 row, u32 quad) {
#pragma unroll
        for (int up = 0; up < 2; ++up)
#pragma unroll
            for (int j = 0; j < N / 8; ++j) v[up][j] = there(j) ? *at(row, quad, up, j) : make_float2(0.f, 0.f);
    }
    // Sums, four of each of N / 8: two columns of the first row, then of the other.
    template <class Four> __device__ __forceinline__ void add(Four four) {
#pragma unroll
        for (int j = 0; j < N / 8; ++j) {
            float4 s = four(j);
            v[0][j].x += s.x; v[0][j].y += s.y; v[1][j].x += s.z; v[1][j].y += s.w;
        }
    }
    __device__ __forceinline__ void write(u32 row, u32 quad, u32 ring) const {
        Desk d = desk(ring, N);
        u32 inside = (threadIdx.x & 31) / 4, first = row - inside, rows = left(count, first);
        __syncwarp();
#pragma unroll
        for (int up = 0; up < 2; ++up) {
#pragma unroll
            for (int piece = 0; piece < N / PIECE; ++piece) {
                float ss = 0.f;
#pragma unroll
                for (int j = piece * 8; j < piece * 8 + 8; ++j) {
                    float2 x = v[up][j], g = ((const float2*)gains)[j * 4 + quad];
                    ss += x.x * x.x + x.y * x.y;
                    d.put(inside + up * 8, j * 8 + quad * 2, bf16x2(x.x * g.x, x.y * g.y));
                    if (row + up * 8 < count && there(j)) *at(row, quad, up, j) = x;
                }
                ss = quad_sum(ss);
                if (quad == 0 && row + up * 8 < count && column + piece * PIECE < HIDDEN) s.squares[(u64)(row + up * 8) * PIECES + column / PIECE + piece] = ss;
            }
        }
        __syncwarp();
        u16* to = s.y + (u64)first * HIDDEN + column;
        if (column + N <= HIDDEN) d.rows<N>(to, HIDDEN, 0, rows);
        else if ((threadIdx.x & 31) < rows)
            for (u32 c = 0; column + c < HIDDEN; c += 8) *(uint4*)(to + (u64)(threadIdx.x & 31) * HIDDEN + c) = d.eight(threadIdx.x & 31, c);
    }
};
// A tile's part of the norm's weights.
template <int N> __device__ __forceinline__ void take_gains(const Residual& s, u32 column, float* gains) {
    if (threadIdx.x < N) gains[threadIdx.x] = column + threadIdx.x < HIDDEN ? __ldg(s.gain + column + threadIdx.x) : 0.f;
}

// x += the product, summed up in PARTS parts of its columns: as many blocks can share a tile, see below.
extern "C" __global__ void __launch_bounds__(288, 1) multiply_add(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap w, const __grid_constant__ Residual stream, const Chunk* chunk, u32 depth, u32 stages, u32 last) {
    __shared__ __align__(16) float gains[COLUMNS];
    u32 count = chunk->count, row0 = first_row(chunk, last), column = blockIdx.y * COLUMNS;
    if (row0 >= count) return;
    Change<COLUMNS> change(stream, column, count, gains);
    auto read = [&](u32 row, u32 quad) {
        take_gains<COLUMNS>(stream, column, gains);
        change.read(row, quad);
    };
    multiply<COLUMNS, PARTS, false>(in, w, column, column + 64, 0, steps(depth), stages, row0, read, [&](const float (&sum)[64], u32 row, u32 quad, u32 ring, u32 chain) {
        change.add([&](int j) { return four(sum, j); });
        if (chain + 1 == PARTS) change.write(row, quad, ring);
    });
}

// The same where rows are few: tiles of N columns, each by a cluster of PARTS blocks, which sum up one part of the columns each. A
// block gives the other half's rows to the other block.
template <int N> __device__ __forceinline__ void pair(const TensorMap& in, const TensorMap& w, const Residual& stream, const Chunk* chunk, u32 depth, u32 stages, u32 last) {
    __shared__ __align__(16) float gains[N];
    __shared__ __align__(16) float4 inbox[N / 8][128];
    __shared__ u64 came;
    u32 count = chunk->count, row0 = first_row(chunk, last), column = blockIdx.y / PARTS * N, part = blockIdx.y % PARTS, all = steps(depth);
    if (row0 >= count) return;
    if (threadIdx.x == 0) mbar_init(saddr(&came), 128);
    u32 group = threadIdx.x / 128, lane = threadIdx.x % 128;
    Change<N> change(stream, column, count, gains);
    auto read = [&](u32 row, u32 quad) {
        take_gains<N>(stream, column, gains);
        if (group == part) change.read(row, quad);
    };
    multiply<N, 1, true>(in, w, column, column + 64, all * part / PARTS, all * (part + 1) / PARTS, stages, row0, read, [&](const float (&sum)[N / 2], u32 row, u32 quad, u32 ring, u32) {
        if (group != part) {
            u32 to = peer_address(saddr(&inbox[0][lane]), part ^ 1);
#pragma unroll
            for (int j = 0; j < N / 8; ++j) peer_put(to + j * 2048, four(sum, j));
            peer_arrive(peer_address(saddr(&came), part ^ 1));
            return;
        }
        mbar_wait_cluster(saddr(&came), 0);
        auto theirs = [&](int j) { return inbox[j][lane]; };
        if (part) change.add(theirs);
        change.add([&](int j) { return four(sum, j); });
        if (!part) change.add(theirs);
        change.write(row, quad, ring);
    });
}
extern "C" __global__ void __launch_bounds__(288, 1) multiply_pair_64(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap w, const __grid_constant__ Residual stream, const Chunk* chunk, u32 depth, u32 stages, u32 last) {
    pair<64>(in, w, stream, chunk, depth, stages, last);
}
extern "C" __global__ void __launch_bounds__(288, 1) multiply_pair_128(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap w, const __grid_constant__ Residual stream, const Chunk* chunk, u32 depth, u32 stages, u32 last) {
    pair<128>(in, w, stream, chunk, depth, stages, last);
}

// silu(gate) * up: half of a tile's N columns are of gate, the others of up.
template <int N> __device__ __forceinline__ void gate_up(const TensorMap& in, const TensorMap& w, const float* squares, u16* product, const Chunk* chunk, u32 stages, u32 last) {
    const u32 HALF = N / 2;
    __shared__ float factors[ROWS];
    u32 count = chunk->count, row0 = first_row(chunk, last), column = blockIdx.y * HALF;
    if (row0 >= count) return;
    auto norm = [&](u32 row, u32 quad) { norm_factors(squares, row, quad, factors); };
    multiply<N, 1, false>(in, w, column, INTER + column, 0, steps(HIDDEN), stages, row0, norm, [&](float (&sum)[HALF], u32 row, u32 quad, u32 ring, u32) {
        Desk d = desk(ring, HALF);
        u32 inside = (threadIdx.x & 31) / 4, first = row - inside;
        __syncwarp();
#pragma unroll
        for (int up = 0; up < 2; ++up) {
            float r = factors[(row + up * 8) % ROWS];
#pragma unroll
            for (int j = 0; j < N / 16; ++j) {
                const float *gate = sum + j * 4 + up * 2, *other = gate + N / 4;
                d.put(inside + up * 8, j * 8 + quad * 2, bf16x2(silu(gate[0] * r) * (other[0] * r), silu(gate[1] * r) * (other[1] * r)));
            }
        }
        __syncwarp();
        u16* to = product + (u64)first * INTER + column;
        if (column + HALF <= INTER) {
            d.rows<64>(to, INTER, 0, left(count, first));
            if (HALF > 64) d.rows<32>(to + 64, INTER, 64, left(count, first));
        } else if ((threadIdx.x & 31) < left(count, first))
            for (u32 c = 0; column + c < INTER; c += 8) *(uint4*)(to + (u64)(threadIdx.x & 31) * INTER + c) = d.eight(threadIdx.x & 31, c);
    });
}
extern "C" __global__ void __launch_bounds__(288, 2) multiply_gate_up(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap w, const float* squares, u16* product, const Chunk* chunk, u32 stages, u32 last) {
    gate_up<COLUMNS>(in, w, squares, product, chunk, stages, last);
}
// The same by tiles of 192 columns, where these make one wave of blocks and those do not; boxes of `w` have 96 rows.
extern "C" __global__ void __launch_bounds__(288, 1) multiply_gate_up_wide(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap w, const float* squares, u16* product, const Chunk* chunk, u32 stages, u32 last) {
    gate_up<192>(in, w, squares, product, chunk, stages, last);
}

struct Heads {
    const float *squares, *bias, *q_norm, *k_norm, *rope;
    u16 *queries, *keys, *values;
    u32 layer;
};

// Bias, norm and RoPE of whole heads; queries scaled for attention, keys and values also cached.
extern "C" __global__ void __launch_bounds__(288, 2) multiply_qkv(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap w, const __grid_constant__ Heads h, const Chunk* chunk, u32 stages) {
    Chunk at = *chunk;
    u32 row0 = blockIdx.x * ROWS, column = blockIdx.y * COLUMNS;
    if (row0 >= at.count) return;
    __shared__ __align__(16) float gains[COLUMNS], biases[COLUMNS], factors[ROWS];
    const int J = HEAD_DIM / 8, HALF = J / 2, HEADS_ALL = HEADS + 2 * KV_HEADS;
    auto constants = [&](u32 row, u32 quad) {
        norm_factors(h.squares, row, quad, factors);
        if (threadIdx.x < COLUMNS) {
            u32 c = column + threadIdx.x, slot = c / HEAD_DIM;
            gains[threadIdx.x] = QK_NORM && slot < HEADS + KV_HEADS ? (slot < HEADS ? h.q_norm : h.k_norm)[c % HEAD_DIM] : 1.f;
            biases[threadIdx.x] = QKV_BIAS && slot < HEADS_ALL ? h.bias[c] : 0.f;
        }
        asm volatile("bar.sync 1, 256;" ::: "memory");
    };
    multiply<COLUMNS, 1, false>(in, w, column, column + 64, 0, steps(HIDDEN), stages, row0, constants, [&](float (&sum)[64], u32 row, u32 quad, u32 ring, u32) {
        Desk d = desk(ring, COLUMNS);
        u32 lane = threadIdx.x & 31, inside = lane / 4, first = row - inside, rows = left(at.count, first);
        __syncwarp();
#pragma unroll
        for (int up = 0; up < 2; ++up) {
            u32 position = at.start + row + up * 8;
            bool there = row + up * 8 < at.count;
            float r = factors[(row + up * 8) % ROWS];
#pragma unroll
            for (int part = 0; part < COLUMNS / HEAD_DIM; ++part) {
                u32 slot = column / HEAD_DIM + part;
                bool query = slot < HEADS, value = slot >= HEADS + KV_HEADS;
                float* v = sum + part * J * 4 + up * 2; // v[j * 4 + i]: column j * 8 + quad * 2 + i
                const float2* gain = (const float2*)(gains + part * HEAD_DIM) + quad;
#pragma unroll
                for (int j = 0; j < J; ++j) { v[j * 4] *= r; v[j * 4 + 1] *= r; }
                if (QKV_BIAS) {
#pragma unroll
                    for (int j = 0; j < J; ++j) { float2 b = ((const float2*)(biases + part * HEAD_DIM))[quad + j * 4]; v[j * 4] += b.x; v[j * 4 + 1] += b.y; }
                }
                if (!value) {
                    float s = query ? rsqrtf((float)HEAD_DIM) * 1.4426950408889634f : 1.f;
                    if (QK_NORM) {
                        float ss = 0.f;
#pragma unroll
                        for (int j = 0; j < J; ++j) ss += v[j * 4] * v[j * 4] + v[j * 4 + 1] * v[j * 4 + 1];
                        s *= rsqrtf(quad_sum(ss) / HEAD_DIM + EPS);
                    }
                    const float4* t = (const float4*)(h.rope + ((u64)(there ? position : 0) * (HEAD_DIM / 2) + quad * 2) * 2);
                    // Four loads in flight: more find no registers.
#pragma unroll
                    for (int first = 0; first < HALF; first += 4) {
                        float4 cs[4];
#pragma unroll
                        for (int j = 0; j < 4; ++j) cs[j] = __ldg(t + (first + j) * 4);
#pragma unroll
                        for (int n = 0; n < 4; ++n) {
                            int j = first + n;
                            float2 g = gain[j * 4], k = gain[(j + HALF) * 4];
                            float &a0 = v[j * 4], &a1 = v[j * 4 + 1], &b0 = v[(j + HALF) * 4], &b1 = v[(j + HALF) * 4 + 1];
                            float w0 = a0 * s * g.x, w1 = a1 * s * g.y, z0 = b0 * s * k.x, z1 = b1 * s * k.y;
                            a0 = w0 * cs[n].x - z0 * cs[n].y; a1 = w1 * cs[n].z - z1 * cs[n].w;
                            b0 = z0 * cs[n].x + w0 * cs[n].y; b1 = z1 * cs[n].z + w1 * cs[n].w;
                        }
                    }
                }
#pragma unroll
                for (int j = 0; j < J; ++j) d.put(inside + up * 8, part * HEAD_DIM + j * 8 + quad * 2, bf16x2(v[j * 4], v[j * 4 + 1]));
            }
        }
        __syncwarp();
#pragma unroll
        for (int part = 0; part < COLUMNS / HEAD_DIM; ++part) {
            u32 slot = column / HEAD_DIM + part, edge = part * HEAD_DIM;
            if (slot >= HEADS_ALL) continue;
            if (slot < HEADS) {
                d.rows<HEAD_DIM>(h.queries + (u64)first * Q_WIDTH + slot * HEAD_DIM, Q_WIDTH, edge, rows);
                continue;
            }
            bool value = slot >= HEADS + KV_HEADS;
            u32 head = slot - HEADS - (value ? KV_HEADS : 0), position = at.start + first;
            d.rows<HEAD_DIM>((value ? h.values : h.keys) + ((u64)head * at.room + position) * HEAD_DIM, HEAD_DIM, edge, rows);
            u16* cache = at.cache + (((u64)h.layer * KV_HEADS + head) * 2 + value) * at.blocks * BLOCK;
            if (position % 16 == 0 && rows == 16) {
                // A whole tile of the cache, 16 bytes of it a lane: as `place` has it.
                u16* to = cache + (u64)(position / BLOCK_POSITIONS) * BLOCK + place(position % BLOCK_POSITIONS, 0, value);
                u32 q = lane & 3, n = lane >> 2;
#pragma unroll
                for (int step = 0; step < HEAD_DIM / 16; ++step) {
                    uint4 v;
                    if (value) {
                        u32 c = edge + step * 16 + n;
                        v.x = d.one(q * 2, c) | d.one(q * 2 + 1, c) << 16;
                        v.y = d.one(q * 2, c + 8) | d.one(q * 2 + 1, c + 8) << 16;
                        v.z = d.one(q * 2 + 8, c) | d.one(q * 2 + 9, c) << 16;
                        v.w = d.one(q * 2 + 8, c + 8) | d.one(q * 2 + 9, c + 8) << 16;
                    } else {
                        uint2 lo = d.four(n, edge + step * 16 + q * 4), hi = d.four(n + 8, edge + step * 16 + q * 4);
                        v = make_uint4(lo.x, hi.x, lo.y, hi.y);
                    }
                    *(uint4*)(to + step * (value ? 512 : 256) + lane * 8) = v;
                }
            } else
                for (u32 i = lane; i < rows * HEAD_DIM; i += 32) {
                    u32 p = position + i / HEAD_DIM, c = i % HEAD_DIM;
                    cache[(u64)(p / BLOCK_POSITIONS) * BLOCK + place(p % BLOCK_POSITIONS, c, value)] = (u16)d.one(i / HEAD_DIM, edge + c);
                }
        }
    });
}
