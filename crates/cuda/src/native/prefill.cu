// Prompts on Hopper: products by wgmma with what follows them fused, rows of one sequence at neighbouring positions. Each
// output element has one order of summation, along its row from the first column to the last, whatever the tile and the
// rows beside it, so that a prompt may be cut anywhere. Follows hopper.cuh.
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
#define PARTS 4     // that the columns of o and down are summed up in

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

extern "C" __global__ void embed(const u32* tokens, const u16* table, float* x, const Chunk* chunk) {
    if (blockIdx.x >= chunk->count) return;
    const u32* from = (const u32*)(table + (u64)tokens[blockIdx.x] * HIDDEN);
    float2* to = (float2*)(x + (u64)blockIdx.x * HIDDEN);
    let_next_start();
    await_previous();
    for (u32 i = threadIdx.x; i < HIDDEN / 2; i += blockDim.x) to[i] = make_float2(lo_f(from[i]), hi_f(from[i]));
}

// One block of 128 threads a row: y = x / rms(x) * w, after `splits` partial sums [splits][pitch][HIDDEN] were added to x in
// order. `last`: of the chunk's last row alone, whose tile alone has partial sums.
extern "C" __global__ void __launch_bounds__(128) rms_norm(float* x, const float* parts, u32 splits, u32 pitch, const float* w, u16* y, const Chunk* chunk, u32 last) {
    __shared__ float sums[4];
    const int N = (HIDDEN + 511) / 512;
    u32 row = last ? chunk->count - 1 : blockIdx.x;
    let_next_start();
    if (row >= chunk->count) return;
    float4 v[N], g[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
        u32 c = (threadIdx.x + i * 128) * 4;
        if (c < HIDDEN) g[i] = __ldg((const float4*)(w + c));
    }
    await_previous();
    float ss = 0.f;
#pragma unroll
    for (int i = 0; i < N; ++i) {
        u32 c = (threadIdx.x + i * 128) * 4;
        v[i] = c < HIDDEN ? *(const float4*)(x + (u64)row * HIDDEN + c) : make_float4(0.f, 0.f, 0.f, 0.f);
        if (splits && c < HIDDEN) {
            float4 p[PARTS];
#pragma unroll
            for (int s = 0; s < PARTS; ++s) p[s] = *(const float4*)(parts + ((u64)s * pitch + (last ? row % ROWS : row)) * HIDDEN + c);
#pragma unroll
            for (int s = 0; s < PARTS; ++s) { v[i].x += p[s].x; v[i].y += p[s].y; v[i].z += p[s].z; v[i].w += p[s].w; }
        }
        ss += (v[i].x * v[i].x + v[i].y * v[i].y) + (v[i].z * v[i].z + v[i].w * v[i].w);
    }
    ss = warp_sum(ss);
    if ((threadIdx.x & 31) == 0) sums[threadIdx.x / 32] = ss;
    __syncthreads();
    float r = rsqrtf(((sums[0] + sums[1]) + (sums[2] + sums[3])) / HIDDEN + EPS);
#pragma unroll
    for (int i = 0; i < N; ++i) {
        u32 c = (threadIdx.x + i * 128) * 4;
        if (c >= HIDDEN) continue;
        if (splits) *(float4*)(x + (u64)row * HIDDEN + c) = v[i];
        *(uint2*)(y + (u64)row * HIDDEN + c) = make_uint2(bf16x2(v[i].x * r * g[i].x, v[i].y * r * g[i].y), bf16x2(v[i].z * r * g[i].z, v[i].w * r * g[i].w));
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

// Tiles of ROWS rows by COLUMNS of x w^T: two warpgroups multiply, one thread of a ninth warp sends copies. Rows of `w` are
// those from `first` on and those from `second` on, half of COLUMNS each. `before` is for what may be read while the first
// copies are under way; `after` takes a warp's 16 rows of sums, of each of CHAINS parts of the columns from `from` to `to`.
template <int CHAINS, class Before, class After> __device__ __forceinline__ void multiply(const TensorMap& x, const TensorMap& w, u32 first, u32 second, u32 from, u32 to, u32 stages, u32 row0, Before before, After after) {
    __shared__ u64 full[8], empty[8];
    const u32 STAGE = 4 * BOX;
    u32 ring = (saddr(dynamic) + 1023) & ~1023u, tid = threadIdx.x, steps = to - from;
    if (tid == 0) {
        for (u32 s = 0; s < stages; ++s) { mbar_init(saddr(&full[s]), 1); mbar_init(saddr(&empty[s]), 2); }
        mbar_fence();
    }
    __syncthreads();
    let_next_start();
    if (tid >= 256) {
        if (tid != 256) return;
        auto weights = [&](u32 i, u32 s) {
            u32 at = ring + s * STAGE + 2 * BOX, bar = saddr(&full[s]);
            mbar_expect(bar, STAGE);
            copy_box(at, w, bar, (from + i) * DEPTH, first);
            copy_box(at + BOX, w, bar, (from + i) * DEPTH, second);
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
    float sum[64];
    u32 s = 0, parity = 0;
    auto release = [&](u32 s) { if (tid % 128 == 0) mbar_arrive(saddr(&empty[s])); };
#pragma unroll 1
    for (u32 chain = 0; chain < CHAINS; ++chain) {
        u32 begin = steps * chain / CHAINS, end = steps * (chain + 1) / CHAINS, last = 0;
        if (begin == end)
#pragma unroll
            for (int i = 0; i < 64; ++i) sum[i] = 0.f;
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
        after(sum, row, quad, ring, chain);
    }
}
__device__ __forceinline__ u32 steps(u32 depth) { return (depth + DEPTH - 1) / DEPTH; }

// First row of this block's tile; in the last layer, where one row is wanted, of the tile that holds it.
__device__ __forceinline__ u32 first_row(const Chunk* chunk, u32 last) { return last ? (chunk->count - 1) / ROWS * ROWS : blockIdx.x * ROWS; }

// x += the product, summed up in PARTS parts of its columns: as many blocks can share a tile, see below.
extern "C" __global__ void __launch_bounds__(288, 1) multiply_add(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap w, float* x, const Chunk* chunk, u32 depth, u32 stages, u32 last) {
    u32 count = chunk->count, row0 = first_row(chunk, last), column = blockIdx.y * COLUMNS;
    if (row0 >= count) return;
    float2 all[2][16];
    auto at = [=](u32 row, u32 quad, int up, int j) { return (float2*)(x + (u64)(row + up * 8) * HIDDEN + column + j * 8 + quad * 2); };
    auto read = [&](u32 row, u32 quad) {
#pragma unroll
        for (int up = 0; up < 2; ++up)
#pragma unroll
            for (int j = 0; j < 16; ++j)
                if (column + j * 8 < HIDDEN) all[up][j] = *at(row, quad, up, j);
    };
    multiply<PARTS>(in, w, column, column + 64, 0, steps(depth), stages, row0, read, [&](const float (&sum)[64], u32 row, u32 quad, u32, u32 chain) {
#pragma unroll
        for (int up = 0; up < 2; ++up)
#pragma unroll
            for (int j = 0; j < 16; ++j) {
                all[up][j].x += sum[j * 4 + up * 2];
                all[up][j].y += sum[j * 4 + up * 2 + 1];
                if (chain + 1 == PARTS && row + up * 8 < count && column + j * 8 < HIDDEN) *at(row, quad, up, j) = all[up][j];
            }
    });
}

// The same where rows are few: each part of the columns by a block of its own, partial sums [PARTS][pitch][HIDDEN] for rms_norm.
extern "C" __global__ void __launch_bounds__(288, 1) multiply_part(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap w, float* parts, const Chunk* chunk, u32 depth, u32 stages, u32 pitch, u32 last) {
    u32 count = chunk->count, row0 = first_row(chunk, last), column = blockIdx.y * COLUMNS, part = blockIdx.z, all = steps(depth);
    if (row0 >= count) return;
    multiply<1>(in, w, column, column + 64, all * part / PARTS, all * (part + 1) / PARTS, stages, row0, [](u32, u32) {}, [=](const float (&sum)[64], u32 row, u32 quad, u32, u32) {
#pragma unroll
        for (int up = 0; up < 2; ++up) {
            float* to = parts + ((u64)part * pitch + row - (last ? row0 : 0) + up * 8) * HIDDEN + column + quad * 2;
#pragma unroll
            for (int j = 0; j < 16; ++j)
                if (row + up * 8 < count && column + j * 8 < HIDDEN) *(float2*)(to + j * 8) = make_float2(sum[j * 4 + up * 2], sum[j * 4 + up * 2 + 1]);
        }
    });
}

// silu(gate) * up: half of a tile's columns are of gate, the others of up.
extern "C" __global__ void __launch_bounds__(288, 2) multiply_gate_up(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap w, u16* product, const Chunk* chunk, u32 stages, u32 last) {
    u32 count = chunk->count, row0 = first_row(chunk, last), column = blockIdx.y * 64;
    if (row0 >= count) return;
    multiply<1>(in, w, column, INTER + column, 0, steps(HIDDEN), stages, row0, [](u32, u32) {}, [=](const float (&sum)[64], u32 row, u32 quad, u32 ring, u32) {
        Desk d = desk(ring, 64);
        u32 inside = (threadIdx.x & 31) / 4, first = row - inside;
        __syncwarp();
#pragma unroll
        for (int up = 0; up < 2; ++up)
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                float a = silu(sum[j * 4 + up * 2]) * sum[(j + 8) * 4 + up * 2], b = silu(sum[j * 4 + up * 2 + 1]) * sum[(j + 8) * 4 + up * 2 + 1];
                d.put(inside + up * 8, j * 8 + quad * 2, bf16x2(a, b));
            }
        __syncwarp();
        u16* to = product + (u64)first * INTER + column;
        if (column + 64 <= INTER) d.rows<64>(to, INTER, 0, left(count, first));
        else if ((threadIdx.x & 31) < left(count, first))
            for (u32 c = 0; column + c < INTER; c += 8) *(uint4*)(to + (u64)(threadIdx.x & 31) * INTER + c) = d.eight(threadIdx.x & 31, c);
    });
}

struct Heads {
    const float *bias, *q_norm, *k_norm, *rope;
    u16 *queries, *keys, *values;
    u32 layer;
};

// Bias, norm and RoPE of whole heads; queries scaled for attention, keys and values also cached.
extern "C" __global__ void __launch_bounds__(288, 2) multiply_qkv(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap w, const __grid_constant__ Heads h, const Chunk* chunk, u32 stages) {
    Chunk at = *chunk;
    u32 row0 = blockIdx.x * ROWS, column = blockIdx.y * COLUMNS;
    if (row0 >= at.count) return;
    __shared__ __align__(16) float gains[COLUMNS], biases[COLUMNS];
    const int J = HEAD_DIM / 8, HALF = J / 2, HEADS_ALL = HEADS + 2 * KV_HEADS;
    auto constants = [&](u32, u32) {
        if (threadIdx.x < COLUMNS) {
            u32 c = column + threadIdx.x, slot = c / HEAD_DIM;
            gains[threadIdx.x] = QK_NORM && slot < HEADS + KV_HEADS ? (slot < HEADS ? h.q_norm : h.k_norm)[c % HEAD_DIM] : 1.f;
            biases[threadIdx.x] = QKV_BIAS && slot < HEADS_ALL ? h.bias[c] : 0.f;
        }
        asm volatile("bar.sync 1, 256;" ::: "memory");
    };
    multiply<1>(in, w, column, column + 64, 0, steps(HIDDEN), stages, row0, constants, [&](float (&sum)[64], u32 row, u32 quad, u32 ring, u32) {
        Desk d = desk(ring, COLUMNS);
        u32 lane = threadIdx.x & 31, inside = lane / 4, first = row - inside, rows = left(at.count, first);
        __syncwarp();
#pragma unroll
        for (int up = 0; up < 2; ++up) {
            u32 r = row + up * 8, position = at.start + r;
            bool there = r < at.count;
#pragma unroll
            for (int part = 0; part < COLUMNS / HEAD_DIM; ++part) {
                u32 slot = column / HEAD_DIM + part;
                bool query = slot < HEADS, value = slot >= HEADS + KV_HEADS;
                float* v = sum + part * J * 4 + up * 2; // v[j * 4 + i]: column j * 8 + quad * 2 + i
                const float2* gain = (const float2*)(gains + part * HEAD_DIM) + quad;
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
