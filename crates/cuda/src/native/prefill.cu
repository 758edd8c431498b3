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
#define ROWS 128    // of a tile
#define COLUMNS 128 // of outputs of a tile
#define DEPTH 64    // columns of the inputs that a stage holds
#define BOX 8192    // bytes of 64 rows of a stage
#define PARTS 2     // that the columns of o and down are summed up in
#define PIECE 64    // columns of a sum of squares
#define PIECES ((HIDDEN + PIECE - 1) / PIECE)

// Rows that go through the layers together: the rows of one sequence from position `start` on.
struct Chunk {
    u8* cache; // as kv.cuh has it
    u32 start, count;
    u32 room;  // positions a head of `keys` and `values` below
    u32 rest;  // nothing
};

// Place of element `dim` of position `at` of a block, as the decoder's matrix instructions read it.
__device__ __forceinline__ u32 place(u32 at, u32 dim, bool value) {
    u32 tile = at >> 4, row = at & 15;
    if (!value) return tile * (16 * HEAD_DIM) + (dim >> 4) * 256 + ((row & 7) * 4 + ((dim >> 2) & 3)) * 8 + ((dim >> 1) & 1) * 4 + (row >> 3) * 2 + (dim & 1);
    u32 d = dim & 15;
    return (dim >> 4) * 512 + tile * 256 + ((d & 7) * 4 + ((row & 7) >> 1)) * 8 + (row >> 3) * 4 + (d >> 3) * 2 + (row & 1);
}

// The residual stream and what the next product needs of it. The stream lies as products have it in registers, so that reading and writing
// take whole lines: for sixteen rows and a piece of columns [PIECE / 8][lanes] of four floats, two columns of row
// lane / 4 and two of the row eight on.
struct Residual {
    float* x;       // [rows / 16][PIECES][PIECE / 8][32][4]
    u16* y;         // [rows][HIDDEN]: x weighed by a norm's weight
    float* squares; // [rows][PIECES]
    const float* gain;
};
// Two columns of a row.
__device__ __forceinline__ float2* pair_at(const Residual& s, u32 row, u32 column) {
    u64 piece = (u64)(row / 16) * PIECES + column / PIECE;
    return (float2*)(s.x + piece * (16 * PIECE) + column % PIECE / 8 * 128 + (row % 8 * 4 + column % 8 / 2) * 4 + row % 16 / 8 * 2);
}

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
            ((u32*)(s.y + (u64)row * HIDDEN))[i] = bf16x2(v.x * g.x, v.y * g.y);
        }
        *pair_at(s, row, i * 2) = v;
        float ss = warp_sum(v.x * v.x + v.y * v.y);
        if (lane == 0) s.squares[(u64)row * PIECES + piece] = ss;
    }
}

// 1 / rms of rows `row` and `row` + 8, in every lane of the quad.
__device__ __forceinline__ void row_factors(const float* squares, u32 row, u32 quad, float (&factor)[2]) {
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
        factor[up] = rsqrtf(quad_sum(ss) / HIDDEN + EPS);
    }
}

// The same to shared memory, of which each quad reads what it wrote.
__device__ __forceinline__ void norm_factors(const float* squares, u32 row, u32 quad, float* factors) {
    float factor[2];
    row_factors(squares, row, quad, factor);
    if (quad == 0) { factors[row % ROWS] = factor[0]; factors[(row + 8) % ROWS] = factor[1]; }
}

