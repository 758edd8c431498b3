"""Checks the persistent decoder of crates/cuda against float64 on random weights of a model's shape, then times it.

Needs a Hopper GPU, torch and cuda-python. `python decode.py [DEFINES ...]`, each a comma-separated list such as
`FLY=3,INT8=1`: each is checked, then timed. SHAPE names one of the shapes below, at first that of Qwen3-0.6B.
"""

import ctypes
import math
import os
import statistics
import sys

import torch

from gpu import HERE, compiled, function, launch

# Layers, hidden size, heads, width of the MLP, whether the head is a matrix of its own, chunks of the ring.
SHAPES = {
    "0.6b": (28, 1024, 16, 3072, False, 24),
    "1.7b": (28, 2048, 16, 6144, False, 22),
    "4b": (36, 2560, 32, 9728, False, 22),
    "8b": (36, 4096, 32, 12288, True, 20),
    "layers": (2, 1024, 16, 3072, False, 24),
}
SHAPE = os.environ.get("SHAPE", "0.6b")
LAYERS, HIDDEN, HEADS, INTER, UNTIED, SLOTS = SHAPES[SHAPE]
KV_HEADS, HEAD, VOCAB = 8, 128, 4096 if SHAPE == "layers" else 151936
WORKERS, CHUNK, POSITIONS, WARPS = 128, 8192, 8192, 8
GROUP, MEMBERS = HEADS // KV_HEADS, WORKERS // KV_HEADS
DEADLINE_NS = 2_000_000_000
TIMED = (1, 128, 512, 1024, 4096)
# Rows of gate and up of a worker, with rows of zeros.
MID_ROWS = -(-INTER // WORKERS // 8) * 8
# Steps of 128 columns, and tiles of 16 rows, of a worker's part of each matrix.
STAGES = [((GROUP + 2) * HEAD // MEMBERS // 16, HIDDEN // 128), (HIDDEN // MEMBERS // 16, GROUP * HEAD // 128)]
STAGES += [(MID_ROWS // 8, HIDDEN // 128), (HIDDEN // MEMBERS // 16, MID_ROWS * MEMBERS // 128)]
STAGES += [(-(-VOCAB // 16 // WORKERS), HIDDEN // 128)]
XS_WORDS = max(steps for _, steps in STAGES) * 16 + 8


def shared(slots):
    return slots * CHUNK + (2 * 264 + GROUP * HEAD + XS_WORDS) * WARPS * 4 + 2048 + 9 * GROUP * HEAD


BF16 = torch.bfloat16


class Params(ctypes.Structure):
    """`Params` of prelude.cuh."""

    _fields_ = [(n, ctypes.c_void_p) for n in ["tape"]] + [("tape_stride", ctypes.c_uint64), ("scales", ctypes.c_void_p), ("scale_stride", ctypes.c_uint64)]
    _fields_ += [(n, ctypes.c_void_p) for n in ["embedding", "norms", "head_norms", "rope", "kv"]]
    _fields_ += [(n, ctypes.c_void_p) for n in ["link", "forced", "out", "logits", "abort_word"]]
    _fields_ += [(n, ctypes.c_uint32) for n in ["position", "steps", "epoch", "fault"]]
    _fields_ += [("ends", ctypes.c_int * 8), ("deadline_ns", ctypes.c_uint64)]


def random_matrix(rows, cols):
    return (torch.randn(rows, cols, device="cuda") / math.sqrt(cols)).to(BF16)


def address(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class Model:
    def __init__(self):
        torch.manual_seed(1)
        kv, q = KV_HEADS * HEAD, HEADS * HEAD
        shapes = dict(q=(q, HIDDEN), k=(kv, HIDDEN), v=(kv, HIDDEN), o=(HIDDEN, q))
        shapes |= dict(gate=(INTER, HIDDEN), up=(INTER, HIDDEN), down=(HIDDEN, INTER))
        self.embedding = (torch.randn(VOCAB, HIDDEN, device="cuda") * 0.5).to(BF16)
        self.head = random_matrix(VOCAB, HIDDEN) if UNTIED else self.embedding
        self.layers = [{name: random_matrix(*shape) for name, shape in shapes.items()} for _ in range(LAYERS)]
        near_one = lambda *shape: (1 + 0.1 * torch.randn(*shape, device="cuda")).to(BF16).float()
        self.norms, self.head_norms = near_one(LAYERS * 2 + 1, HIDDEN), near_one(LAYERS, 2, HEAD)
        inverse = 1e6 ** (-torch.arange(0, HEAD, 2, dtype=torch.float64, device="cuda") / HEAD)
        angles = torch.arange(POSITIONS, dtype=torch.float64, device="cuda")[:, None] * inverse
        self.rope = torch.stack([angles.cos(), angles.sin()], -1).float().contiguous()
    def matrices(self):
        """As the decoder reads them, by layer and stage, then the head."""
        for w in self.layers:
            yield 0, torch.cat([w["q"], w["k"], w["v"]])
            yield 1, w["o"]
            yield 2, torch.cat([w["gate"], w["up"]])
            yield 3, w["down"]
        yield 4, self.head

    def rounded(self, matrix, int8):
        """What the decoder multiplies with."""
        if not int8:
            return matrix
        w = matrix.float().view(matrix.shape[0], -1, 128)
        scale = w.abs().amax(2, keepdim=True) / 127
        scale = ((scale.view(torch.int32) + 0xFFFF) & ~0xFFFF).view(torch.float32)
        return ((w * (1 / scale)).round().double() * scale.double()).view(matrix.shape)

    def forward(self, ids, dtype, round_kv, int8=False):
        """Logits of every position, everything in `dtype`."""
        n, x = len(ids), self.embedding[ids].to(dtype)
        cos, sin = (self.rope[:n, None, :, i].to(dtype) for i in (0, 1))
        wide = torch.float64 if dtype == torch.float64 else torch.float32

        def norm(y, weight):
            y = y.to(wide)
            return (y * torch.rsqrt((y * y).mean(-1, keepdim=True) + 1e-6)).to(dtype) * weight.to(dtype)

        def rotate(y):
            a, b = y.chunk(2, -1)
            return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

        causal = torch.tril(torch.ones(n, n, device="cuda", dtype=torch.bool))
        for i, w in enumerate(self.layers):
            product = lambda y, name: y @ self.rounded(w[name], int8).to(dtype).T
            h = norm(x, self.norms[2 * i])
            q = rotate(norm(product(h, "q").view(n, HEADS, HEAD), self.head_norms[i, 0]))
            k = rotate(norm(product(h, "k").view(n, KV_HEADS, HEAD), self.head_norms[i, 1]))
            v = product(h, "v").view(n, KV_HEADS, HEAD)
            if round_kv:
                k, v = k.to(BF16).to(dtype), v.to(BF16).to(dtype)
            k, v = k.repeat_interleave(GROUP, 1), v.repeat_interleave(GROUP, 1)
            scores = torch.einsum("qhd,khd->hqk", q, k) / math.sqrt(HEAD)
            weights = scores.masked_fill(~causal, float("-inf")).softmax(-1)
            x = x + product(torch.einsum("hqk,khd->qhd", weights, v).reshape(n, -1), "o")
            h = norm(x, self.norms[2 * i + 1])
            x = x + product(torch.nn.functional.silu(product(h, "gate")) * product(h, "up"), "down")
        return (norm(x, self.norms[-1]) @ self.rounded(self.head, int8).to(dtype).T).double()


class Tape:
    """The weights of a model as the kernels of `cubin` pack them."""

    def __init__(self, model, cubin, int8):
        units = [tiles * steps // (2 if int8 else 1) // 2 for tiles, steps in STAGES]
        pairs = [tiles * steps * 8 for tiles, steps in STAGES]
        self.stride = (LAYERS * sum(units[:4]) + units[4]) * CHUNK
        self.scale_stride = LAYERS * sum(pairs[:4]) + pairs[4] + 8 * HIDDEN
        self.tape = torch.zeros(WORKERS * self.stride, dtype=torch.uint8, device="cuda")
        self.scales = torch.zeros(WORKERS * self.scale_stride, dtype=torch.int32, device="cuda")
        pack, u32, u64 = function(cubin, "pack"), ctypes.c_uint32, ctypes.c_uint64
        chunk = pair = 0
        for kind, matrix in model.matrices():
            columns, (tiles, steps) = matrix.shape[1], STAGES[kind]
            shape = [u32(kind), u32(columns), u32(tiles), u32(steps)]
            source = matrix
            if int8:
                matrix = matrix.clone()  # rounded in its place
                source = torch.empty(matrix.shape, dtype=torch.int8, device="cuda")
                scales = torch.empty(matrix.numel() // 128, dtype=torch.int16, device="cuda")
                arguments = [address(matrix), address(source), address(scales), u64(scales.numel())]
                launch(function(cubin, "quantise"), -(-scales.numel() // 8), 256, 0, arguments, together=False)
                arguments = [address(scales), address(self.scales), u64(self.scale_stride), u32(pair)] + shape
                blocks = (-(-pairs[kind] // 256), WORKERS)
                launch(function(cubin, "pack_scales"), blocks, 256, 0, arguments, together=False)
            arguments = [address(source), address(self.tape), u64(self.stride), u32(chunk)] + shape
            launch(pack, (-(-units[kind] // 2), WORKERS), 1024, 0, arguments, together=False)
            chunk, pair = chunk + units[kind], pair + pairs[kind]


class Session:
    """Exchange buffers and a KV cache; `fill` makes the cache as if positions had been written."""

    def __init__(self, model, tape, kernel, slots, fill=False):
        words = (HEADS + 2 * KV_HEADS) * HEAD // 2 + WORKERS * (GROUP * (HEAD // 2 + 2)) + MID_ROWS * WORKERS // 2 + 4 * HIDDEN + 2 * WORKERS
        self.model, self.tape, self.kernel, self.shared, self.epoch = model, tape, kernel, shared(slots), 1
        self.kv = torch.zeros(LAYERS * KV_HEADS * POSITIONS * 2 * HEAD, dtype=BF16, device="cuda")
        if fill:
            self.kv.normal_()
        self.link = torch.zeros(words, dtype=torch.int64, device="cuda")
        self.abort = torch.zeros(8, dtype=torch.int32, device="cuda")

    def run(self, position, steps, forced, logits=False):
        m, at = self.model, lambda t: t.data_ptr()
        feed = torch.full((steps,), -1, dtype=torch.int32, device="cuda")
        feed[: len(forced)] = torch.tensor(forced, dtype=torch.int32)
        out = torch.full((steps,), -7, dtype=torch.int32, device="cuda")
        rows = torch.full((steps, VOCAB), float("nan"), device="cuda") if logits else None
        self.link[-4 * HIDDEN - 2 * WORKERS : -2 * WORKERS].zero_()
        params = Params(at(self.tape.tape), self.tape.stride, at(self.tape.scales), self.tape.scale_stride, at(m.embedding), at(m.norms), at(m.head_norms), at(m.rope),
                        at(self.kv), at(self.link), at(feed), at(out),
                        at(rows) if logits else None, at(self.abort), position, steps, self.epoch, 0,
                        (ctypes.c_int * 8)(*[-1] * 8), DEADLINE_NS)
        time = launch(self.kernel, WORKERS, WARPS * 32 + 128, self.shared, [params])
        self.epoch = self.epoch + steps * (LAYERS + 1)
        if self.abort[0]:
            raise SystemExit(f"gave up waiting: {self.abort.tolist()}")
        return out, rows, time


class Truth:
    """What a float64 forward, one with a bf16 cache and a bf16 forward of torch say of forced tokens."""

    def __init__(self, model, int8):
        self.ids = torch.randint(0, VOCAB, (330,), generator=torch.Generator().manual_seed(2)).tolist()
        self.exact = model.forward(self.ids, torch.float64, False, int8)
        self.cache = model.forward(self.ids, torch.float64, True, int8)
        self.plain = model.forward(self.ids, BF16, False, int8)

    def error(self, logits, rows):
        exact = self.exact[rows]
        return ((logits[rows] - exact).pow(2).mean().sqrt() / exact.std()).item()


def check(session, truth):
    """Positions of both ways to attend, in one launch and in several; whether all is right."""
    ids = truth.ids
    out, logits, _ = session().run(0, len(ids), ids, True)
    _, again, _ = session().run(0, len(ids), ids, True)
    good = True
    for rows in (slice(0, 128), slice(128, 330)):
        ours, of_cache, of_torch = (truth.error(v.double(), rows) for v in (logits, truth.cache, truth.plain))
        print(f"rows {rows.start} to {rows.stop}: relative RMS error of the logits {ours:.2e}; of a bf16 cache alone "
              f"{of_cache:.2e}; of bf16 torch {of_torch:.2e}")
        good = good and ours <= of_torch
    one, pieces = session(), range(0, 330, 110)
    split = torch.cat([one.run(at, 110, ids[at : at + 110], True)[1] for at in pieces])
    same, chosen = torch.equal(logits, again), torch.equal(out.long(), logits.argmax(1))
    print(f"two runs equal: {same}; in three launches equal: {torch.equal(split, logits)}; "
          f"chosen token is the greatest: {chosen}", flush=True)
    return good and same and chosen and torch.equal(split, logits)


def page_bytes():
    """Bytes of a page of 256 positions, one behind the other."""
    return LAYERS * KV_HEADS * 2 * 8 * CHUNK


def text():
    """The decoder's kernels for this shape."""
    native = HERE.parent.parent / "crates/cuda/src/native"
    shape = dict(LAYERS=LAYERS, HIDDEN=HIDDEN, HEADS=HEADS, KV_HEADS=KV_HEADS, INTER=INTER, VOCAB=VOCAB, EPS="1e-6f")
    shape |= dict(BLOCK_BYTES=CHUNK, PAGE_BYTES=page_bytes())
    constants = "".join(f"#define {name} {value}\n" for name, value in shape.items())
    files = ("kv.cuh", "prelude.cuh", "pack.cu", "worker.cuh", "attend.cuh", "decode.cu")
    return constants + "".join((native / file).read_text() for file in files)


def main(variants, build=lambda defines: compiled(text(), defines)):
    model, tapes, truths = Model(), {}, {}
    for variant in variants:
        defines = [d for d in variant.split(",") if d]
        facts = {"SLOTS": SLOTS} | dict(d.split("=") for d in defines)
        int8, slots = int(facts.get("INT8", 0)), int(facts["SLOTS"])
        cubin = build([f"{name}={value}" for name, value in facts.items()])
        if int8 not in tapes:
            tapes[int8], truths[int8] = Tape(model, cubin, int8), Truth(model, int8)
        kernel = function(cubin, "decode", shared(slots))
        session = lambda fill=False: Session(model, tapes[int8], kernel, slots, fill)
        print(variant or "as it is", flush=True)
        if not check(session, truths[int8]):
            print("wrong: no times", flush=True)
            continue
        for position in TIMED:
            one = session(True)
            times = [one.run(position, 120, [5])[2] / 120 * 1000 for _ in range(6)][1:]
            each = [round(t) for t in times]
            print(f"  after {position}: {statistics.median(times):.0f} us a token, all {each}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or [""])
