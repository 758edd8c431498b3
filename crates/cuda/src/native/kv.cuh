// Where keys and values lie. A cache is pages of PAGE_BYTES, each of 256 positions of every layer and head:
// [LAYERS][KV_HEADS][K, V][PAGE_BLOCKS][BLOCK_BYTES], a block 32 positions of a head; what follows belongs to nobody. Pages
// follow each other in addresses, whatever memory is behind them. Header-free, so that NVRTC needs no include path.
//
// Constants in front: KV_HEADS, BLOCK_BYTES, PAGE_BYTES.
typedef unsigned int u32;
typedef unsigned long long u64;

#define BLOCK_POSITIONS 32
#define PAGE_BLOCKS 8
#define VALUES_BEHIND (PAGE_BLOCKS * BLOCK_BYTES) // bytes from a block of keys to the values of the same positions

// First byte of a block of a head's keys or values.
__device__ __forceinline__ u64 kv_block(u32 layer, u32 head, u32 value, u32 block) {
    return (u64)(block / PAGE_BLOCKS) * PAGE_BYTES + (((layer * KV_HEADS + head) * 2 + value) * PAGE_BLOCKS + block % PAGE_BLOCKS) * BLOCK_BYTES;
}