// After the last layer, a block of 128 threads a row: y = x / rms(x) * gain. `last`: of the chunk's last row alone.
extern "C" __global__ void __launch_bounds__(128) rms_norm(const __grid_constant__ Residual s, const Chunk* chunk, u32 last) {
    __shared__ float sums[4];
    u32 row = last ? chunk->count - 1 : blockIdx.x;
    let_next_start();
    if (row >= chunk->count) return;
    await_previous();
    float ss = 0.f;
    for (u32 i = threadIdx.x; i < PIECES; i += 128) ss += s.squares[(u64)row * PIECES + i];
    ss = warp_sum(ss);
    if ((threadIdx.x & 31) == 0) sums[threadIdx.x / 32] = ss;
    __syncthreads();
    float r = rsqrtf(((sums[0] + sums[1]) + (sums[2] + sums[3])) / HIDDEN + EPS);
    for (u32 c = threadIdx.x * 4; c < HIDDEN; c += 512) {
        float2 v = *pair_at(s, row, c), w = *pair_at(s, row, c + 2);
        float4 g = __ldg((const float4*)(s.gain + c));
        *(uint2*)(s.y + (u64)row * HIDDEN + c) = make_uint2(bf16x2(v.x * r * g.x, v.y * r * g.y), bf16x2(w.x * r * g.z, w.y * r * g.w));
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
        const u16* from = (const u16*)(at.cache + kv_block(layer, head, 0, p / BLOCK_POSITIONS));
        u64 to = ((u64)head * at.room + p) * HEAD_DIM + d;
        *(u32*)(keys + to) = *(const u32*)(from + place(p % BLOCK_POSITIONS, d, false));
        from += VALUES_BEHIND / 2;
        *(u32*)(values + to) = (u32)from[place(p % BLOCK_POSITIONS, d, true)] | (u32)from[place(p % BLOCK_POSITIONS, d + 1, true)] << 16;
    }
}

// A warp's sixteen rows of results in shared memory, on their way from the lanes that computed them to whole lines. So that rows
// begin in different banks, pieces of 16 bytes are swapped in rows of 64 or 128 bf16, and others are 16 bytes longer.
struct Desk {
    u32 at, stride, turn;
    __device__ __forceinline__ Desk(u32 at, u32 width) : at(at), stride(width * 2 + (width % 64 ? 16 : 0)), turn(width % 64 ? 0 : 7) {}
    __device__ __forceinline__ u32 place(u32 row, u32 column) const { return at + row * stride + ((column / 8 ^ (row & turn)) * 16 + column % 8 * 2); }
    __device__ __forceinline__ void put(u32 row, u32 column, u32 pair) const { asm volatile("st.shared.u32 [%0], %1;" ::"r"(place(row, column)), "r"(pair) : "memory"); }
    __device__ __forceinline__ uint4 eight(u32 row, u32 column) const {
        uint4 v;
        asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(place(row, column)) : "memory");
        return v;
    }
    __device__ __forceinline__ uint2 four(u32 row, u32 column) const {
        uint2 v;
        asm volatile("ld.shared.v2.u32 {%0,%1}, [%2];" : "=r"(v.x), "=r"(v.y) : "r"(place(row, column)) : "memory");
        return v;
    }
    __device__ __forceinline__ u32 one(u32 row, u32 column) const {
        u16 v;
        asm volatile("ld.shared.u16 %0, [%1];" : "=h"(v) : "r"(place(row, column)) : "memory");
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

// A warpgroup's sums of 64 rows by N columns over the steps from `begin` to `end`, whose inputs come by a ring of `stages`; the first of
// them is at stage `s`. It gives each stage back once it has read it.
template <int N> __device__ __forceinline__ void sum_up(float (&sum)[N / 2], u32 ring, u32 stages, u64* full, u64* empty, u32 group, u32 begin, u32 end, u32& s, u32& parity) {
    const u32 STAGE = (ROWS + N) * DEPTH * 2;
    u32 last = 0;
    auto release = [&](u32 s) { if (threadIdx.x % 128 == 0) mbar_arrive(saddr(&empty[s])); };
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
}

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
#pragma unroll 1
    for (u32 chain = 0; chain < CHAINS; ++chain) {
        sum_up<N>(sum, ring, stages, full, empty, group, steps * chain / CHAINS, steps * (chain + 1) / CHAINS, s, parity);
        if (chain + 1 == CHAINS) asm volatile("bar.sync 1, 256;" ::: "memory");
        if (PAIR) cluster_wait();
        after(sum, row, quad, ring, chain);
    }
}
__device__ __forceinline__ u32 steps(u32 depth) { return (depth + DEPTH - 1) / DEPTH; }

// First row of this block's tile; in the last layer, where one row is wanted, of the tile that holds it.
__device__ __forceinline__ u32 first_row(const Chunk* chunk, u32 last) { return last ? (chunk->count - 1) / ROWS * ROWS : blockIdx.x * ROWS; }

