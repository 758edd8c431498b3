// Brings row-major matrices into the tape of the persistent decoder: each worker's weights in the order it uses them, as
// the fragments of A that its warps read. Follows prelude.cuh.

// The element of a matrix (0 QKV, 1 attention's output, 2 gate and up, 3 down, 4 head) that is row `r` of a worker and
// column `k` of what it multiplies with; false for padding.
__device__ __forceinline__ bool source(u32 kind, u32 worker, u32 r, u32 k, u64& row, u64& column) {
    u32 group = worker / GROUP_SIZE, member = worker % GROUP_SIZE;
    column = k;
    switch (kind) {
    case 0: {
        // Queries, keys and values of a group of workers, its heads' rows in this order.
        u32 at = member * QKV_ROWS + r;
        if (at < HEADS_WIDTH) { row = group * HEADS_WIDTH + at; return true; }
        at -= HEADS_WIDTH;
        row = at < HEAD_DIM ? HEADS * HEAD_DIM + group * HEAD_DIM + at : (HEADS + KV_HEADS) * HEAD_DIM + group * HEAD_DIM + at - HEAD_DIM;
        return true;
    }
    case 1: row = member * OUT_ROWS + r; column += group * HEADS_WIDTH; return true;
    case 2: row = (r & 1) * INTER + worker * MID_OWN + r / 2; return r / 2 < MID_OWN; // rows alternate: gate, up
    case 3: row = member * OUT_ROWS + r; column = (group * GROUP_SIZE + k / MID_ROWS) * MID_OWN + k % MID_ROWS; return k % MID_ROWS < MID_OWN;
    default: row = ((u64)HEAD_TILES_ALL * worker / WORKERS) * 16 + r; return true;
    }
}

// Tiles of a worker; of the head some have one more.
__device__ __forceinline__ u32 tiles_of(u32 kind, u32 worker, u32 tiles) {
    return kind == 4 ? (u32)((u64)HEAD_TILES_ALL * (worker + 1) / WORKERS) - (u32)((u64)HEAD_TILES_ALL * worker / WORKERS) : tiles;
}

// One thread a lane's 16 bytes of a chunk. A matrix's worker has `tiles` x 16 rows and `steps` x 128 columns; `columns` are
// those of the whole matrix.
extern "C" __global__ void pack(const u8* matrix, u8* tape, u64 stride, u32 first_chunk, u32 kind, u32 columns, u32 tiles, u32 steps) {
    u32 worker = blockIdx.y, chunk = blockIdx.x * 2 + threadIdx.x / 512, unit = threadIdx.x & 511;
    if (chunk >= CHUNKS(tiles_of(kind, worker, tiles), steps)) return;
    u32 warp = unit >> 6, lane = unit & 31, at = chunk * 2 + ((unit >> 5) & 1);
    uint4 out = make_uint4(0, 0, 0, 0);
    u32* words = (u32*)&out;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        // Words: bf16 rows r and r + 8 of two columns, then of the next two; int8 rows r and r + 8 of four, of two fragments.
        u32 fragment = INT8 ? at * 2 + (i >> 1) : at, tile = fragment / steps, s = fragment % steps;
        u32 r = tile * 16 + (lane >> 2) + (i & 1) * 8, k = ::column(warp, s, steps) + (lane & 3) * 4 + (INT8 ? 0 : (i >> 1) * 2);
        u64 row, col;
        if (source(kind, worker, r, k, row, col)) words[i] = *(const u32*)(matrix + (row * columns + col) * (INT8 ? 1 : 2));
    }
    *(uint4*)(tape + worker * stride + (u64)(first_chunk + chunk) * CHUNK + unit * 16) = out;
}

#if INT8
// Eight bits a weight, one scale for 128 columns of a row, which takes the greatest magnitude to 127 and is rounded away from
// zero to bf16. The matrix then holds what the codes stand for, in bf16. A warp a scale.
extern "C" __global__ void quantise(u16* matrix, signed char* codes, u16* scales, u64 count) {
    u64 at = (u64)blockIdx.x * 8 + threadIdx.x / 32;
    u32 lane = threadIdx.x & 31;
    if (at >= count) return;
    uint2 w = *(const uint2*)(matrix + at * 128 + lane * 4);
    float v[4] = {lo_f(w.x), hi_f(w.x), lo_f(w.y), hi_f(w.y)};
    float most = fmaxf(fmaxf(fabsf(v[0]), fabsf(v[1])), fmaxf(fabsf(v[2]), fabsf(v[3])));
    most = __uint_as_float(__reduce_max_sync(~0u, __float_as_uint(most)));
    u32 scale = (__float_as_uint(__fdiv_rn(most, 127.f)) + 0xffffu) >> 16;
    float inverse = __frcp_rn(__uint_as_float(scale << 16));
    if (!(inverse < 3.4e38f)) inverse = 0.f;
    u32 out = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        int code = __float2int_rn(__fmul_rn(v[i], inverse));
        out |= (u32)(code & 255) << (i * 8);
        v[i] = (float)code * __uint_as_float(scale << 16);
    }
    *(uint2*)(matrix + at * 128 + lane * 4) = make_uint2(bf16x2(v[0], v[1]), bf16x2(v[2], v[3]));
    *(u32*)(codes + at * 128 + lane * 4) = out;
    if (lane == 0) scales[at] = (u16)scale;
}

// One thread a pair of scales: rows r and r + 8 of a tile, for 128 columns.
extern "C" __global__ void pack_scales(const u16* scales, u32* to, u64 stride, u32 first, u32 kind, u32 columns, u32 tiles, u32 steps) {
    u32 worker = blockIdx.y, at = blockIdx.x * 256 + threadIdx.x;
    if (at >= tiles_of(kind, worker, tiles) * steps * 8) return;
    u32 tile = at / (steps * 8), g = at / 8 % steps, r = tile * 16 + at % 8, pair = 0;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        u64 row, col;
        if (source(kind, worker, r + i * 8, g * 128, row, col)) pair |= (u32)scales[(row * columns + col) / 128] << (i * 16);
    }
    to[worker * stride + first + at] = pair;
}
#endif
