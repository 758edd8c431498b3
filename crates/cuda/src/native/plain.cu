// The plain path: one kernel a stage, for every shape. Each output element has one order of reduction whatever else is
// computed beside it, so that a row's bits do not depend on how rows are grouped.
//
// Constants in front of this text: HIDDEN, LAYERS, HEADS, KV_HEADS, HEAD_DIM, EPS, QK_NORM, QKV_BIAS, WEIGHT_BF16, KV_BF16,
// KV_INT8 (codes of 8 bits, a scale for each key and value) and FRAGMENTS (a block lies as the persistent decoder reads it).
// Follows kv.cuh.
typedef unsigned short u16;

#define GQA (HEADS / KV_HEADS)
#define Q_WIDTH (HEADS * HEAD_DIM)
#define KV_WIDTH (KV_HEADS * HEAD_DIM)
#define QKV_WIDTH (Q_WIDTH + 2 * KV_WIDTH)

#if WEIGHT_BF16
typedef u16 Weight;
#else
typedef float Weight;
#endif
#if KV_INT8
typedef signed char Cached;
#elif KV_BF16
typedef u16 Cached;
#else
typedef float Cached;
#endif

__device__ __forceinline__ float widen(u16 v) { return __uint_as_float((u32)v << 16); }
__device__ __forceinline__ float widen(float v) { return v; }
__device__ __forceinline__ float widen(signed char v) { return (float)v; }
// To nearest, ties to even; what is not a number stays so.
__device__ __forceinline__ u16 narrow(float v) {
    u32 bits = __float_as_uint(v);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (u16)((bits >> 16) | 0x40);
    return (u16)((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}
__device__ __forceinline__ void store(u16* to, float v) { *to = narrow(v); }
__device__ __forceinline__ void store(float* to, float v) { *to = v; }
// A code, which is a whole number already.
__device__ __forceinline__ void store(signed char* to, float v) { *to = (signed char)v; }

// Eight neighbours as floats.
__device__ __forceinline__ void eight(const float* p, float (&v)[8]) {
    float4 a = *(const float4*)p, b = *(const float4*)(p + 4);
    v[0] = a.x; v[1] = a.y; v[2] = a.z; v[3] = a.w; v[4] = b.x; v[5] = b.y; v[6] = b.z; v[7] = b.w;
}
__device__ __forceinline__ void eight(const u16* p, float (&v)[8]) {
    uint4 a = *(const uint4*)p;
    const u32 w[4] = {a.x, a.y, a.z, a.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) { v[2 * i] = __uint_as_float(w[i] << 16); v[2 * i + 1] = __uint_as_float(w[i] & 0xffff0000u); }
}

// Place of element `dim` of position `at` (within a block) of keys or values.
__device__ __forceinline__ u32 place(u32 at, u32 dim, bool value) {
#if FRAGMENTS
    u32 tile = at >> 4, row = at & 15;
    if (!value) {
        u32 step = dim >> 4, quad = (dim >> 2) & 3, half = (dim >> 1) & 1;
        return tile * (16 * HEAD_DIM) + step * 256 + ((row & 7) * 4 + quad) * 8 + half * 4 + (row >> 3) * 2 + (dim & 1);
    }
    u32 d = dim & 15, quad = (row & 7) >> 1;
    return (dim >> 4) * 512 + tile * 256 + ((d & 7) * 4 + quad) * 8 + (row >> 3) * 4 + (d >> 3) * 2 + (row & 1);
#else
    return at * HEAD_DIM + dim;
#endif
}

// Where a row's sequence keeps keys and values, and the row's position.
struct Row {
    unsigned char* cache; // as kv.cuh has it
    u32 position;
    u32 rest; // nothing
};
// The block of a position.
__device__ __forceinline__ Cached* cached(const Row& r, u32 layer, u32 head, u32 value, u32 position) {
    return (Cached*)(r.cache + kv_block(layer, head, value, position / BLOCK_POSITIONS));
}
// In 8 bits the scale of a position; those of a page lie behind its codes, [LAYERS][KV_HEADS][K, V][positions].
__device__ __forceinline__ float& scale_of(const Row& r, u32 layer, u32 head, u32 value, u32 position) {
    const u32 POSITIONS = PAGE_BLOCKS * BLOCK_POSITIONS, CODES = LAYERS * KV_HEADS * 2 * PAGE_BLOCKS * BLOCK_BYTES;
    float* page = (float*)(r.cache + (u64)(position / POSITIONS) * PAGE_BYTES + CODES);
    return page[((layer * KV_HEADS + head) * 2 + value) * POSITIONS + position % POSITIONS];
}

extern "C" __global__ void embed(const u32* tokens, const Weight* table, float* x) {
    const Weight* from = table + (u64)tokens[blockIdx.x] * HIDDEN;
    for (u32 i = threadIdx.x; i < HIDDEN; i += blockDim.x) x[(u64)blockIdx.x * HIDDEN + i] = widen(from[i]);
}

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

// One block of 256 threads a row: y = x / rms(x) * w.
extern "C" __global__ void rms_norm(const float* x, const float* w, float* y) {
    __shared__ float sums[8];
    x += (u64)blockIdx.x * HIDDEN;
    y += (u64)blockIdx.x * HIDDEN;
    float ss = 0.f;
    for (u32 i = threadIdx.x; i < HIDDEN; i += 256) ss = fmaf(x[i], x[i], ss);
    ss = warp_sum(ss);
    if ((threadIdx.x & 31) == 0) sums[threadIdx.x / 32] = ss;
    __syncthreads();
    float all = 0.f;
#pragma unroll
    for (int i = 0; i < 8; ++i) all += sums[i];
    float r = rsqrtf(all / HIDDEN + EPS);
    for (u32 i = threadIdx.x; i < HIDDEN; i += 256) y[i] = x[i] * r * w[i];
}

// y[row][n] = (add ? y[row][n] : 0) + w[n] . x[row]. A warp takes 4 outputs of 8 rows; a lane every 32nd group of eight columns.
#define OUTPUTS 4
#define ROWS 8
extern "C" __global__ void __launch_bounds__(128) matmul(const Weight* w, const float* x, float* y, u32 rows, u32 columns, u32 outputs, u32 add) {
    u32 lane = threadIdx.x & 31, n0 = (blockIdx.x * 4 + threadIdx.x / 32) * OUTPUTS, r0 = blockIdx.y * ROWS;
    if (n0 >= outputs) return;
    float sum[OUTPUTS][ROWS] = {};
    u32 count = rows - r0 < ROWS ? rows - r0 : ROWS;
    if ((columns & 7) == 0) {
        for (u32 k = lane * 8; k < columns; k += 256) {
            float a[OUTPUTS][8];
#pragma unroll
            for (int o = 0; o < OUTPUTS; ++o) {
                u32 n = n0 + o < outputs ? n0 + o : outputs - 1;
                eight(w + (u64)n * columns + k, a[o]);
            }
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                if (r >= count) break;
                float b[8];
                eight(x + (u64)(r0 + r) * columns + k, b);
#pragma unroll
                for (int o = 0; o < OUTPUTS; ++o)
#pragma unroll
                    for (int i = 0; i < 8; ++i) sum[o][r] = fmaf(a[o][i], b[i], sum[o][r]);
            }
        }
    } else {
        for (u32 k = lane; k < columns; k += 32)
#pragma unroll
            for (int o = 0; o < OUTPUTS; ++o) {
                u32 n = n0 + o < outputs ? n0 + o : outputs - 1;
                float a = widen(w[(u64)n * columns + k]);
#pragma unroll
                for (int r = 0; r < ROWS; ++r)
                    if (r < count) sum[o][r] = fmaf(a, x[(u64)(r0 + r) * columns + k], sum[o][r]);
            }
    }
#pragma unroll
    for (int o = 0; o < OUTPUTS; ++o)
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            if (r >= count) break;
            float v = warp_sum(sum[o][r]);
            if (lane == 0 && n0 + o < outputs) {
                float* to = y + (u64)(r0 + r) * outputs + n0 + o;
                *to = add ? *to + v : v;
            }
        }
}

