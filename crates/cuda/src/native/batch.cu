// One token for each of 2 to 32 sequences on Hopper: weights as the tall side of wgmma, rows as its columns, so that every weight
// is read once. Which columns a block sums up depends on the matrix alone, never on how many rows there are: a row's bits do not
// depend on the rows beside it. Follows prefill.cu.
#define MOST 32 // rows

struct Row {
    u16* cache; // as in Chunk
    u32 blocks, position;
};

// Products of blocks of 64 rows of `w` with R rows of x: one warpgroup multiplies, one thread of a fifth warp sends copies.
// A split, gridDim.y of them, sums up its own part of the columns. PAIRED: a block has 32 rows of gate and 32 of up, eight by eight.
template <int R, bool PAIRED, class Store> __device__ __forceinline__ void stream(const TensorMap& x, const TensorMap& w, u32 blocks, u32 depth, u32 stages, u32 row0, Store store) {
    __shared__ u64 full[16], empty[16];
    const u32 STAGE = BOX + R * 128;
    u32 ring = (saddr(dynamic) + 1023) & ~1023u, tid = threadIdx.x, all = (depth + DEPTH - 1) / DEPTH;
    u32 from = all * blockIdx.y / gridDim.y, steps = all * (blockIdx.y + 1) / gridDim.y - from;
    if (tid == 0) {
        for (u32 s = 0; s < stages; ++s) { mbar_init(saddr(&full[s]), 1); mbar_init(saddr(&empty[s]), 1); }
        mbar_fence();
    }
    __syncthreads();
    let_next_start();
    if (tid >= 128) {
        if (tid != 128) return;
        u32 mine = blockIdx.x < blocks ? (blocks - blockIdx.x + gridDim.x - 1) / gridDim.x * steps : 0;
        auto weights = [&](u32 i) {
            u32 s = i % stages, block = blockIdx.x + i / steps * gridDim.x, column = (from + i % steps) * DEPTH;
            mbar_expect(saddr(&full[s]), STAGE);
            if (PAIRED) copy_box(ring + s * STAGE, w, saddr(&full[s]), column, 0, 0, block * 4);
            else copy_box(ring + s * STAGE, w, saddr(&full[s]), column, block * 64);
        };
        u32 early = mine < stages ? mine : stages;
        for (u32 i = 0; i < early; ++i) weights(i);
        await_previous();
        for (u32 i = 0; i < mine; ++i) {
            u32 s = i % stages;
            if (i >= early) {
                mbar_wait(saddr(&empty[s]), (i / stages & 1) ^ 1);
                weights(i);
            }
            copy_box(ring + s * STAGE + BOX, x, saddr(&full[s]), (from + i % steps) * DEPTH, row0);
        }
        return;
    }
    await_previous();
    u32 s = 0, parity = 0;
    for (u32 block = blockIdx.x; block < blocks; block += gridDim.x) {
        float sum[R / 2];
        for (u32 i = 0, before = 0; i < steps; ++i) {
            u32 at = ring + s * STAGE;
            mbar_wait(saddr(&full[s]), parity);
            mma_begin();
#pragma unroll
            for (int k = 0; k < DEPTH / 16; ++k) mma64(sum, matrix(at + k * 32), matrix(at + BOX + k * 32), i | k);
            mma_commit();
            mma_wait<1>();
            if (i && tid == 0) mbar_arrive(saddr(&empty[before]));
            before = s;
            if (++s == stages) { s = 0; parity ^= 1; }
        }
        mma_wait<0>();
        if (tid == 0) mbar_arrive(saddr(&empty[s ? s - 1 : stages - 1]));
        u32 row = tid / 32 * 16 + (tid & 31) / 4, quad = tid & 3;
        store(sum, block, row, quad);
    }
}

