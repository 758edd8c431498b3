"""Checks the kernels for prompts and batches of crates/cuda against float64, then times them beside cuBLAS.

Needs a Hopper GPU, torch and cuda-python. The shape is that of Qwen3-0.6B with random weights; every check draws fresh inputs
and poisons what is to be written.
"""

import ctypes
import math

import torch

from gpu import HERE
from launcher import Module, graph, matrix, tensor_map, time_graph

LAYERS, HIDDEN, HEADS, KV_HEADS, DIM, INTER, VOCAB = 28, 1024, 16, 8, 128, 3072, 151936
Q, KV = HEADS * DIM, KV_HEADS * DIM
QKV = Q + 2 * KV
MOST, ROOM, BATCH_ROOM, PAGE = 4096, 8192, 1024, 256
BF16, DEV = torch.bfloat16, "cuda"
NATIVE = HERE / "../../crates/cuda/src/native"
SHAPE = dict(HIDDEN=HIDDEN, HEADS=HEADS, KV_HEADS=KV_HEADS, HEAD_DIM=DIM, INTER=INTER, VOCAB=VOCAB)
SHAPE |= dict(BLOCK_BYTES=64 * DIM, PAGE_BYTES=LAYERS * KV_HEADS * 2 * PAGE * 2 * DIM)
DEFINES = "".join(f"#define {k} {v}\n" for k, v in (SHAPE | dict(EPS="1e-6f", QK_NORM=1, QKV_BIAS=0)).items())
TEXTS = ("kv.cuh", "hopper.cuh", "prefill.cu", "broad.cu", "flash.cu", "batch.cu")
BROAD, STAGES = 256, 4


def words(*values):
    """A structure of words of 8 bytes."""
    return (ctypes.c_uint64 * len(values))(*[v.data_ptr() if isinstance(v, torch.Tensor) else v for v in values])


def random(*shape, scale=1.0):
    return (torch.randn(*shape, device=DEV) * scale).to(BF16)


def error(got, want):
    return float((got.double() - want.double()).norm() / want.double().norm())


def places(value):
    """`place` of prefill.cu for the 32 positions and all dims of a block."""
    at, d = torch.arange(32)[:, None], torch.arange(DIM)[None, :]
    tile, row = at >> 4, at & 15
    if not value:
        inside = ((row & 7) * 4 + ((d >> 2) & 3)) * 8 + ((d >> 1) & 1) * 4 + (row >> 3) * 2 + (d & 1)
        return (tile * 16 * DIM + (d >> 4) * 256 + inside).to(DEV)
    e = d & 15
    inside = ((e & 7) * 4 + ((row & 7) >> 1)) * 8 + (row >> 3) * 4 + (e >> 3) * 2 + (row & 1)
    return ((d >> 4) * 512 + tile * 256 + inside).to(DEV)


PLACES = [places(False), places(True)]


def cached(cache, layer, value):
    """Keys or values of a layer by positions, [KV_HEADS, positions, DIM]."""
    blocks = cache[:, layer, :, value].transpose(0, 1)
    return blocks[..., PLACES[value].reshape(-1)].reshape(KV_HEADS, cache.shape[0] * PAGE, DIM)


def table(*values):
    """32-bit words on the GPU, addresses as two of them."""
    out = []
    for v in values:
        out += [v.data_ptr() & 0xFFFFFFFF, v.data_ptr() >> 32] if isinstance(v, torch.Tensor) else [v]
    return torch.tensor([(v + 2**31) % 2**32 - 2**31 for v in out], dtype=torch.int32, device=DEV)