// One warp a row and head (queries, keys, values): bias, norm, RoPE; queries scaled in place, keys and values cached.
extern "C" __global__ void rotate(float* qkv, const float* bias, const float* q_norm, const float* k_norm, const float* rope, const Row* rows, u32 layer, u32 count) {
    u32 lane = threadIdx.x & 31, unit = blockIdx.x * 4 + threadIdx.x / 32, slots = HEADS + 2 * KV_HEADS;
    u32 row = unit / slots, slot = unit % slots;
    if (row >= count) return;
    Row at = rows[row];
    float* v = qkv + (u64)row * QKV_WIDTH + slot * HEAD_DIM;
    const u32 half = HEAD_DIM / 2;
    float a[(half + 31) / 32], b[(half + 31) / 32], ss = 0.f;
#pragma unroll
    for (int j = 0; j < (half + 31) / 32; ++j) {
        u32 i = lane + j * 32;
        a[j] = i < half ? v[i] : 0.f;
        b[j] = i < half ? v[i + half] : 0.f;
#if QKV_BIAS
        if (i < half) { a[j] += bias[slot * HEAD_DIM + i]; b[j] += bias[slot * HEAD_DIM + i + half]; }
#endif
        ss += a[j] * a[j] + b[j] * b[j];
    }
    bool value = slot >= HEADS + KV_HEADS, query = slot < HEADS;
    if (!value) {
#if QK_NORM
        float r = rsqrtf(warp_sum(ss) / HEAD_DIM + EPS);
        const float* w = query ? q_norm : k_norm;
#endif
#pragma unroll
        for (int j = 0; j < (half + 31) / 32; ++j) {
            u32 i = lane + j * 32;
            if (i >= half) continue;
#if QK_NORM
            a[j] *= r * w[i];
            b[j] *= r * w[i + half];
#endif
            float c = rope[((u64)at.position * half + i) * 2], s = rope[((u64)at.position * half + i) * 2 + 1];
            float lo = a[j] * c - b[j] * s, hi = b[j] * c + a[j] * s;
            a[j] = lo;
            b[j] = hi;
        }
    }
    u32 head = value ? slot - HEADS - KV_HEADS : slot - HEADS, inside = at.position % BLOCK_POSITIONS;
    Cached* to = query ? nullptr : cached(at, layer, head, value, at.position);
    const float scale = rsqrtf((float)HEAD_DIM);
#if KV_INT8
    // The extreme of a head becomes 127; the step of overlapping launches rounds likewise.
    if (!query) {
        float most = 0.f;
#pragma unroll
        for (int j = 0; j < (half + 31) / 32; ++j) most = fmaxf(most, fmaxf(fabsf(a[j]), fabsf(b[j])));
#pragma unroll
        for (int d = 16; d; d >>= 1) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
        float inverse = most > 1.17549435e-38f * 127.f ? 127.f / most : 0.f;
#pragma unroll
        for (int j = 0; j < (half + 31) / 32; ++j) {
            a[j] = rintf(a[j] * inverse);
            b[j] = rintf(b[j] * inverse);
        }
        if (lane == 0) scale_of(at, layer, head, value, at.position) = most / 127.f;
    }
#endif
#pragma unroll
    for (int j = 0; j < (half + 31) / 32; ++j) {
        u32 i = lane + j * 32;
        if (i >= half) continue;
        if (query) { v[i] = a[j] * scale; v[i + half] = b[j] * scale; }
        else { store(to + place(inside, i, value), a[j]); store(to + place(inside, i + half, value), b[j]); }
    }
}

