// Brings row-major bf16 matrices into the tape of the persistent decoder: each worker's weights in the order it uses them,
// chunks of 16 rows x 256 columns as the fragments of A that its warps read. Follows prelude.cuh.

// A matrix as a stage uses it: `rows` a worker; the row of the matrix for row `r` of `worker`.
__device__ __forceinline__ u64 source_row(u32 kind, u32 worker, u32 r) {
    u32 group = worker / GROUP_SIZE, member = worker % GROUP_SIZE;
    switch (kind) {
    case 0: {
        // Queries, keys and values of a group of workers, its heads' rows in this order.
        u32 at = member * QKV_ROWS + r;
        if (at < GQA * HEAD_DIM) return group * GQA * HEAD_DIM + at;
        at -= GQA * HEAD_DIM;
        return at < HEAD_DIM ? Q_WIDTH + group * HEAD_DIM + at : Q_WIDTH + KV_HEADS * HEAD_DIM + group * HEAD_DIM + at - HEAD_DIM;
    }
    case 2: return (r & 1) * INTER + worker * MID_ROWS + r / 2; // rows alternate: gate, up
    default: return worker * OUT_ROWS + r;
    }
}

// One thread a lane's 16 bytes of a chunk. `kind`: 0 QKV, 1 attention's output, 2 gate and up, 3 down, 4 head.
extern "C" __global__ void pack(const u16* matrix, u8* tape, u64 stride, u32 first_chunk, u32 kind, u32 columns, u32 chunks) {
    u32 worker = blockIdx.y, chunk = blockIdx.x * 2 + threadIdx.x / 512, unit = threadIdx.x & 511;
    if (kind == 4) {
        u32 first = (u32)((u64)HEAD_TILES_ALL * worker / WORKERS), last = (u32)((u64)HEAD_TILES_ALL * (worker + 1) / WORKERS);
        chunks = (last - first) * KH;
    }
    if (chunk >= chunks) return;
    u32 warp = unit >> 6, step = (unit >> 5) & 1, lane = unit & 31, quad = lane & 3, row = lane >> 2;
    bool split = kind == 1 || kind == 3;
    u32 span = columns / KC / (split ? 2 : 1), tile = chunk / span, part = chunk % span;
    u32 column = part * KC + warp * 32 + step * 16 + quad * 4;
    uint4 out;
    u32* words = (u32*)&out;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        u32 up = i & 1, k = column + (i >> 1) * 2;
        u64 from;
        if (split) { from = source_row(kind, worker, tile * 8 + row); k += up * (columns / 2); }
        else if (kind == 4) from = ((u64)HEAD_TILES_ALL * worker / WORKERS + tile) * 16 + row + up * 8;
        else from = source_row(kind, worker, tile * 16 + row + up * 8);
        words[i] = *(const u32*)(matrix + from * columns + k);
    }
    *(uint4*)(tape + worker * stride + (u64)(first_chunk + chunk) * CHUNK + unit * 16) = out;
}
