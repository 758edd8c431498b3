"""Checks the persistent decoder of crates/cuda against float64 on random weights of the Qwen3-0.6B shape, then times it.

Needs a Hopper GPU, torch and cuda-python. `python decode.py [DEFINES ...]`, each a comma-separated list such as
`PRODUCERS=4,FLY=2`: the first is checked, all are timed.
"""

import ctypes
import math
import statistics
import sys

import torch

from gpu import HERE, function, launch

LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD, INTER, VOCAB = 28, 1024, 16, 8, 128, 3072, 151936
WORKERS, CHUNK, SLOTS, POSITIONS, WARPS = 128, 8192, 24, 8192, 8
GROUP = HEADS // KV_HEADS
SHARED = SLOTS * CHUNK + INTER * 4 + 2 * WARPS * 264 * 4 + 4096
BF16 = torch.bfloat16


class Params(ctypes.Structure):
    """`Params` of prelude.cuh."""

    _fields_ = [(n, ctypes.c_void_p) for n in ["tape"]] + [("tape_stride", ctypes.c_uint64)]
    _fields_ += [(n, ctypes.c_void_p) for n in ["embedding", "norms", "head_norms", "rope", "kv"]]
    _fields_ += [("kv_blocks", ctypes.c_uint64)]
    _fields_ += [(n, ctypes.c_void_p) for n in ["link", "forced", "out", "logits", "abort_word"]]
    _fields_ += [(n, ctypes.c_uint32) for n in ["position", "steps", "epoch", "fault"]]
    _fields_ += [("ends", ctypes.c_int * 8), ("deadline_ns", ctypes.c_uint64)]


def random_matrix(rows, cols):
    return (torch.randn(rows, cols, device="cuda") / math.sqrt(cols)).to(BF16)