// One block of 128 threads a row and head; 128 positions at a time, a thread each for the scores, then a thread a dim.
#define SPAN 128
extern "C" __global__ void __launch_bounds__(SPAN) attend(const float* qkv, float* out, const Row* rows, u32 layer) {
    __shared__ float q[HEAD_DIM], p[SPAN], most[4], total[4];
    u32 row = blockIdx.x, head = blockIdx.y, t = threadIdx.x, lane = t & 31, warp = t / 32;
    Row at = rows[row];
    for (u32 i = t; i < HEAD_DIM; i += SPAN) q[i] = qkv[(u64)row * QKV_WIDTH + head * HEAD_DIM + i];
    float m = -1e30f, l = 0.f, o[(HEAD_DIM + SPAN - 1) / SPAN] = {};
    u32 length = at.position + 1;
    for (u32 first = 0; first < length; first += SPAN) {
        u32 n = length - first < SPAN ? length - first : SPAN, position = first + t;
        __syncthreads();
        float score = -1e30f;
        if (t < n) {
            const Cached* k = cached(at, layer, head / GQA, 0, position);
            u32 inside = position % BLOCK_POSITIONS;
            score = 0.f;
#pragma unroll 8
            for (u32 i = 0; i < HEAD_DIM; ++i) score = fmaf(q[i], widen(k[place(inside, i, false)]), score);
#if KV_INT8
            score *= scale_of(at, layer, head / GQA, 0, position);
#endif
        }
        float mx = score;
#pragma unroll
        for (int d = 16; d; d >>= 1) mx = fmaxf(mx, __shfl_xor_sync(~0u, mx, d));
        if (lane == 0) most[warp] = mx;
        __syncthreads();
        mx = fmaxf(fmaxf(fmaxf(most[0], most[1]), fmaxf(most[2], most[3])), m);
        float f = expf(m - mx), e = t < n ? expf(score - mx) : 0.f;
        m = mx;
#if KV_INT8
        p[t] = t < n ? e * scale_of(at, layer, head / GQA, 1, position) : 0.f;
#else
        p[t] = e;
#endif
        float s = warp_sum(e);
        if (lane == 0) total[warp] = s;
        __syncthreads();
        l = l * f + ((total[0] + total[1]) + (total[2] + total[3]));
#pragma unroll
        for (int j = 0; j < (HEAD_DIM + SPAN - 1) / SPAN; ++j) {
            u32 d = t + j * SPAN;
            o[j] *= f;
            if (d < HEAD_DIM)
                for (u32 i = 0; i < n; ++i) {
                    u32 position = first + i;
                    const Cached* v = cached(at, layer, head / GQA, 1, position);
                    o[j] = fmaf(p[i], widen(v[place(position % BLOCK_POSITIONS, d, true)]), o[j]);
                }
        }
    }
#pragma unroll
    for (int j = 0; j < (HEAD_DIM + SPAN - 1) / SPAN; ++j) {
        u32 d = t + j * SPAN;
        if (d < HEAD_DIM) out[(u64)row * Q_WIDTH + head * HEAD_DIM + d] = o[j] / l;
    }
}

// [rows][gate, up] to silu(gate) * up.
extern "C" __global__ void swiglu(const float* gate_up, float* out, u32 width, u32 rows) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (u64)rows * width) return;
    u64 row = i / width, column = i % width;
    float g = gate_up[row * 2 * width + column], u = gate_up[row * 2 * width + width + column];
    out[i] = g / (1.f + expf(-g)) * u;
}