template <int N> __device__ __forceinline__ float4 four(const float (&sum)[N], int j) { return make_float4(sum[j * 4], sum[j * 4 + 1], sum[j * 4 + 2], sum[j * 4 + 3]); }

// What a lane has of a piece of the stream.
typedef float4 Piece[PIECE / 8];

__device__ __forceinline__ float4* piece_at(const Residual& s, u32 row, u32 column) { return (float4*)s.x + ((u64)(row / 16) * PIECES + column / PIECE) * (4 * PIECE) + (threadIdx.x & 31); }
__device__ __forceinline__ void read_piece(const Residual& s, Piece& v, u32 row, u32 column) {
    const float4* from = piece_at(s, row, column);
#pragma unroll
    for (int j = 0; j < PIECE / 8; ++j) v[j] = column < HIDDEN ? from[j * 32] : make_float4(0.f, 0.f, 0.f, 0.f);
}
// Adds sums, four for each of PIECE / 8.
template <class Four> __device__ __forceinline__ void add_piece(Piece& v, Four four) {
#pragma unroll
    for (int j = 0; j < PIECE / 8; ++j) {
        float4 s = four(j);
        v[j].x += s.x; v[j].y += s.y; v[j].z += s.z; v[j].w += s.w;
    }
}
// A piece of the stream as it is now: to memory, weighed by the norm's weight, and its sums of squares. Rows past the last are written, and
// read by nobody.
__device__ __forceinline__ void give_piece(const Residual& s, const Piece& v, u32 row, u32 quad, u32 column, u32 count, const float* gains, const Desk& d) {
    if (column >= HIDDEN) return;
    u32 inside = (threadIdx.x & 31) / 4, first = row - inside, rows = left(count, first);
    float4* to = piece_at(s, row, column);
    float ss[2] = {0.f, 0.f};
    __syncwarp();
#pragma unroll
    for (int j = 0; j < PIECE / 8; ++j) {
        float4 x = v[j];
        float2 g = ((const float2*)gains)[j * 4 + quad];
        to[j * 32] = x;
        ss[0] += x.x * x.x + x.y * x.y;
        ss[1] += x.z * x.z + x.w * x.w;
        d.put(inside, j * 8 + quad * 2, bf16x2(x.x * g.x, x.y * g.y));
        d.put(inside + 8, j * 8 + quad * 2, bf16x2(x.z * g.x, x.w * g.y));
    }
#pragma unroll
    for (int up = 0; up < 2; ++up) {
        ss[up] = quad_sum(ss[up]);
        if (quad == 0 && row + up * 8 < count) s.squares[(u64)(row + up * 8) * PIECES + column / PIECE] = ss[up];
    }
    __syncwarp();
    u16* y = s.y + (u64)first * HIDDEN + column;
    if (HIDDEN % PIECE == 0 || column + PIECE <= HIDDEN) d.rows<PIECE>(y, HIDDEN, 0, rows);
    else if ((threadIdx.x & 31) < rows)
        for (u32 c = 0; column + c < HIDDEN; c += 8) *(uint4*)(y + (u64)(threadIdx.x & 31) * HIDDEN + c) = d.eight(threadIdx.x & 31, c);
}