def tiles(matrix):
    """Rows in tape order as chunks of 16 x 512 in the order the A fragments are read."""
    rows, cols = matrix.shape
    parts = matrix.view(rows // 16, 2, 8, cols // 256, WARPS, 2, 4, 2, 2)
    return parts.permute(0, 3, 4, 5, 2, 6, 7, 1, 8).contiguous().view(rows // 16, cols // 256 * 4096)


def split(matrix):
    """Eight rows a worker become a tile of sixteen: the same rows once for each half of the columns."""
    halves = matrix.view(WORKERS, 8, 2, -1)
    return torch.cat([halves[:, :, 0], halves[:, :, 1]], 1).reshape(WORKERS * 16, -1)


class Model:
    def __init__(self):
        torch.manual_seed(1)
        kv, q = KV_HEADS * HEAD, HEADS * HEAD
        shapes = dict(q=(q, HIDDEN), k=(kv, HIDDEN), v=(kv, HIDDEN), o=(HIDDEN, q))
        shapes |= dict(gate=(INTER, HIDDEN), up=(INTER, HIDDEN), down=(HIDDEN, INTER))
        self.embedding = (torch.randn(VOCAB, HIDDEN, device="cuda") * 0.5).to(BF16)
        self.layers = [{name: random_matrix(*shape) for name, shape in shapes.items()} for _ in range(LAYERS)]
        near_one = lambda *shape: (1 + 0.1 * torch.randn(*shape, device="cuda")).to(BF16).float()
        self.norms, self.head_norms = near_one(LAYERS * 2 + 1, HIDDEN), near_one(LAYERS, 2, HEAD)
        inverse = 1e6 ** (-torch.arange(0, HEAD, 2, dtype=torch.float64, device="cuda") / HEAD)
        angles = torch.arange(POSITIONS, dtype=torch.float64, device="cuda")[:, None] * inverse
        self.rope = torch.stack([angles.cos(), angles.sin()], -1).float().contiguous()
        self.tape = self.pack()

    def pack(self):
        parts = []
        for w in self.layers:
            heads = [w[n].view(KV_HEADS, -1, HIDDEN) for n in "qkv"]
            qkv = torch.cat(heads, 1).reshape(-1, HIDDEN)
            gate_up = torch.stack([w["gate"], w["up"]], 1).reshape(-1, HIDDEN)
            parts += [tiles(m).view(WORKERS, -1) for m in (qkv, split(w["o"]), gate_up, split(w["down"]))]
        body, head, count = torch.cat(parts, 1), tiles(self.embedding), VOCAB // 16
        most = -(-count // WORKERS)
        tape = torch.zeros(WORKERS, body.shape[1] + most * head.shape[1], dtype=BF16, device="cuda")
        tape[:, : body.shape[1]] = body
        for worker in range(WORKERS):
            own = head[count * worker // WORKERS : count * (worker + 1) // WORKERS].reshape(-1)
            tape[worker, body.shape[1] : body.shape[1] + own.numel()] = own
        return tape

    def forward(self, ids, dtype, round_kv):
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
            product = lambda y, name: y @ w[name].to(dtype).T
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
        return (norm(x, self.norms[-1]) @ self.embedding.to(dtype).T).double()


class Session:
    """Exchange buffers and a KV cache; `fill` makes the cache as if positions had been written."""

    def __init__(self, model, kernel, fill=False):
        qkv = (HEADS + 2 * KV_HEADS) * HEAD // 2
        words = qkv + WORKERS * GROUP * (HEAD + 2) + HEADS * HEAD // 2 + HIDDEN + INTER // 2 + WORKERS * 2
        self.model, self.kernel, self.epoch = model, kernel, 1
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
        params = Params(at(m.tape), m.tape.shape[1] * 2, at(m.embedding), at(m.norms), at(m.head_norms), at(m.rope),
                        at(self.kv), POSITIONS // 32, at(self.link), at(feed), at(out),
                        at(rows) if logits else None, at(self.abort), position, steps, self.epoch, 0,
                        (ctypes.c_int * 8)(*[-1] * 8), 2_000_000_000)
        time = launch(self.kernel, WORKERS, WARPS * 32 + 128, SHARED, [params])
        self.epoch = self.epoch + steps * (LAYERS + 1)
        if self.abort[0]:
            raise SystemExit(f"gave up waiting: {self.abort.tolist()}")
        return out, rows, time


def check(model, kernel):
    """Positions of both ways to attend, in one launch and in several."""
    ids = torch.randint(0, VOCAB, (330,)).tolist()
    out, logits, _ = Session(model, kernel).run(0, len(ids), ids, True)
    _, again, _ = Session(model, kernel).run(0, len(ids), ids, True)
    truth = model.forward(ids, torch.float64, False)
    cache, plain = model.forward(ids, torch.float64, True), model.forward(ids, BF16, False)
    error = lambda a, rows: ((a[rows] - truth[rows]).pow(2).mean().sqrt() / truth[rows].std()).item()
    good = True
    for rows in (slice(0, 128), slice(128, 330)):
        ours, of_cache, of_torch = error(logits.double(), rows), error(cache, rows), error(plain, rows)
        print(f"rows {rows.start} to {rows.stop}: relative RMS error of the logits {ours:.2e}; of a bf16 cache alone "
              f"{of_cache:.2e}; of bf16 torch {of_torch:.2e}")
        good = good and ours <= of_torch
    session, pieces = Session(model, kernel), range(0, 330, 110)
    split = torch.cat([session.run(at, 110, ids[at : at + 110], True)[1] for at in pieces])
    same, chosen = torch.equal(logits, again), torch.equal(out.long(), logits.argmax(1))
    print(f"two runs equal: {same}; in three launches equal: {torch.equal(split, logits)}; "
          f"chosen token is the greatest: {chosen}", flush=True)
    if not (good and same and chosen and torch.equal(split, logits)):
        raise SystemExit("wrong: no times")


def text():
    """The decoder's kernel for this shape."""
    native = HERE.parent.parent / "crates/cuda/src/native"
    shape = dict(LAYERS=LAYERS, HIDDEN=HIDDEN, HEADS=HEADS, KV_HEADS=KV_HEADS, INTER=INTER, VOCAB=VOCAB, EPS="1e-6f")
    constants = "".join(f"#define {name} {value}\n" for name, value in shape.items())
    return constants + "".join((native / file).read_text() for file in ("prelude.cuh", "worker.cuh", "attend.cuh", "decode.cu"))


def main():
    model = Model()
    for number, defines in enumerate(sys.argv[1:] or [""]):
        kernel = function(text(), "decode", SHARED, [d for d in defines.split(",") if d])
        if number == 0:
            check(model, kernel)
        for position in (1, 128, 512, 1024, 4096):
            session = Session(model, kernel, fill=True)
            times = [session.run(position, 120, [5])[2] / 120 * 1000 for _ in range(6)][1:]
            each = [round(t) for t in times]
            print(f"{defines} after {position}: {statistics.median(times):.0f} us a token, all {each}", flush=True)


main()
