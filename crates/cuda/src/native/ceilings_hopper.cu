// Products of bf16 by Hopper's matrix units at most. Follows hopper.cuh and ceilings.cu.
#define WGMMA_COLUMNS 256
#define WGMMA_DEPTH 64 // a row of 128 bytes
#define WGMMA_ROUNDS 1024
#define WGMMA_TILE (64 * WGMMA_DEPTH * 2)

// An element of a matrix as the matrix units read it: 16-byte pieces swapped within eight rows.
__device__ __forceinline__ void place(u8* at, u32 row, u32 column, int v) {
    *(u16*)(at + row * 128 + ((column / 8 ^ row % 8) * 8 + column % 8) * 2) = (u16)bf16_of(v);
}

// As `ceiling_mma`, with two groups of four warps whose operands stay in shared memory: A, 1 - A and B one after another.
extern "C" __global__ void __launch_bounds__(256, 1) ceiling_wgmma(u32 laps, u64* sum) {
    u32 base = saddr(dynamic), at = (base + 1023) & ~1023u, b = at + 2 * WGMMA_TILE;
    u8* room = dynamic + (at - base);
    for (u32 i = threadIdx.x; i < 64 * WGMMA_DEPTH; i += blockDim.x) {
        place(room, i / WGMMA_DEPTH, i % WGMMA_DEPTH, number(i));
        place(room + WGMMA_TILE, i / WGMMA_DEPTH, i % WGMMA_DEPTH, 1 - number(i));
    }
    for (u32 i = threadIdx.x; i < WGMMA_COLUMNS * WGMMA_DEPTH; i += blockDim.x)
        place(room + 2 * WGMMA_TILE, i / WGMMA_DEPTH, i % WGMMA_DEPTH, number(i));
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    float d[WGMMA_COLUMNS / 2];
    long long total = 0;
#pragma unroll 1
    for (u32 lap = 0; lap < laps; ++lap) {
#pragma unroll 1
        for (u32 round = 0; round < WGMMA_ROUNDS; ++round) {
            mma_begin();
#pragma unroll
            for (u32 half = 0; half < 2; ++half)
#pragma unroll
                for (u32 k = 0; k < WGMMA_DEPTH / 16; ++k) mma64(d, matrix(at + half * WGMMA_TILE + k * 32), matrix(b + k * 32), round | half | k);
            mma_commit();
            mma_wait<0>();
        }
        int part = 0; // below 2^31: 128 numbers of up to 2^23
#pragma unroll
        for (int i = 0; i < WGMMA_COLUMNS / 2; ++i) part += (int)d[i];
        total += part;
    }
    give(sum, (u64)total);
}