// What of the stream a thread of a tile of N columns changes.
template <int N> struct Change {
    Piece v[N / PIECE];
    const Residual& s;
    u32 column, count;
    const float* gains; // shared, of the tile's columns
    __device__ __forceinline__ Change(const Residual& s, u32 column, u32 count, float* gains) : s(s), column(column), count(count), gains(gains) {}
    __device__ __forceinline__ void read(u32 row) {
#pragma unroll
        for (int i = 0; i < N / PIECE; ++i) read_piece(s, v[i], row, column + i * PIECE);
    }
    template <class Four> __device__ __forceinline__ void add(Four four) {
#pragma unroll
        for (int i = 0; i < N / PIECE; ++i) add_piece(v[i], [&](int j) { return four(i * (PIECE / 8) + j); });
    }
    __device__ __forceinline__ void write(u32 row, u32 quad, u32 ring) const {
        Desk d = desk(ring, PIECE);
#pragma unroll
        for (int i = 0; i < N / PIECE; ++i) give_piece(s, v[i], row, quad, column + i * PIECE, count, gains + i * PIECE, d);
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
    auto read = [&](u32 row, u32) {
        take_gains<COLUMNS>(stream, column, gains);
        change.read(row);
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
    auto read = [&](u32 row, u32) {
        take_gains<N>(stream, column, gains);
        if (group == part) change.read(row);
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

// silu(gate) * up of a thread's sums, of which half of the N columns are of gate, the others of up; WIDTH columns at a time over the desk.
template <int N, int WIDTH> __device__ __forceinline__ void give_product(const float (&sum)[N / 2], u16* product, u32 column, u32 count, u32 row, u32 quad, const float (&factor)[2], const Desk& d) {
    u32 inside = (threadIdx.x & 31) / 4, first = row - inside, rows = left(count, first);
#pragma unroll
    for (int edge = 0; edge < N / 2; edge += WIDTH) {
        __syncwarp();
#pragma unroll
        for (int up = 0; up < 2; ++up)
#pragma unroll
            for (int j = 0; j < WIDTH / 8; ++j) {
                const float *gate = sum + (edge / 8 + j) * 4 + up * 2, *other = gate + N / 4;
                d.put(inside + up * 8, j * 8 + quad * 2, bf16x2(silu(gate[0] * factor[up]) * (other[0] * factor[up]), silu(gate[1] * factor[up]) * (other[1] * factor[up])));
            }
        __syncwarp();
        u32 at = column + edge;
        u16* to = product + (u64)first * INTER + at;
        if (at + WIDTH <= INTER) {
            d.rows<64>(to, INTER, 0, rows);
            if (WIDTH > 64) d.rows<32>(to + 64, INTER, 64, rows);
        } else if ((threadIdx.x & 31) < rows)
            for (u32 c = 0; c < WIDTH && at + c < INTER; c += 8) *(uint4*)(to + (u64)(threadIdx.x & 31) * INTER + c) = d.eight(threadIdx.x & 31, c);
    }
}
template <int N> __device__ __forceinline__ void gate_up(const TensorMap& in, const TensorMap& w, const float* squares, u16* product, const Chunk* chunk, u32 stages, u32 last) {
    const u32 HALF = N / 2;
    __shared__ float factors[ROWS];
    u32 count = chunk->count, row0 = first_row(chunk, last), column = blockIdx.y * HALF;
    if (row0 >= count) return;
    auto norm = [&](u32 row, u32 quad) { norm_factors(squares, row, quad, factors); };
    multiply<N, 1, false>(in, w, column, INTER + column, 0, steps(HIDDEN), stages, row0, norm, [&](float (&sum)[HALF], u32 row, u32 quad, u32 ring, u32) {
        float factor[2] = {factors[row % ROWS], factors[(row + 8) % ROWS]};
        give_product<N, HALF>(sum, product, column, count, row, quad, factor, desk(ring, HALF));
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

// A warp's 16 rows of WIDTH dims of a head, from `edge` on, from the desk to where attention reads them, keys and values also to the cache.
template <int WIDTH> __device__ __forceinline__ void give_dims(const Heads& h, const Chunk& at, u32 slot, u32 edge, u32 first, const Desk& d) {
    u32 lane = threadIdx.x & 31, rows = left(at.count, first);
    if (slot < HEADS) {
        d.rows<WIDTH>(h.queries + (u64)first * Q_WIDTH + slot * HEAD_DIM + edge, Q_WIDTH, 0, rows);
        return;
    }
    bool value = slot >= HEADS + KV_HEADS;
    u32 head = slot - HEADS - (value ? KV_HEADS : 0), position = at.start + first;
    d.rows<WIDTH>((value ? h.values : h.keys) + ((u64)head * at.room + position) * HEAD_DIM + edge, HEAD_DIM, 0, rows);
    auto block = [&](u32 p) { return (u16*)(at.cache + kv_block(h.layer, head, value, p / BLOCK_POSITIONS)); };
    if (position % 16 == 0 && rows == 16) {
        // A whole tile of the cache, 16 bytes of it a lane: as `place` has it.
        u16* to = block(position) + place(position % BLOCK_POSITIONS, edge, value);
        u32 q = lane & 3, n = lane >> 2;
#pragma unroll
        for (int step = 0; step < WIDTH / 16; ++step) {
            uint4 v;
            if (value) {
                u32 c = step * 16 + n;
                v.x = d.one(q * 2, c) | d.one(q * 2 + 1, c) << 16;
                v.y = d.one(q * 2, c + 8) | d.one(q * 2 + 1, c + 8) << 16;
                v.z = d.one(q * 2 + 8, c) | d.one(q * 2 + 9, c) << 16;
                v.w = d.one(q * 2 + 8, c + 8) | d.one(q * 2 + 9, c + 8) << 16;
            } else {
                uint2 lo = d.four(n, step * 16 + q * 4), hi = d.four(n + 8, step * 16 + q * 4);
                v = make_uint4(lo.x, hi.x, lo.y, hi.y);
            }
            *(uint4*)(to + step * (value ? 512 : 256) + lane * 8) = v;
        }
    } else
        for (u32 i = lane; i < rows * WIDTH; i += 32) {
            u32 p = position + i / WIDTH, c = i % WIDTH;
            block(p)[place(p % BLOCK_POSITIONS, edge + c, value)] = (u16)d.one(i / WIDTH, c);
        }
}

// Where a row's cosines and sines lie that a lane needs: pairs of them, each pair four on from the one before.
__device__ __forceinline__ const float4* angles_of(const Heads& h, const Chunk& at, u32 row, u32 quad) {
    u32 position = row < at.count ? at.start + row : 0;
    return (const float4*)(h.rope + ((u64)position * (HEAD_DIM / 2) + quad * 2) * 2);
}

// Bias, norm and RoPE of the heads in a thread's sums of N columns; queries scaled for attention. WIDTH columns at a time over the
// desk. `gains`: of queries, then of keys, shared. `biases`: of the tile's columns. `angles` fills in LOADS of the first or second row's
// cosines and sines.
template <int N, int WIDTH, int LOADS, class Angles> __device__ __forceinline__ void give_heads(float (&sum)[N / 2], const Heads& h, const Chunk& at, u32 column, u32 row, u32 quad, const float (&factor)[2], const float* gains, const float* biases, const Desk& d, Angles angles) {
    const int J = HEAD_DIM / 8, HALF = J / 2, PARTS_HERE = N / HEAD_DIM, SPAN = WIDTH < HEAD_DIM ? WIDTH : HEAD_DIM;
    u32 inside = (threadIdx.x & 31) / 4, first = row - inside, slot = column / HEAD_DIM;
#pragma unroll
    for (int up = 0; up < 2; ++up) {
        float scale[PARTS_HERE];
#pragma unroll
        for (int part = 0; part < PARTS_HERE; ++part) {
            float *v = sum + part * J * 4 + up * 2, ss = 0.f; // v[j * 4 + i]: column j * 8 + quad * 2 + i
            bool there = slot + part < HEADS + 2 * KV_HEADS;
#pragma unroll
            for (int j = 0; j < J; ++j) {
                float2 b = QKV_BIAS && there ? ((const float2*)(biases + part * HEAD_DIM))[quad + j * 4] : make_float2(0.f, 0.f);
                v[j * 4] *= factor[up];
                v[j * 4 + 1] *= factor[up];
                if (QKV_BIAS) { v[j * 4] += b.x; v[j * 4 + 1] += b.y; }
                ss += v[j * 4] * v[j * 4] + v[j * 4 + 1] * v[j * 4 + 1];
            }
            scale[part] = slot + part < HEADS ? rsqrtf((float)HEAD_DIM) * 1.4426950408889634f : 1.f;
            if (QK_NORM) scale[part] *= rsqrtf(quad_sum(ss) / HEAD_DIM + EPS);
        }
        if (slot >= HEADS + KV_HEADS) continue;
#pragma unroll
        for (int from = 0; from < HALF; from += LOADS) {
            float4 cs[LOADS];
            angles(cs, up, from);
#pragma unroll
            for (int part = 0; part < PARTS_HERE; ++part) {
                if (slot + part >= HEADS + KV_HEADS) continue;
                const float2* gain = (const float2*)(gains + (slot + part < HEADS ? 0 : HEAD_DIM)) + quad;
                float *v = sum + part * J * 4 + up * 2, s = scale[part];
#pragma unroll
                for (int n = 0; n < LOADS; ++n) {
                    int j = from + n;
                    float2 g = gain[j * 4], k = gain[(j + HALF) * 4];
                    float &a0 = v[j * 4], &a1 = v[j * 4 + 1], &b0 = v[(j + HALF) * 4], &b1 = v[(j + HALF) * 4 + 1];
                    float w0 = a0 * s * g.x, w1 = a1 * s * g.y, z0 = b0 * s * k.x, z1 = b1 * s * k.y;
                    a0 = w0 * cs[n].x - z0 * cs[n].y; a1 = w1 * cs[n].z - z1 * cs[n].w;
                    b0 = z0 * cs[n].x + w0 * cs[n].y; b1 = z1 * cs[n].z + w1 * cs[n].w;
                }
            }
        }
    }
#pragma unroll
    for (int part = 0; part < PARTS_HERE; ++part) {
        if (slot + part >= HEADS + 2 * KV_HEADS) continue;
#pragma unroll
        for (int edge = 0; edge < HEAD_DIM; edge += SPAN) {
            __syncwarp();
#pragma unroll
            for (int up = 0; up < 2; ++up)
#pragma unroll
                for (int j = 0; j < SPAN / 8; ++j) {
                    const float* v = sum + (part * J + edge / 8 + j) * 4 + up * 2;
                    d.put(inside + up * 8, j * 8 + quad * 2, bf16x2(v[0], v[1]));
                }
            __syncwarp();
            give_dims<SPAN>(h, at, slot + part, edge, first, d);
        }
    }
}
// Weights of the norms of heads, or ones, to shared memory by 256 threads.
__device__ __forceinline__ void take_head_norms(const Heads& h, float* gains) {
    for (u32 i = threadIdx.x; i < 2 * HEAD_DIM; i += 256) gains[i] = QK_NORM ? (i < HEAD_DIM ? h.q_norm : h.k_norm)[i % HEAD_DIM] : 1.f;
}

extern "C" __global__ void __launch_bounds__(288, 2) multiply_qkv(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap w, const __grid_constant__ Heads h, const Chunk* chunk, u32 stages) {
    Chunk at = *chunk;
    u32 row0 = blockIdx.x * ROWS, column = blockIdx.y * COLUMNS;
    if (row0 >= at.count) return;
    __shared__ __align__(16) float gains[2 * HEAD_DIM], biases[COLUMNS], factors[ROWS];
    auto constants = [&](u32 row, u32 quad) {
        norm_factors(h.squares, row, quad, factors);
        take_head_norms(h, gains);
        if (threadIdx.x < COLUMNS) biases[threadIdx.x] = QKV_BIAS && column + threadIdx.x < QKV_WIDTH ? h.bias[column + threadIdx.x] : 0.f;
        asm volatile("bar.sync 1, 256;" ::: "memory");
    };
    multiply<COLUMNS, 1, false>(in, w, column, column + 64, 0, steps(HIDDEN), stages, row0, constants, [&](float (&sum)[64], u32 row, u32 quad, u32 ring, u32) {
        float factor[2] = {factors[row % ROWS], factors[(row + 8) % ROWS]};
        // Four loads in flight: more find no registers.
        auto angles = [&](float4 (&cs)[4], int up, int from) {
#pragma unroll
            for (int j = 0; j < 4; ++j) cs[j] = __ldg(angles_of(h, at, row + up * 8, quad) + (from + j) * 4);
        };
        give_heads<COLUMNS, COLUMNS, 4>(sum, h, at, column, row, quad, factor, gains, biases, desk(ring, COLUMNS), angles);
    });
}
