// Products of many rows on Hopper, by tiles of 256 columns: of 128, each byte that a multiprocessor reads from the second level cache
// serves half as many multiplications, and that cache's rate then is the limit. A block a multiprocessor goes through its tiles
// in a row, so that the copies of the next tile travel while this one's results are given. Same order of summation,
// same bits as the kernels of prefill.cu, which this follows.
#define BROAD 256
#define BROAD_BYTES ((ROWS + BROAD) * DEPTH * 2) // of a stage
#define BROAD_STAGES 4
#define BROAD_ADD_STAGES 3
#define BROAD_DESK (16 * PIECE * 2) // bytes of a warp's desk

// Takes this block's tiles, of `across` times as many as there are rows of tiles. `weights` names the row of `w` of the first and of
// the second half of a tile's columns. `before` is called for each tile, `after` for each of CHAINS parts of the columns
// with a warp's 16 rows of sums and where the room behind the ring begins.
template <int CHAINS, int STAGES, class Rows, class Before, class After> __device__ __forceinline__ void sweep(const TensorMap& x, const TensorMap& w, u32 count, u32 across, u32 steps, Rows weights, Before before, After after) {
    __shared__ u64 full[STAGES], empty[STAGES];
    u32 ring = (saddr(dynamic) + 1023) & ~1023u, tid = threadIdx.x, tall = (count + ROWS - 1) / ROWS, tiles = tall * across;
    if (tid == 0) {
        for (u32 s = 0; s < STAGES; ++s) { mbar_init(saddr(&full[s]), 1); mbar_init(saddr(&empty[s]), 2); }
        mbar_fence();
    }
    __syncthreads();
    let_next_start();
    if (tid >= 256) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (tid != 256 || blockIdx.x >= tiles) return;
        auto fetch_weights = [&](u32 s, u32 column, u32 i) {
            u32 at = ring + s * BROAD_BYTES + 2 * BOX, bar = saddr(&full[s]);
            mbar_expect(bar, BROAD_BYTES);
#pragma unroll
            for (u32 part = 0; part < 4; ++part) copy_box(at + part * BOX, w, bar, i * DEPTH, weights(column, part / 2) + part % 2 * 64);
        };
        // Weights need no kernel before this one.
        u32 early = steps < STAGES ? steps : STAGES;
        for (u32 i = 0; i < early; ++i) fetch_weights(i, blockIdx.x / tall, i);
        await_previous();
        u32 s = 0, parity = 1;
        for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            u32 row0 = tile % tall * ROWS, column = tile / tall;
            for (u32 i = 0; i < steps; ++i) {
                if (tile != blockIdx.x || i >= early) {
                    mbar_wait(saddr(&empty[s]), parity);
                    fetch_weights(s, column, i);
                }
                u32 at = ring + s * BROAD_BYTES, bar = saddr(&full[s]);
                copy_box(at, x, bar, i * DEPTH, row0);
                copy_box(at + BOX, x, bar, i * DEPTH, row0 + 64);
                if (++s == STAGES) { s = 0; parity ^= 1; }
            }
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    await_previous();
    u32 group = tid / 128, quad = tid & 3, s = 0, parity = 0;
    float sum[BROAD / 2];
#pragma unroll 1
    for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        u32 row = tile % tall * ROWS + group * 64 + (tid % 128) / 32 * 16 + (tid & 31) / 4, column = tile / tall;
        before(row, quad, column);
#pragma unroll 1
        for (u32 chain = 0; chain < CHAINS; ++chain) {
            sum_up<BROAD>(sum, ring, STAGES, full, empty, group, steps * chain / CHAINS, steps * (chain + 1) / CHAINS, s, parity);
            after(sum, row, quad, column, ring + STAGES * BROAD_BYTES, chain);
        }
    }
}

extern "C" __global__ void __launch_bounds__(384, 1) broad_qkv(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap w, const __grid_constant__ Heads h, const Chunk* chunk) {
    const int LOADS = HEAD_DIM / 16; // all of a row's
    __shared__ __align__(16) float gains[2 * HEAD_DIM];
    Chunk at = *chunk;
    if (threadIdx.x < 256) take_head_norms(h, gains);
    float factor[2];
    auto rows = [](u32 column, u32 half) { return column * BROAD + half * (BROAD / 2); };
    auto norm = [&](u32 row, u32 quad, u32) { row_factors(h.squares, row, quad, factor); };
    sweep<1, BROAD_STAGES>(in, w, at.count, (QKV_WIDTH + BROAD - 1) / BROAD, steps(HIDDEN), rows, norm, [&](float (&sum)[BROAD / 2], u32 row, u32 quad, u32 column, u32 room, u32) {
        auto angles = [&](float4 (&cs)[LOADS], int up, int) {
#pragma unroll
            for (int j = 0; j < LOADS; ++j) cs[j] = __ldg(angles_of(h, at, row + up * 8, quad) + j * 4);
        };
        give_heads<BROAD, PIECE, LOADS>(sum, h, at, column * BROAD, row, quad, factor, gains, h.bias + column * BROAD, Desk(room + threadIdx.x / 32 * BROAD_DESK, PIECE), angles);
    });
}