class Weights:
    def __init__(self):
        shapes = dict(qkv=(QKV, HIDDEN), o=(HIDDEN, Q), gate_up=(2 * INTER, HIDDEN), down=(HIDDEN, INTER))
        self.layers = [{n: random(*s, scale=s[1] ** -0.5) for n, s in shapes.items()} for _ in range(LAYERS)]
        self.maps = [{n: matrix(m, 64) for n, m in layer.items()} for layer in self.layers]
        for layer, maps in zip(self.layers, self.maps):
            dims, strides = [HIDDEN, 8, 2, INTER // 8], [HIDDEN * 2, INTER * HIDDEN * 2, 16 * HIDDEN]
            maps["wide"] = matrix(layer["gate_up"], 96)
            maps["paired"] = tensor_map(layer["gate_up"].data_ptr(), dims, strides, [64, 8, 2, 4])
        self.norms = 1 + 0.1 * torch.randn(LAYERS * 2 + 1, HIDDEN, device=DEV)
        self.head_norms = 1 + 0.1 * torch.randn(LAYERS, 2, DIM, device=DEV)
        self.embedding = random(VOCAB, HIDDEN)
        inverse = 1e6 ** (-torch.arange(0, DIM, 2, dtype=torch.float64, device=DEV) / DIM)
        self.angles = torch.arange(ROOM, dtype=torch.float64, device=DEV)[:, None] * inverse
        self.rope = torch.stack([self.angles.cos(), self.angles.sin()], -1).float().contiguous()

    def rotated(self, x, norm, positions):
        """Norm and RoPE of heads in float64."""
        x = x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * norm.double()
        c, s = self.angles[positions].cos()[:, None], self.angles[positions].sin()[:, None]
        a, b = x[..., : DIM // 2], x[..., DIM // 2 :]
        return torch.cat([a * c - b * s, b * c + a * s], -1)


def fills(rows, columns):
    """Whether tiles of 256 columns keep nine tenths of the multiprocessors busy, or more."""
    tiles = -(-rows // 128) * (columns // BROAD)
    return tiles / (-(-tiles // 132) * 132) >= 0.9


def laid(x):
    """The residual stream [rows, HIDDEN] as the kernels for prompts have it."""
    return x.view(-1, 2, 8, HIDDEN // 64, 8, 4, 2).permute(0, 3, 4, 2, 5, 1, 6).contiguous().view(len(x), HIDDEN)


def plain(x):
    """And back."""
    return x.view(-1, HIDDEN // 64, 8, 8, 4, 2, 2).permute(0, 5, 3, 1, 2, 4, 6).reshape(len(x), HIDDEN)


class Prompt:
    """The kernels of prefill.cu and flash.cu, as prefill.rs starts them."""

    def __init__(self, module, weights):
        self.module, self.w = module, weights
        half = lambda *shape: torch.zeros(*shape, dtype=BF16, device=DEV)
        self.x, self.squares = torch.zeros(MOST, HIDDEN, device=DEV), torch.zeros(MOST, HIDDEN // 64, device=DEV)
        self.y, self.q, self.att, self.product = half(MOST, HIDDEN), half(MOST, Q), half(MOST, Q), half(MOST, INTER)
        self.cache = half(ROOM // PAGE, LAYERS, KV_HEADS, 2, PAGE // 32, 32 * DIM)
        self.k, self.v = half(KV_HEADS * ROOM, DIM), half(KV_HEADS * ROOM, DIM)
        self.maps = {n: matrix(getattr(self, n), 64) for n in ("y", "q", "att", "product")}
        self.maps |= {n: matrix(getattr(self, n), 128) for n in "kv"}

    def chunk(self, start, count):
        return table(self.cache, start, count, ROOM, 0)

    def residual(self, index):
        return words(self.x, self.y, self.squares, self.w.norms[index])

    def norm(self, rows, chunk, last=0):
        self.module.start("rms_norm", (1 if last else rows,), 128, 0, self.residual(2 * LAYERS), chunk, last)

    def broad(self, name, rows, columns, *args):
        """The kernel whose blocks go through tiles of 256 columns."""
        tiles = -(-rows // 128) * (columns // BROAD)
        shared = (3 * 49152 + 65536 if name == "add" else STAGES * 49152) + 8 * 2048 + 1024
        self.module.start(f"broad_{name}", (min(132, tiles),), 384, shared, *args)

    def qkv(self, layer, rows, chunk, stages=3, broad=None):
        norms = self.w.head_norms[layer]
        heads = words(self.squares, 0, norms[0], norms[1], self.w.rope, self.q, self.k, self.v, layer)
        args = (self.maps["y"], self.w.maps[layer]["qkv"], heads, chunk)
        if fills(rows, QKV) if broad is None else broad:
            self.broad("qkv", rows, QKV, *args)
        else:
            self.module.start("multiply_qkv", (-(-rows // 128), QKV // 128), 288, stages * 32768 + 1024, *args, stages)

    def flash(self, rows, chunk, last=0, groups=None):
        tiles = -(-rows // 128)
        groups = groups or (1 if HEADS * tiles <= 132 else 2)
        maps = (self.maps["q"], self.maps["k"], self.maps["v"])
        blocks = (HEADS, 1 if last else tiles * 2 // groups)
        shared = 5 * 128 * DIM * 2 + 1024
        self.module.start("flash", blocks, 128 * (groups + 1), shared, *maps, self.att, chunk, last)

    def add(self, layer, name, rows, chunk, last=0, pair=None, broad=None):
        source, index = ("att", 2 * layer + 1) if name == "o" else ("product", 2 * layer + 2)
        tiles, depth = 1 if last else -(-rows // 128), self.w.layers[layer][name].shape[1]
        args = (self.maps[source], self.w.maps[layer][name], self.residual(index), chunk, depth)
        if (not last and fills(rows, HIDDEN)) if broad is None else broad:
            self.broad("add", rows, HIDDEN, *args)
            return
        # Columns of a tile that a pair of blocks shares, where there are multiprocessors for all blocks; 0: a block a tile.
        if pair is None:
            pair = next((n for n in (64, 128) if tiles * HIDDEN // n * 2 <= 132), 0)
        if pair:
            stages = 8 if pair == 64 else 5
            blocks, shared = (tiles, HIDDEN // pair * 2), stages * (128 + pair) * 128 + 1024
            self.module.start(f"multiply_pair_{pair}", blocks, 288, shared, *args, stages, last, cluster=(1, 2))
        else:
            self.module.start("multiply_add", (tiles, HIDDEN // 128), 288, 6 * 32768 + 1024, *args, 6, last)

    def gate_up(self, layer, rows, chunk, last=0, wide=None, broad=None):
        if (not last and fills(rows, 2 * INTER)) if broad is None else broad:
            maps = (self.maps["y"], self.w.maps[layer]["gate_up"])
            self.broad("gate_up", rows, 2 * INTER, *maps, self.squares, self.product, chunk)
            return
        tiles = 1 if last else -(-rows // 128)
        wide = tiles * INTER // 64 > 132 >= tiles * INTER // 96 if wide is None else wide
        args = (self.squares, self.product, chunk)
        if wide:
            maps = (self.maps["y"], self.w.maps[layer]["wide"])
            self.module.start("multiply_gate_up_wide", (tiles, INTER // 96), 288, 5 * 40960 + 1024, *maps, *args, 5, last)
        else:
            maps = (self.maps["y"], self.w.maps[layer]["gate_up"])
            self.module.start("multiply_gate_up", (tiles, INTER // 64), 288, 3 * 32768 + 1024, *maps, *args, 3, last)

    def run(self, rows, chunk, tokens):
        args = (tokens, self.w.embedding, self.residual(0), chunk)
        self.module.start("embed", (rows,), 256, 0, *args, early=False)
        for layer in range(LAYERS):
            last = int(layer + 1 == LAYERS)
            self.qkv(layer, rows, chunk, 6 if rows <= 512 else 3)
            self.flash(rows, chunk, last)
            self.add(layer, "o", rows, chunk, last)
            self.gate_up(layer, rows, chunk, last)
            self.add(layer, "down", rows, chunk, last)
        self.norm(rows, chunk, 1)


class Batch:
    """The kernels of batch.cu, as batch.rs starts them."""

    def __init__(self, module, weights):
        self.module, self.w = module, weights
        half = lambda *shape: torch.zeros(*shape, dtype=BF16, device=DEV)
        self.caches = [random(BATCH_ROOM // PAGE, LAYERS, KV_HEADS, 2, PAGE // 32, 32 * DIM) for _ in range(32)]
        self.x, self.squares = torch.zeros(32, HIDDEN, device=DEV), torch.zeros(32, HIDDEN // 8, device=DEV)
        self.y, self.att, self.product = half(32, HIDDEN), half(32, Q), half(32, INTER)
        self.q, self.parts = torch.zeros(32, Q, device=DEV), torch.zeros(32 * KV_HEADS * 8 * 2 * (DIM + 2), device=DEV)
        self.arrived = torch.zeros(32 * (KV_HEADS + 1), dtype=torch.int32, device=DEV)
        self.tokens = torch.randint(0, VOCAB, (32,), device=DEV, dtype=torch.int32)
        self.logits, self.best = torch.zeros(32, VOCAB, device=DEV), torch.zeros(32 * 32, dtype=torch.int64, device=DEV)
        self.out = torch.zeros(16, 32, dtype=torch.int32, device=DEV)
        sources = dict(y=self.y, att=self.att, product=self.product)
        self.maps = {r: {n: matrix(m, r) for n, m in sources.items()} for r in (8, 16, 32)}
        self.head = matrix(weights.embedding, 64)

    def rows(self, positions):
        return table(*[v for c, p in zip(self.caches, positions) for v in (c, p, 0)])

    def stream(self, gain):
        return words(self.x, gain, self.y, self.squares)

    def start(self, name, size, blocks, tall, stages, *args, cluster=1):
        shared = 1024 + max(stages * (tall * 8192 + size * 128), size * (64 * tall + 4) * 4)
        self.module.start(f"{name}_{size}", blocks, 256, shared, *args, cluster=(1, cluster))

    def qkv(self, size, layer, rows, count):
        norms = self.w.head_norms[layer]
        rotate = words(self.squares, 0, norms[0], norms[1], self.w.rope, self.q, rows, layer | count << 32)
        args = (self.maps[size]["y"], self.w.maps[layer]["qkv"], rotate, 4)
        self.start("qkv_rows", size, (QKV // 128, 4), 2, 4, *args, cluster=4)

    def attend(self, layer, rows, count, blocks=396):
        args = (self.q, rows, self.parts, self.arrived, self.att, layer, count, 8)
        self.module.start("attend_rows", (blocks,), 160, 4 * 128 * DIM + 128, *args)

    def add(self, size, layer, name, gain, count):
        source = "att" if name == "o" else "product"
        depth = self.w.layers[layer][name].shape[1]
        args = (self.maps[size][source], self.w.maps[layer][name], self.stream(gain), depth, 8, count)
        self.start("add_rows", size, (HIDDEN // 64, 8), 1, 8, *args, cluster=8)

    def gate_up(self, size, layer):
        args = (self.maps[size]["y"], self.w.maps[layer]["paired"], self.squares, self.product, 8)
        self.start("gate_up_rows", size, (INTER // 32, 1), 1, 8, *args)

    def run(self, rows, count, only="qaogdh"):
        size, norms = size_of(count), self.w.norms
        first = (self.tokens, self.w.embedding, self.stream(norms[0]))
        self.module.start("embed_rows", (count,), 256, 0, *first, early=False)
        for layer in range(LAYERS):
            if "q" in only:
                self.qkv(size, layer, rows, count)
            if "a" in only:
                self.attend(layer, rows, count)
            if "o" in only:
                self.add(size, layer, "o", norms[2 * layer + 1], count)
            if "g" in only:
                self.gate_up(size, layer)
            if "d" in only:
                self.add(size, layer, "down", norms[2 * layer + 2], count)
        if "h" in only:
            self.start("head_rows", size, (264,), 1, 8, self.maps[size]["y"], self.head, self.squares, self.logits, 8, 0)
            args = (self.logits, self.best, self.arrived[32 * KV_HEADS :], self.tokens, self.out, rows)
            self.module.start("choose", (32, count), 256, 0, *args)


def size_of(count):
    return 8 if count <= 8 else 16 if count <= 16 else 32


def check_add(p):
    w, pieces = p.w, lambda x: (x * x).view(len(x), -1, 64).sum(-1)
    for name, source, index in (("o", p.att, 1), ("down", p.product, 2)):
        for rows in (1, 63, 64, 65, 511, 513, 2049):
            source.copy_(random(*source.shape, scale=0.5))
            before, chunk, seen = torch.randn(MOST, HIDDEN, device=DEV), p.chunk(0, rows), None
            want = before[:rows].double() + source[:rows].double() @ w.layers[0][name].double().T
            for pair, last, broad in [(p, l, False) for p in (0, 64, 128) for l in (0, 1)] + [(0, 0, True)]:
                p.x.copy_(laid(before))
                p.y.fill_(math.nan), p.squares.fill_(math.nan)
                p.add(0, name, rows, chunk, last, pair, broad)
                first = (rows - 1) // 128 * 128 if last else 0
                at, exact = slice(first, rows), want[first:]
                x = plain(p.x)
                assert error(x[at], exact) < 1e-5 and error(p.squares[at], pieces(exact)) < 1e-5
                assert error(p.y[at], exact * w.norms[index]) < 4e-3
                for buffer in (p.y, p.squares):
                    assert buffer[rows:].isnan().all()
                assert torch.equal(x[:first], before[:first]) and p.y[:first].isnan().all()
                seen = [m[:rows].clone() for m in (x, p.y, p.squares)] if seen is None else seen
                assert all(torch.equal(m[at], s[at]) for m, s in zip((x, p.y, p.squares), seen)), "bits depend on the tile"
    tokens, chunk = torch.randint(0, VOCAB, (MOST,), device=DEV, dtype=torch.int32), p.chunk(0, 77)
    for buffer in (p.x, p.y, p.squares):
        buffer.fill_(math.nan)
    p.module.start("embed", (128,), 256, 0, tokens, w.embedding, p.residual(3), chunk, early=False)
    want = w.embedding[tokens[:77].long()].double()
    assert torch.equal(plain(p.x)[:77].double(), want) and error(p.y[:77], want * w.norms[3]) < 4e-3
    assert error(p.squares[:77], pieces(want)) < 1e-6 and plain(p.x)[77:].isnan().all() and p.squares[77:].isnan().all()
    p.norm(77, chunk)
    assert error(p.y[:77], want * torch.rsqrt((want * want).mean(-1, keepdim=True) + 1e-6) * w.norms[-1]) < 4e-3


def check_prompt(p):
    w = p.w
    for rows, start in ((1, 0), (65, 37), (513, 600), (250, 48), (2049, 0)):
        p.y.copy_(random(MOST, HIDDEN))
        p.squares.copy_(torch.rand_like(p.squares) * 99)
        for buffer in (p.q, p.product):
            buffer.fill_(math.nan)
        for buffer in (p.k, p.v, p.cache):
            buffer.zero_()
        chunk, at = p.chunk(start, rows), slice(start, start + rows)
        p.qkv(3, rows, chunk, broad=False)
        seen = [m.clone() for m in (p.q[:rows], p.k, p.v, p.cache)]
        for m in seen[1:]:
            assert not m.isnan().any()
        p.q.fill_(math.nan), p.k.zero_(), p.v.zero_(), p.cache.zero_()
        p.qkv(3, rows, chunk, broad=True)
        assert all(torch.equal(a, b) for a, b in zip(seen, (p.q[:rows], p.k, p.v, p.cache))), "bits depend on the tile"
        assert p.q[rows:].isnan().all()
        y = p.y[:rows].double() * torch.rsqrt(p.squares[:rows].double().sum(-1, keepdim=True) / HIDDEN + 1e-6)
        q, k, v = (y @ w.layers[3]["qkv"].double().T).split([Q, KV, KV], 1)
        keys, values = p.k.view(KV_HEADS, ROOM, DIM), p.v.view(KV_HEADS, ROOM, DIM)
        scale = DIM**-0.5 * math.log2(math.e)
        want_q = w.rotated(q.view(rows, HEADS, DIM), w.head_norms[3, 0], at) * scale
        want_k = w.rotated(k.view(rows, KV_HEADS, DIM), w.head_norms[3, 1], at)
        assert error(p.q[:rows].view(rows, HEADS, DIM), want_q) < 4e-3 and error(keys[:, at].transpose(0, 1), want_k) < 4e-3
        assert error(values[:, at].transpose(0, 1), v.view(rows, KV_HEADS, DIM)) < 4e-3
        assert torch.equal(cached(p.cache, 3, 0)[:, at], keys[:, at])
        assert torch.equal(cached(p.cache, 3, 1)[:, at], values[:, at])
        gate, up = (y @ w.layers[3]["gate_up"].double().T).split(INTER, 1)
        products = []
        for wide, broad in ((False, False), (True, False), (False, True)):
            p.product.fill_(math.nan)
            p.gate_up(3, rows, chunk, 0, wide, broad)
            assert error(p.product[:rows], torch.nn.functional.silu(gate) * up) < 4e-3 and p.product[rows:].isnan().all()
            products.append(p.product[:rows].clone())
        assert all(torch.equal(products[0], m) for m in products), "bits depend on the tile"
        copies = p.k.clone(), p.v.clone()
        p.k.zero_(), p.v.zero_()
        p.module.start("recall", (528,), 256, 0, p.chunk(start + rows, 5), p.k, p.v, 3)
        assert torch.equal(p.k, copies[0]) and torch.equal(p.v, copies[1])


def check_flash(p):
    for rows, start in ((1, 0), (1, 300), (63, 0), (65, 37), (513, 600), (2049, 0), (1500, 2500)):
        for buffer, scale in ((p.q, 0.6), (p.k, 1), (p.v, 1)):
            buffer.copy_(random(*buffer.shape, scale=scale))
        p.att.fill_(math.nan)
        p.flash(rows, p.chunk(start, rows))
        length = start + rows
        keys, values = p.k.view(KV_HEADS, ROOM, DIM)[:, :length], p.v.view(KV_HEADS, ROOM, DIM)[:, :length]
        wide = lambda m: m.double().repeat_interleave(HEADS // KV_HEADS, 0)
        scores = torch.einsum("mhd,hnd->hmn", p.q[:rows].view(rows, HEADS, DIM).double(), wide(keys)) * math.log(2)
        later = torch.arange(length, device=DEV)[None] > start + torch.arange(rows, device=DEV)[:, None]
        weights = scores.masked_fill(later, -math.inf).softmax(-1)
        want = torch.einsum("hmn,hnd->mhd", weights, wide(values)).reshape(rows, Q)
        whole, queries, at = p.att[:rows].clone(), p.q[:rows].clone(), 0
        assert error(whole, want) < 4e-3
        for groups in (1, 2):
            p.att.fill_(math.nan)
            p.flash(rows, p.chunk(start, rows), 0, groups)
            assert torch.equal(p.att[:rows], whole)
        for count in (1, 63, 200, 5000):
            count = min(count, rows - at)
            if count > 0:
                p.q[:count] = queries[at : at + count]
                p.att.fill_(math.nan)
                p.flash(count, p.chunk(start + at, count))
                assert torch.equal(p.att[:count], whole[at : at + count])
                at += count


def check_batch(b):
    w = b.w
    for count in (1, 3, 8, 13, 32):
        seen, positions = [], [37 * i * i % 1024 for i in range(count)]
        before, product = torch.randn(32, HIDDEN, device=DEV), random(32, INTER)
        for size in (s for s in (8, 16, 32) if s >= count):
            rows, kept = b.rows(positions), [c[:, 4].clone() for c in b.caches[:count]]
            b.x.copy_(before), b.product.copy_(product)
            for buffer in (b.y, b.squares, b.q):
                buffer.fill_(math.nan)
            b.add(size, 2, "down", w.norms[5], count)
            want = before[:count].double() + product[:count].double() @ w.layers[2]["down"].double().T
            assert error(b.x[:count], want) < 1e-5 and torch.equal(b.x[count:], before[count:])
            assert error(b.y[:count], want * w.norms[5]) < 4e-3
            assert error(b.squares[:count].sum(-1), (want * want).sum(-1)) < 1e-5
            b.qkv(size, 4, rows, count)
            b.product.fill_(math.nan)
            b.gate_up(size, 3)
            y = b.y[:count].double() * torch.rsqrt((want * want).mean(-1, keepdim=True) + 1e-6)
            q, k, v = (y @ w.layers[4]["qkv"].double().T).split([Q, KV, KV], 1)
            pick = lambda value: torch.stack([cached(c, 4, value)[:, p] for c, p in zip(b.caches, positions)])
            keys, values, scale = pick(0), pick(1), DIM**-0.5 * math.log2(math.e)
            want_q = w.rotated(q.view(count, HEADS, DIM), w.head_norms[4, 0], positions) * scale
            assert error(b.q[:count].view(count, HEADS, DIM), want_q) < 1e-5
            want_k = w.rotated(k.view(count, KV_HEADS, DIM), w.head_norms[4, 1], positions)
            assert error(keys, want_k) < 4e-3 and error(values, v.view(count, KV_HEADS, DIM)) < 4e-3
            assert sum(int((c[:, 4] != k).sum()) for c, k in zip(b.caches, kept)) <= count * 2 * KV
            gate, up = (y @ w.layers[3]["gate_up"].double().T).split(INTER, 1)
            assert error(b.product[:count], torch.nn.functional.silu(gate) * up) < 4e-3
            parts = (b.x, b.y, b.squares, b.q, b.product)
            seen.append(torch.cat([t[:count].float().flatten() for t in parts] + [keys.float().flatten(), values.float().flatten()]))
        assert all(torch.equal(seen[0], s) for s in seen), "bits depend on the number of rows"
    positions = [0, 15, 127, 128, 613, 735, 736, 767, 768, 1023]
    rows, results = b.rows(positions), []
    b.q.normal_().mul_(0.3)
    for blocks in (396, 7, 132):
        b.att.fill_(math.nan), b.parts.fill_(math.nan)
        b.attend(3, rows, len(positions), blocks)
        results.append(b.att[: len(positions)].clone())
    assert all(torch.equal(results[0], r) for r in results)
    for row, position in enumerate(positions):
        wide = lambda value: cached(b.caches[row], 3, value)[:, : position + 1].double().repeat_interleave(HEADS // KV_HEADS, 0)
        scores = torch.einsum("hd,hnd->hn", b.q[row].view(HEADS, DIM).double(), wide(0)) * math.log(2)
        assert error(results[0][row], torch.einsum("hn,hnd->hd", scores.softmax(-1), wide(1)).reshape(Q)) < 4e-3


def a_layer(body):
    """Median microseconds of one of a recorded chain of `body` for every layer."""
    return time_graph(graph(lambda: [body(layer) for layer in range(LAYERS)]))[0] / LAYERS * 1e3


def time_prompts(p):
    tokens = torch.randint(0, VOCAB, (MOST,), device=DEV, dtype=torch.int32)
    for rows in (512, 1024, 2048, 4096):
        chunk, w = p.chunk(0, rows), p.w.layers
        print("prompt of %d: %.3f ms (%.3f to %.3f)" % (rows, *time_graph(graph(lambda: p.run(rows, chunk, tokens)))))
        y, att, product = p.y[:rows], p.att[:rows], p.product[:rows]
        heads = lambda m: m.view(KV_HEADS, ROOM, DIM)[:, :rows].repeat_interleave(HEADS // KV_HEADS, 0)[None]
        q, k, v = p.q[:rows].view(1, rows, HEADS, DIM).transpose(1, 2), heads(p.k), heads(p.v)
        attention = torch.nn.functional.scaled_dot_product_attention
        broad = [a_layer(body) for body in (
            lambda l: p.qkv(l, rows, chunk, broad=True), lambda l: p.add(l, "o", rows, chunk, broad=True),
            lambda l: p.gate_up(l, rows, chunk, broad=True), lambda l: p.add(l, "down", rows, chunk, broad=True))]
        print("  broad: qkv %.1f, o %.1f, gate_up %.1f, down %.1f us" % tuple(broad))
        pairs = dict(
            qkv=(QKV * HIDDEN, lambda l: p.qkv(l, rows, chunk, 6 if rows <= 512 else 3, False), lambda l: y @ w[l]["qkv"].T),
            o=(Q * HIDDEN, lambda l: p.add(l, "o", rows, chunk, broad=False), lambda l: att @ w[l]["o"].T),
            gate_up=(2 * INTER * HIDDEN, lambda l: p.gate_up(l, rows, chunk, broad=False), lambda l: y @ w[l]["gate_up"].T),
            down=(INTER * HIDDEN, lambda l: p.add(l, "down", rows, chunk, broad=False), lambda l: product @ w[l]["down"].T),
            attention=(rows * Q, lambda l: p.flash(rows, chunk), lambda l: attention(q, k, v, is_causal=True)),
        )
        for name, (work, ours, theirs) in pairs.items():
            a, b = a_layer(ours), a_layer(theirs)
            rate = lambda t: 2 * rows * work / t / 1e6
            print(f"  {name}: {a:.1f} us, {rate(a):.0f} TFLOP/s; torch {b:.1f} us, {rate(b):.0f}")


def time_batches(b):
    for count in (2, 8, 32):
        rows = b.rows([512] * count)
        step = graph(lambda: b.run(rows, count))
        rows.copy_(b.rows([512] * count))
        median, least, most = time_graph(step)
        print(f"step of {count}: {median:.3f} ms ({least:.3f} to {most:.3f}), {count / median * 1e3:.0f} tok/s")
        position = int(rows[3])
        step.replay()
        torch.cuda.synchronize()
        assert torch.equal(b.logits[:count].argmax(-1).int(), b.out[position % 16, :count])
        for part in "qaogd":
            rows.copy_(b.rows([512] * count))
            print(f"  {part}: {time_graph(graph(lambda: b.run(rows, count, part)))[0] / LAYERS * 1e3:.1f} us")


def main():
    module = Module(DEFINES + "".join((NATIVE / name).read_text() for name in TEXTS))
    weights = Weights()
    prompt, batch = Prompt(module, weights), Batch(module, weights)
    for check, what in ((check_add, prompt), (check_prompt, prompt), (check_flash, prompt), (check_batch, batch)):
        check(what)
        print(f"{check.__name__}: agrees with float64")
    time_prompts(prompt)
    time_batches(batch)


if __name__ == "__main__":
    main()