// [splits][MOST][outputs] partial sums, or with one split the products themselves, of the rows of x from `row0` on.
template <int R> __device__ __forceinline__ void stream_rows(const TensorMap& x, const TensorMap& w, float* out, u32 outputs, u32 depth, u32 stages, u32 row0) {
    out += (u64)blockIdx.y * MOST * outputs;
    stream<R, false>(x, w, (outputs + 63) / 64, depth, stages, row0, [=](const float (&sum)[R / 2], u32 block, u32 row, u32 quad) {
#pragma unroll
        for (int up = 0; up < 2; ++up) {
            u32 n = block * 64 + row + up * 8;
            if (n >= outputs) continue;
#pragma unroll
            for (int j = 0; j < R / 8; ++j)
#pragma unroll
                for (int i = 0; i < 2; ++i) out[(u64)(j * 8 + quad * 2 + i) * outputs + n] = sum[j * 4 + up * 2 + i];
        }
    });
}
template <int R> __device__ __forceinline__ void stream_gate_up(const TensorMap& x, const TensorMap& w, u16* product, u32 stages) {
    stream<R, true>(x, w, (INTER + 31) / 32, HIDDEN, stages, 0, [=](const float (&sum)[R / 2], u32 block, u32 row, u32 quad) {
        u32 n = block * 32 + row / 16 * 8 + row % 16;
        if (n >= INTER) return;
#pragma unroll
        for (int j = 0; j < R / 8; ++j)
#pragma unroll
            for (int i = 0; i < 2; ++i) product[(u64)(j * 8 + quad * 2 + i) * INTER + n] = (u16)bf16x2(silu(sum[j * 4 + i]) * sum[j * 4 + 2 + i], 0.f);
    });
}
#define STREAMS(R)                                                                                                              \
    extern "C" __global__ void __launch_bounds__(160) stream_##R(const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap w, float* out, u32 outputs, u32 depth, u32 stages, u32 row0) { stream_rows<R>(x, w, out, outputs, depth, stages, row0); } \
    extern "C" __global__ void __launch_bounds__(160) gate_up_rows_##R(const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap w, u16* product, u32 stages) { stream_gate_up<R>(x, w, product, stages); }
STREAMS(8)
STREAMS(16)
STREAMS(32)

// One block of 256 threads a row: x += its partial sums, in order; y = x / rms(x) * w. With tokens, x is first their embedding.
extern "C" __global__ void __launch_bounds__(256) add_norm(float* x, const float* partial, u32 splits, const float* w, u16* y, const u32* tokens, const u16* table) {
    __shared__ float sums[8];
    const int N = (HIDDEN + 1023) / 1024;
    u32 row = blockIdx.x;
    let_next_start();
    await_previous();
    float4 v[N];
    float ss = 0.f;
#pragma unroll
    for (int i = 0; i < N; ++i) {
        u32 c = (threadIdx.x + i * 256) * 4;
        v[i] = make_float4(0.f, 0.f, 0.f, 0.f);
        if (c >= HIDDEN) continue;
        if (tokens) {
            uint2 e = *(const uint2*)(table + (u64)tokens[row] * HIDDEN + c);
            v[i] = make_float4(lo_f(e.x), hi_f(e.x), lo_f(e.y), hi_f(e.y));
        } else v[i] = *(const float4*)(x + (u64)row * HIDDEN + c);
#pragma unroll 8
        for (u32 s = 0; s < splits; ++s) {
            float4 p = *(const float4*)(partial + ((u64)s * MOST + row) * HIDDEN + c);
            v[i].x += p.x; v[i].y += p.y; v[i].z += p.z; v[i].w += p.w;
        }
        *(float4*)(x + (u64)row * HIDDEN + c) = v[i];
        ss += (v[i].x * v[i].x + v[i].y * v[i].y) + (v[i].z * v[i].z + v[i].w * v[i].w);
    }
    ss = warp_sum(ss);
    if ((threadIdx.x & 31) == 0) sums[threadIdx.x / 32] = ss;
    __syncthreads();
    float all = 0.f;
#pragma unroll
    for (int i = 0; i < 8; ++i) all += sums[i];
    float r = rsqrtf(all / HIDDEN + EPS);
#pragma unroll
    for (int i = 0; i < N; ++i) {
        u32 c = (threadIdx.x + i * 256) * 4;
        if (c >= HIDDEN) continue;
        float4 g = *(const float4*)(w + c);
        *(uint2*)(y + (u64)row * HIDDEN + c) = make_uint2(bf16x2(v[i].x * r * g.x, v[i].y * r * g.y), bf16x2(v[i].z * r * g.z, v[i].w * r * g.w));
    }
}