extern "C" __global__ void __launch_bounds__(384, 1) broad_gate_up(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap w, const float* squares, u16* product, const Chunk* chunk) {
    const u32 HALF = BROAD / 2;
    u32 count = chunk->count;
    float factor[2];
    auto rows = [](u32 column, u32 half) { return half * INTER + column * HALF; };
    sweep<1, BROAD_STAGES>(in, w, count, (INTER + HALF - 1) / HALF, steps(HIDDEN), rows, [&](u32 row, u32 quad, u32) { row_factors(squares, row, quad, factor); },
             [&](float (&sum)[BROAD / 2], u32 row, u32 quad, u32 column, u32 room, u32) { give_product<BROAD, PIECE>(sum, product, column * HALF, count, row, quad, factor, Desk(room + threadIdx.x / 32 * BROAD_DESK, PIECE)); });
}

__device__ __forceinline__ void put_shared(u32 at, float4 v) { asm volatile("st.shared.v4.f32 [%0], {%1,%2,%3,%4};" ::"r"(at), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory"); }
__device__ __forceinline__ float4 get_shared(u32 at) {
    float4 v;
    asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(at) : "memory");
    return v;
}

// x += the product, in PARTS parts of its columns. There are no registers for the stream and two parts: of the first two pieces the
// stream is read before the products and the first part added to it in its place; of the others the first part waits in
// shared memory, and the stream is read when registers are free.
extern "C" __global__ void __launch_bounds__(384, 1) broad_add(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap w, const __grid_constant__ Residual stream, const Chunk* chunk, u32 depth) {
    const int KEPT = 2, PARK = 16 * PIECE * 4; // pieces; bytes of a piece of a warp
    u32 count = chunk->count;
    Piece v[KEPT];
    auto rows = [](u32 column, u32 half) { return column * BROAD + half * (BROAD / 2); };
    auto read = [&](u32 row, u32, u32 tile) {
#pragma unroll
        for (int i = 0; i < KEPT; ++i) read_piece(stream, v[i], row, tile * BROAD + i * PIECE);
    };
    sweep<PARTS, BROAD_ADD_STAGES>(in, w, count, (HIDDEN + BROAD - 1) / BROAD, steps(depth), rows, read, [&](float (&sum)[BROAD / 2], u32 row, u32 quad, u32 tile, u32 room, u32 chain) {
        // Addresses found here: found before the products, they would take the sums' registers.
        asm volatile("" : "+r"(row), "+r"(quad), "+r"(tile), "+r"(room));
        u32 parked = room + 8 * BROAD_DESK + threadIdx.x / 32 * (KEPT * PARK) + (threadIdx.x & 31) * 16;
        if (chain + 1 < PARTS) {
#pragma unroll
            for (int i = 0; i < KEPT; ++i) add_piece(v[i], [&](int j) { return four(sum, i * (PIECE / 8) + j); });
#pragma unroll
            for (int j = 0; j < KEPT * PIECE / 8; ++j) put_shared(parked + j * 512, four(sum, KEPT * PIECE / 8 + j));
            return;
        }
#pragma unroll
        for (int piece = 0; piece < BROAD / PIECE; ++piece) {
            u32 column = tile * BROAD + piece * PIECE;
            Piece& now = v[piece % KEPT];
            if (piece >= KEPT) add_piece(now, [&](int j) { return get_shared(parked + ((piece - KEPT) * (PIECE / 8) + j) * 512); });
            add_piece(now, [&](int j) { return four(sum, piece * (PIECE / 8) + j); });
            give_piece(stream, now, row, quad, column, count, stream.gain + column, Desk(room + threadIdx.x / 32 * BROAD_DESK, PIECE));
            if (piece + KEPT < BROAD / PIECE) read_piece(stream, now, row, column + KEPT * PIECE);
        }
    });
}
