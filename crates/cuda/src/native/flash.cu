// Attention of a prompt on Hopper: 64 rows of one head a warpgroup, one or two of them a block, keys and values by the copy engine in
// tiles of 128 positions. Every row goes through the tiles from the first on, so that its bits do not depend on where its
// chunk begins. Follows prefill.cu.
#define TILE 128
#define HALVES (HEAD_DIM / 64)
#define KV_BYTES (TILE * HEAD_DIM * 2)
#define FLASH_STAGES 2

extern "C" __global__ void __launch_bounds__(384, 1) flash(const __grid_constant__ TensorMap queries, const __grid_constant__ TensorMap keys, const __grid_constant__ TensorMap values, u16* out, const Chunk* chunk, u32 last) {
    __shared__ u64 q_full, k_full[FLASH_STAGES], v_full[FLASH_STAGES], k_empty[FLASH_STAGES], v_empty[FLASH_STAGES];
    u32 tid = threadIdx.x, head = blockIdx.x, count = chunk->count, start = chunk->start, room = chunk->room;
    u32 groups = blockDim.x / 128 - 1, rows = groups * 64;
    // The longest first.
    u32 row0 = last ? (count - 1) / rows * rows : (gridDim.y - 1 - blockIdx.y) * rows;
    if (row0 >= count) return;
    u32 base = (saddr(dynamic) + 1023) & ~1023u, q_at = base, k_at = base + 128 * HEAD_DIM * 2, v_at = k_at + FLASH_STAGES * KV_BYTES;
    u32 end = row0 + rows < count ? row0 + rows : count, tiles = (start + end + TILE - 1) / TILE;
    if (tid == 0) {
        mbar_init(saddr(&q_full), 1);
        for (int s = 0; s < FLASH_STAGES; ++s) {
            mbar_init(saddr(&k_full[s]), 1); mbar_init(saddr(&v_full[s]), 1);
            mbar_init(saddr(&k_empty[s]), groups); mbar_init(saddr(&v_empty[s]), groups);
        }
        mbar_fence();
    }
    __syncthreads();
    let_next_start();
    await_previous();
    if (tid >= groups * 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (tid != groups * 128) return;
        mbar_expect(saddr(&q_full), rows * HEAD_DIM * 2);
        for (u32 g = 0; g < groups; ++g)
            for (u32 h = 0; h < HALVES; ++h) copy_box(q_at + (g * HALVES + h) * BOX, queries, saddr(&q_full), head * HEAD_DIM + h * 64, row0 + g * 64);
        u32 row = head / GQA * room;
        for (u32 i = 0; i < tiles; ++i, row += TILE) {
            u32 s = i % FLASH_STAGES, parity = (i / FLASH_STAGES & 1) ^ 1;
            mbar_wait(saddr(&k_empty[s]), parity);
            mbar_expect(saddr(&k_full[s]), KV_BYTES);
            for (u32 h = 0; h < HALVES; ++h) copy_box(k_at + s * KV_BYTES + h * TILE * 128, keys, saddr(&k_full[s]), h * 64, row);
            mbar_wait(saddr(&v_empty[s]), parity);
            mbar_expect(saddr(&v_full[s]), KV_BYTES);
            for (u32 h = 0; h < HALVES; ++h) copy_box(v_at + s * KV_BYTES + h * TILE * 128, values, saddr(&v_full[s]), h * 64, row);
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    u32 group = tid / 128, quad = tid & 3, row = row0 + group * 64 + (tid % 128) / 32 * 16 + (tid & 31) / 4;
    u32 q_mine = q_at + group * HALVES * BOX;
    float o[HEAD_DIM / 2], most[2] = {-1e30f, -1e30f}, total[2] = {0.f, 0.f};
#pragma unroll
    for (int i = 0; i < HEAD_DIM / 2; ++i) o[i] = 0.f;
    mbar_wait(saddr(&q_full), 0);
    float score[TILE / 2];
    u32 p[TILE / 16][4];
    auto multiply_keys = [&](u32 i) {
        u32 s = i % FLASH_STAGES, at = k_at + s * KV_BYTES;
        mbar_wait(saddr(&k_full[s]), i / FLASH_STAGES & 1);
        mma_begin();
#pragma unroll
        for (int k = 0; k < HEAD_DIM / 16; ++k) mma64(score, matrix(q_mine + k / 4 * BOX + k % 4 * 32), matrix(at + k / 4 * TILE * 128 + k % 4 * 32), k);
        mma_commit();
    };
    auto multiply_values = [&](u32 i) {
        u32 s = i % FLASH_STAGES, at = v_at + s * KV_BYTES;
        mbar_wait(saddr(&v_full[s]), i / FLASH_STAGES & 1);
        mma_begin();
#pragma unroll
        for (int k = 0; k < TILE / 16; ++k) mma64(o, p[k], matrix(at + k * 2048, TILE * 128));
        mma_commit();
    };
    // Scores to weights, and what earlier sums are then worth.
    float worth[2];
    auto weigh = [&](u32 i) {
        // Positions after the row's own.
        if (i * TILE + TILE - 1 > start + row0 + group * 64) {
#pragma unroll
            for (int j = 0; j < TILE / 8; ++j)
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    if (i * TILE + j * 8 + quad * 2 + (e & 1) > start + row + (e >> 1) * 8) score[j * 4 + e] = -1e30f;
        }
#pragma unroll
        for (int up = 0; up < 2; ++up) {
            float mx = most[up];
#pragma unroll
            for (int j = 0; j < TILE / 8; ++j) mx = fmaxf(mx, fmaxf(score[j * 4 + up * 2], score[j * 4 + up * 2 + 1]));
            mx = quad_max(mx);
            worth[up] = exp2_fast(most[up] - mx);
            most[up] = mx;
            float sum = 0.f;
#pragma unroll
            for (int j = 0; j < TILE / 8; ++j) {
                float &a = score[j * 4 + up * 2], &b = score[j * 4 + up * 2 + 1];
                a = exp2_fast(a - mx);
                b = exp2_fast(b - mx);
                sum += a + b;
            }
            total[up] = total[up] * worth[up] + sum;
        }
    };
    auto settle = [&]() {
#pragma unroll
        for (int up = 0; up < 2; ++up) {
#pragma unroll
            for (int j = 0; j < TILE / 8; ++j) p[j / 2][(j & 1) * 2 + up] = bf16x2(score[j * 4 + up * 2], score[j * 4 + up * 2 + 1]);
#pragma unroll
            for (int j = 0; j < HEAD_DIM / 8; ++j) { o[j * 4 + up * 2] *= worth[up]; o[j * 4 + up * 2 + 1] *= worth[up]; }
        }
    };
    bool speaks = tid % 128 == 0;
    multiply_keys(0);
    mma_wait<0>();
    if (speaks) mbar_arrive(saddr(&k_empty[0]));
    weigh(0);
    settle();
    for (u32 i = 0; i + 1 < tiles; ++i) {
        multiply_keys(i + 1);
        multiply_values(i);
        mma_wait<1>();
        if (speaks) mbar_arrive(saddr(&k_empty[(i + 1) % FLASH_STAGES]));
        weigh(i + 1);
        mma_wait<0>();
        if (speaks) mbar_arrive(saddr(&v_empty[i % FLASH_STAGES]));
        settle();
    }
    multiply_values(tiles - 1);
    mma_wait<0>();
    // Through the room of this warp's queries, 16-byte pieces swapped so that rows lie in different banks.
    u32 inside = (tid & 31) / 4, first = row - inside, mine = q_mine + (first % 64) * 128;
#pragma unroll
    for (int up = 0; up < 2; ++up) {
        float f = 1.f / quad_sum(total[up]);
#pragma unroll
        for (int j = 0; j < HEAD_DIM / 8; ++j)
            asm volatile("st.shared.u32 [%0], %1;" ::"r"(mine + j / 8 * BOX + (inside + up * 8) * 128 + ((j % 8) ^ inside) * 16 + quad * 4), "r"(bf16x2(o[j * 4 + up * 2] * f, o[j * 4 + up * 2 + 1] * f)) : "memory");
    }
    __syncwarp();
    const u32 LANES = HEAD_DIM / 8;
#pragma unroll
    for (u32 r = 0; r < 16; r += 32 / LANES) {
        u32 to = r + (tid & 31) / LANES, c = (tid & 31) % LANES;
        uint4 v;
        asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(mine + c / 8 * BOX + to * 128 + ((c % 8) ^ (to & 7)) * 16) : "memory");
        if (first + to < count) *(uint4*)(out + (u64)(first + to) * Q_WIDTH + head * HEAD_DIM + c * 8) = v;
    }
}