// One warp a row and head: partial sums, bias, norm, RoPE; queries scaled, keys and values cached.
extern "C" __global__ void __launch_bounds__(128) rotate_rows(const float* partial, u32 splits, const float* bias, const float* q_norm, const float* k_norm, const float* rope, float* queries, const Row* rows, u32 layer, u32 count) {
    u32 lane = threadIdx.x & 31, slot = blockIdx.x * 4 + threadIdx.x / 32, row = blockIdx.y;
    const u32 half = HEAD_DIM / 2;
    let_next_start();
    await_previous();
    if (slot >= HEADS + 2 * KV_HEADS) return;
    Row at = rows[row];
    u32 d = lane * 2;
    bool there = d < half, value = slot >= HEADS + KV_HEADS, query = slot < HEADS;
    float2 a = make_float2(0.f, 0.f), b = a;
    if (there) {
        for (u32 s = 0; s < splits; ++s) {
            const float* from = partial + ((u64)s * MOST + row) * QKV_WIDTH + slot * HEAD_DIM + d;
            float2 p = *(const float2*)from, q = *(const float2*)(from + half);
            a.x += p.x; a.y += p.y; b.x += q.x; b.y += q.y;
        }
#if QKV_BIAS
        const float* c = bias + slot * HEAD_DIM + d;
        a.x += c[0]; a.y += c[1]; b.x += c[half]; b.y += c[half + 1];
#endif
    }
    if (!value) {
#if QK_NORM
        float r = rsqrtf(warp_sum((a.x * a.x + a.y * a.y) + (b.x * b.x + b.y * b.y)) / HEAD_DIM + EPS);
        const float* g = (query ? q_norm : k_norm) + d;
        if (there) { a.x *= r * g[0]; a.y *= r * g[1]; b.x *= r * g[half]; b.y *= r * g[half + 1]; }
#endif
        if (there) {
            float4 t = *(const float4*)(rope + ((u64)at.position * half + d) * 2);
            float2 c = a;
            a.x = c.x * t.x - b.x * t.y; a.y = c.y * t.z - b.y * t.w;
            b.x = b.x * t.x + c.x * t.y; b.y = b.y * t.z + c.y * t.w;
        }
    }
    if (!there) return;
    if (query) {
        const float scale = rsqrtf((float)HEAD_DIM) * 1.4426950408889634f;
        float* to = queries + (u64)row * Q_WIDTH + slot * HEAD_DIM + d;
        *(float2*)to = make_float2(a.x * scale, a.y * scale);
        *(float2*)(to + half) = make_float2(b.x * scale, b.y * scale);
        return;
    }
    u32 head = slot - HEADS - (value ? KV_HEADS : 0), inside = at.position % BLOCK_POSITIONS;
    u16* to = at.cache + ((((u64)layer * KV_HEADS + head) * 2 + value) * at.blocks + at.position / BLOCK_POSITIONS) * BLOCK;
    u32 first = bf16x2(a.x, a.y), second = bf16x2(b.x, b.y);
    to[place(inside, d, value)] = (u16)first;
    to[place(inside, d + 1, value)] = (u16)(first >> 16);
    to[place(inside, d + half, value)] = (u16)second;
    to[place(inside, d + half + 1, value)] = (u16)(second >> 16);
}

