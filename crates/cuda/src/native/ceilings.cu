// What a GPU can do at most: bytes read from memory and multiply-adds in f32, and before Hopper products of bf16. Header-free,
// so that NVRTC needs no include path.
//
// Each kernel leaves a sum that is known without it, so that no work can be left out unseen. All do the same `laps` times.
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;

#define FACTOR 2654435761u // odd, so that no word is lost in a sum of multiples
#define FLIGHT 8           // loads of 16 bytes that a thread has under way
#define F32_CHAINS 8       // independent sums of a thread
#define F32_ROUNDS 4096    // below 2^24, up to which f32 counts
#define MMA_TILES 8
#define MMA_ROUNDS 4096

// Odd numbers from -127 to 127, which bf16 has: as many bits change as with weights.
__device__ __forceinline__ int number(u32 i) { return (int)(signed char)(i * FACTOR >> 24 | 1); }
__device__ __forceinline__ u32 bf16_of(int v) { return __float_as_uint((float)v) >> 16; }

// Adds `part` of every thread of a block to `*sum`.
__device__ __forceinline__ void give(u64* sum, u64 part) {
    __shared__ u64 whole;
    if (threadIdx.x == 0) whole = 0;
    __syncthreads();
    atomicAdd(&whole, part);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(sum, whole);
}

// Word i of 4 bytes is i * FACTOR; a piece is four words.
extern "C" __global__ void __launch_bounds__(1024, 1) ceiling_fill(uint4* memory, u64 pieces) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < pieces; i += (u64)gridDim.x * blockDim.x) {
        u32 word = (u32)i * 4;
        memory[i] = make_uint4(word * FACTOR, (word + 1) * FACTOR, (word + 2) * FACTOR, (word + 3) * FACTOR);
    }
}

__device__ __forceinline__ uint4 piece(const uint4* p) {
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}
__device__ __forceinline__ void add(uint4& sum, uint4 v) { sum.x += v.x; sum.y += v.y; sum.z += v.z; sum.w += v.w; }

// Adds up the first words of all pieces, the second, the third and the fourth, each modulo 2^32 of every thread.
extern "C" __global__ void __launch_bounds__(1024, 1) ceiling_read(const uint4* memory, u64 pieces, u32 laps, u64* sums) {
    u64 stride = (u64)gridDim.x * blockDim.x, first = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    uint4 sum = make_uint4(0, 0, 0, 0);
    for (u32 lap = 0; lap < laps; ++lap) {
        u64 i = first;
        for (; i + (FLIGHT - 1) * stride < pieces; i += FLIGHT * stride) {
            uint4 v[FLIGHT];
#pragma unroll
            for (int j = 0; j < FLIGHT; ++j) v[j] = piece(memory + i + j * stride);
#pragma unroll
            for (int j = 0; j < FLIGHT; ++j) add(sum, v[j]);
        }
        for (; i < pieces; i += stride) add(sum, piece(memory + i));
    }
    give(sums, sum.x);
    give(sums + 1, sum.y);
    give(sums + 2, sum.z);
    give(sums + 3, sum.w);
}

// x = x * a + b, where a and b are 1 and the compiler does not know: chain j ends at j + F32_ROUNDS.
extern "C" __global__ void __launch_bounds__(512) ceiling_f32(float a, float b, u32 laps, u64* sum) {
    u64 total = 0;
#pragma unroll 1
    for (u32 lap = 0; lap < laps; ++lap) {
        float x[F32_CHAINS];
#pragma unroll
        for (int j = 0; j < F32_CHAINS; ++j) x[j] = (float)j;
#pragma unroll 16
        for (int round = 0; round < F32_ROUNDS; ++round)
#pragma unroll
            for (int j = 0; j < F32_CHAINS; ++j) x[j] = __fmaf_rn(x[j], a, b);
#pragma unroll
        for (int j = 0; j < F32_CHAINS; ++j) total += (u32)x[j];
    }
    give(sum, total);
}

#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ void mma(float (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// A round adds A B and (1 - A) B: a sum of columns of B, whatever A and the order of fragments. All of it is in whole numbers
// below 2^24, so that every product counts.
extern "C" __global__ void __launch_bounds__(256, 2) ceiling_mma(u32 laps, u64* sum) {
    u32 lane = threadIdx.x & 31, a[2][4], b[MMA_TILES][2];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        int low = number((lane * 4 + i) * 2), high = number((lane * 4 + i) * 2 + 1);
        a[0][i] = bf16_of(low) | bf16_of(high) << 16;
        a[1][i] = bf16_of(1 - low) | bf16_of(1 - high) << 16;
    }
#pragma unroll
    for (int i = 0; i < MMA_TILES * 2; ++i) {
        u32 at = ((i / 2 * 32 + lane) * 2 + i % 2) * 2;
        b[i / 2][i % 2] = bf16_of(number(at)) | bf16_of(number(at + 1)) << 16;
    }
    long long total = 0;
#pragma unroll 1
    for (u32 lap = 0; lap < laps; ++lap) {
        float c[MMA_TILES][4] = {};
#pragma unroll 1
        for (int round = 0; round < MMA_ROUNDS; round += 4)
#pragma unroll
            for (int half = 0; half < 8; ++half)
#pragma unroll
                for (int tile = 0; tile < MMA_TILES; ++tile) mma(c[tile], a[half & 1], b[tile]);
#pragma unroll
        for (int i = 0; i < MMA_TILES * 4; ++i) total += (int)c[i / 4][i % 4];
    }
    give(sum, (u64)total);
}
#endif