#define SPAN 128 // positions of an item of attention, 16 a warp
#define PART (GQA * (HEAD_DIM + 2))
#define NARROW ((2 * GQA + 7) / 8) // tiles of eight columns: two parts of each head's query

__device__ __forceinline__ void mma16(float (&c)[4], uint4 a, u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}

// Attention of all rows: items of SPAN positions of one KV head, each by one block of eight warps; the block that finishes a
// row's head last merges its items in order.
extern "C" __global__ void __launch_bounds__(256, 2) attend_rows(const float* queries, const Row* rows, float* parts, u32* arrived, u16* out, u32 layer, u32 count, u32 most_items) {
    __shared__ float weighed[8][GQA][HEAD_DIM];
    __shared__ float2 limits[8][GQA];
    __shared__ u32 before[MOST + 1];
    __shared__ bool merges;
    u32 tid = threadIdx.x, lane = tid & 31, warp = tid / 32, quad = lane & 3, n = lane >> 2;
    let_next_start();
    await_previous();
    if (warp == 0) {
        u32 items = lane < count ? (rows[lane].position / SPAN + 1) * KV_HEADS : 0;
#pragma unroll
        for (int d = 1; d < 32; d <<= 1) {
            u32 v = __shfl_up_sync(~0u, items, d);
            if (lane >= d) items += v;
        }
        before[lane + 1] = items;
        if (lane == 0) before[0] = 0;
    }
    __syncthreads();
    for (u32 item = blockIdx.x; item < before[count]; item += gridDim.x) {
        u32 row = __popc(__ballot_sync(~0u, lane < count && before[lane + 1] <= item));
        Row at = rows[row];
        u32 spans = at.position / SPAN + 1, inside = item - before[row], head = inside / spans, span = inside % spans;
        u32 first = span * SPAN + warp * 16, length = at.position + 1;
        bool there = first < length;
        uint4 k[HEAD_DIM / 16], v[HEAD_DIM / 16];
        if (there) {
            const u16* from = at.cache + (((u64)layer * KV_HEADS + head) * 2 * at.blocks + first / BLOCK_POSITIONS) * BLOCK;
            const uint4* keys = (const uint4*)(from + (warp & 1) * (16 * HEAD_DIM)) + lane;
            const uint4* values = (const uint4*)(from + (u64)at.blocks * BLOCK + (warp & 1) * 256) + lane;
#pragma unroll
            for (int i = 0; i < HEAD_DIM / 16; ++i) k[i] = keys[i * 32];
#pragma unroll
            for (int i = 0; i < HEAD_DIM / 16; ++i) v[i] = values[i * 64];
        }
#pragma unroll
        for (int t = 0; t < NARROW; ++t) {
            float c[4] = {}, most = -1e30f, total = 0.f;
            float o[HEAD_DIM / 16][4] = {};
            if (there) {
                u32 h = t * 4 + (n >> 1);
                const float* q = queries + (u64)row * Q_WIDTH + (head * GQA + (h < GQA ? h : 0)) * HEAD_DIM + quad * 4;
#pragma unroll
                for (int i = 0; i < HEAD_DIM / 16; ++i) {
                    float4 x = *(const float4*)(q + i * 16);
                    u32 b0 = bf16x2(x.x, x.y), b1 = bf16x2(x.z, x.w);
                    if (n & 1) { b0 = bf16x2(x.x - lo_f(b0), x.y - hi_f(b0)); b1 = bf16x2(x.z - lo_f(b1), x.w - hi_f(b1)); }
                    if (h >= GQA) b0 = b1 = 0;
                    mma16(c, k[i], b0, b1);
                }
                float a = first + n < length ? c[0] + c[1] : -1e30f, b = first + n + 8 < length ? c[2] + c[3] : -1e30f;
                most = fmaxf(a, b);
#pragma unroll
                for (int d = 4; d < 32; d <<= 1) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
                a = first + n < length ? exp2_fast(a - most) : 0.f;
                b = first + n + 8 < length ? exp2_fast(b - most) : 0.f;
                total = a + b;
#pragma unroll
                for (int d = 4; d < 32; d <<= 1) total += __shfl_xor_sync(~0u, total, d);
                u32 source = quad * 8 + (n >> 1);
                float p0 = __shfl_sync(~0u, a, source), p1 = __shfl_sync(~0u, a, source + 4);
                float p2 = __shfl_sync(~0u, b, source), p3 = __shfl_sync(~0u, b, source + 4);
                u32 b0 = bf16x2(p0, p1), b1 = bf16x2(p2, p3);
                if (n & 1) { b0 = bf16x2(p0 - lo_f(b0), p1 - hi_f(b0)); b1 = bf16x2(p2 - lo_f(b1), p3 - hi_f(b1)); }
#pragma unroll
                for (int i = 0; i < HEAD_DIM / 16; ++i) mma16(o[i], v[i], b0, b1);
            }
            u32 h = t * 4 + quad;
            if (h < GQA) {
#pragma unroll
                for (int i = 0; i < HEAD_DIM / 16; ++i) {
                    weighed[warp][h][i * 16 + n] = o[i][0] + o[i][1];
                    weighed[warp][h][i * 16 + n + 8] = o[i][2] + o[i][3];
                }
                if (n == 0) limits[warp][h] = make_float2(most, total);
            }
        }
        __syncthreads();
        float* mine = parts + (((u64)row * KV_HEADS + head) * most_items + span) * PART;
        for (u32 i = tid; i < GQA * HEAD_DIM; i += 256) {
            u32 h = i / HEAD_DIM;
            float mx = -1e30f, sum = 0.f, all = 0.f;
#pragma unroll
            for (int w = 0; w < 8; ++w) mx = fmaxf(mx, limits[w][h].x);
#pragma unroll
            for (int w = 0; w < 8; ++w) {
                float f = exp2_fast(limits[w][h].x - mx);
                sum = fmaf(f, weighed[w][h][i % HEAD_DIM], sum);
                all = fmaf(f, limits[w][h].y, all);
            }
            if (spans == 1) out[(u64)row * Q_WIDTH + head * GQA * HEAD_DIM + i] = (u16)bf16x2(sum / all, 0.f);
            else {
                mine[i] = sum;
                if (i % HEAD_DIM == 0) *(float2*)(mine + GQA * HEAD_DIM + h * 2) = make_float2(mx, all);
            }
        }
        if (spans > 1) {
            __threadfence();
            __syncthreads();
            if (tid == 0) merges = atomicInc(&arrived[row * KV_HEADS + head], spans - 1) == spans - 1;
            __syncthreads();
            if (merges) {
                __threadfence();
                const float* all_parts = parts + ((u64)row * KV_HEADS + head) * most_items * PART;
                for (u32 i = tid; i < GQA * HEAD_DIM; i += 256) {
                    const float* limit = all_parts + GQA * HEAD_DIM + i / HEAD_DIM * 2;
                    float mx = -1e30f, sum = 0.f, all = 0.f;
#pragma unroll 4
                    for (u32 s = 0; s < spans; ++s) mx = fmaxf(mx, __ldcg(limit + (u64)s * PART));
#pragma unroll 4
                    for (u32 s = 0; s < spans; ++s) {
                        float f = exp2_fast(__ldcg(limit + (u64)s * PART) - mx);
                        sum = fmaf(f, __ldcg(all_parts + (u64)s * PART + i), sum);
                        all = fmaf(f, __ldcg(limit + (u64)s * PART + 1), all);
                    }
                    out[(u64)row * Q_WIDTH + head * GQA * HEAD_DIM + i] = (u16)bf16x2(sum / all, 0.f);
                }
            }
        }
        __syncthreads();
    }
}

// The greatest logit's id of every row, the lowest of equals: SHARES blocks a row, the last of which concludes. The id is the row's
// next token, and the row moves on by a position; `out`, [WINDOW][MOST], keeps the ids of the last positions.
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
