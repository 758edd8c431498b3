"""Checks the persistent decoder of several rows of crates/cuda against float64 on random weights, then times it.

Needs a Hopper GPU, torch and cuda-python. `python together.py [DEFINES ...]`, as decode.py takes them; `ROWS=32` is one of
them. Without any, `ROWS=8 ROWS=32`. `quick` among them leaves out fewer rows than the kernel has, and times after 1,024. `SPAN=2` checks what rows of many spans do at lengths that float64 can follow.
"""

import ctypes
import signal
import statistics
import sys

import torch

import decode
from decode import CHUNK, GROUP, HEAD, HEADS, HIDDEN, INTER, KV_HEADS, LAYERS, POSITIONS, VOCAB, WARPS, WORKERS
from gpu import HERE, compiled, function, launch

TOKENS, STEPS = 300, 16
SLOTS = {8: 22, 16: 18, 32: 18}
HELD = {8: 16, 16: 16, 32: 8}


class Together(ctypes.Structure):
    """`Together` of together.cuh."""

    _fields_ = [("p", decode.Params), ("rows", ctypes.c_void_p), ("tokens", ctypes.c_void_p), ("parts", ctypes.c_void_p)]
    _fields_ += [("spans", ctypes.c_uint32), ("count", ctypes.c_uint32)]


def shared(rows, slots):
    return slots * CHUNK + (2 if rows <= 16 else 1) * WARPS * rows * 68 * 4 + 15360


def text():
    """The kernel's text; `INT8=1` in front of it takes weights of 8 bits."""
    native = HERE.parent.parent / "crates/cuda/src/native"
    files = ("kv.cuh", "prelude.cuh", "worker.cuh", "attend.cuh", "together.cuh", "mates.cuh", "together.cu")
    shape = dict(LAYERS=decode.LAYERS, HIDDEN=HIDDEN, HEADS=HEADS, KV_HEADS=KV_HEADS, INTER=INTER, VOCAB=decode.VOCAB, EPS="1e-6f")
    shape |= dict(BLOCK_BYTES=CHUNK, PAGE_BYTES=decode.page_bytes())
    return "".join(f"#define {n} {v}\n" for n, v in shape.items()) + "".join((native / f).read_text() for f in files)


class Build:
    """The kernel for some defines, once it is loaded. Compiling needs no GPU, so another process can do it."""

    def __init__(self, defines):
        facts = dict(d.split("=") for d in defines.split(",") if d and d != "quick")
        self.rows = int(facts.setdefault("ROWS", "8"))
        if self.rows not in SLOTS:
            raise SystemExit(f"ROWS={self.rows}: there are kernels of {', '.join(map(str, SLOTS))} rows")
        facts.setdefault("SLOTS", str(SLOTS[self.rows]))
        facts.setdefault("HELD_MOST", str(HELD[self.rows]))
        self.int8 = facts.get("INT8") == "1"
        self.defines = [f"{n}={v}" for n, v in facts.items()]
        self.shared = shared(self.rows, int(facts["SLOTS"]))

    def compiled(self):
        return compiled(text(), self.defines)

    def load(self, code=None):
        self.kernel = function(code or self.compiled(), "together", self.shared)
        return self


def tape(model, int8):
    """Weights as the kernel reads them."""
    return decode.Tape(model, compiled(decode.text(), [f"INT8={int(int8)}"]), int8)


class Sequences:
    """KV caches of some sequences, filled as if positions had been written, or empty."""

    def __init__(self, count, fill=False, positions=POSITIONS):
        self.kv = torch.zeros(count, decode.LAYERS * KV_HEADS * positions * 2 * HEAD, dtype=torch.bfloat16, device="cuda")
        for one in self.kv if fill else ():
            one.normal_()


class Runner:
    def __init__(self, model, tape, build):
        r, layers = build.rows, decode.LAYERS
        words = 2 * r * HIDDEN // 4 + 2 * r * HIDDEN // 64 + r * (HEADS + 2 * KV_HEADS) * HEAD // 2 + r * KV_HEADS * HIDDEN
        words += r * HEADS * HEAD // 4 + r * INTER // 4 + r * WORKERS * 2 + r
        self.model, self.tape, self.build = model, tape, build
        self.link = torch.zeros(words, dtype=torch.int64, device="cuda")
        self.spans = POSITIONS // 32 // 2
        self.parts = torch.zeros(KV_HEADS * r * self.spans * GROUP * (HEAD // 2 + 2), dtype=torch.int64, device="cuda")
        self.abort = torch.zeros(8, dtype=torch.int32, device="cuda")
        self.logits = torch.zeros(r, decode.VOCAB, device="cuda")

    def run(self, sequences, which, positions, tokens, steps, logits=False):
        """Ids chosen, [steps][rows], and milliseconds."""
        m, at, count = self.model, lambda t: t.data_ptr(), len(which)
        rows = torch.tensor([[sequences.kv[w].data_ptr(), p] for w, p in zip(which, positions)], dtype=torch.int64, device="cuda")
        feed = torch.tensor(tokens, dtype=torch.int32, device="cuda")
        out = torch.full((steps, self.build.rows), -7, dtype=torch.int32, device="cuda")
        self.link.zero_()
        self.parts.zero_()
        if logits:
            self.logits.fill_(float("nan"))
        p = decode.Params(at(self.tape.tape), self.tape.stride, at(self.tape.scales), self.tape.scale_stride, at(m.embedding), at(m.norms), at(m.head_norms), at(m.rope),
                          None, at(self.link), None, at(out), at(self.logits) if logits else None, at(self.abort),
                          0, steps, 0, 0, (ctypes.c_int * 8)(*[-1] * 8), decode.DEADLINE_NS)
        t = Together(p, at(rows), at(feed), at(self.parts), self.spans, count)
        time = launch(self.build.kernel, WORKERS, WARPS * 32 + 128, self.build.shared, [t])
        if not isinstance(time, float):
            raise SystemExit(f"launch: {time}")
        if self.abort[0]:
            raise SystemExit(f"gave up waiting: {self.abort.tolist()}")
        return out[:, :count], time


class Truths:
    """What float64 and a bf16 forward of torch say of four sequences, and the first rows' logits seen."""

    def __init__(self, model, int8):
        draw = torch.Generator().manual_seed(3)
        self.ids = [torch.randint(0, VOCAB, (TOKENS,), generator=draw).tolist() for _ in range(4)]
        self.exact = [model.forward(ids, torch.float64, False, int8).float() for ids in self.ids]
        self.plain = [model.forward(ids, torch.bfloat16, False, int8).float() for ids in self.ids]
        self.seen = {}


def check(runner, truths, count):
    """Rows that join one after another, each with one of four sequences; whether all is right."""
    sequences, lengths, span = Sequences(count, positions=512), [0] * count, runner.build.span
    error, plain, same, total, most = 0.0, 0.0, True, 0.0, 0.0
    for turn in range(TOKENS):
        live = [r for r in range(count) if r * 5 % 97 <= turn and lengths[r] < TOKENS]
        live = live[turn % len(live) :] + live[: turn % len(live)]
        tokens = [truths.ids[r % 4][lengths[r]] for r in live]
        out, _ = runner.run(sequences, live, [lengths[r] for r in live], tokens, 1, True)
        same = same and torch.equal(out[0].long(), runner.logits[: len(live)].argmax(1))
        for i, r in enumerate(live):
            key, logits = (span, r % 4, lengths[r]), runner.logits[i]
            if key not in truths.seen:
                truths.seen[key] = logits.clone()
                exact = truths.exact[r % 4][lengths[r]]
                error += (logits - exact).pow(2).sum().item()
                plain += (truths.plain[r % 4][lengths[r]] - exact).pow(2).sum().item()
                total += exact.pow(2).sum().item()
                most = max(most, (logits - exact).abs().max().item())
            else:
                same = same and torch.equal(truths.seen[key], logits)
            lengths[r] += 1
    if total:
        print(f"relative RMS error {(error / total) ** 0.5:.2e}, of bf16 torch {(plain / total) ** 0.5:.2e}, greatest {most:.3f}")
    print(f"rows' bits and chosen ids the same whatever is beside them: {same}", flush=True)
    return same and error <= plain and error == error


def check_steps(runner, count):
    """Steps in one launch are those of single launches."""
    ids = []
    for steps in (STEPS, 1):
        sequences, positions, tokens, chosen = Sequences(count, positions=512), [0] * count, list(range(5, 5 + count)), []
        while len(chosen) < 40:
            out, _ = runner.run(sequences, list(range(count)), positions, tokens, steps)
            chosen += out.tolist()
            tokens, positions = chosen[-1], [p + steps for p in positions]
        ids.append((chosen[:40], sequences.kv[:, : 40 * HEAD].clone()))
    same = ids[0][0] == ids[1][0]
    print(f"steps together are single steps: {same}", flush=True)
    return same


def main(variants):
    model, known = decode.Model(), {}
    for variant in variants:
        signal.alarm(0)
        build = Build(variant).load()
        if build.int8 not in known:
            known[build.int8] = tape(model, build.int8), Truths(model, build.int8)
        weights, truths = known[build.int8]
        signal.alarm(40)  # a launch that never ends ends this
        build.span = next((d for d in build.defines if d.startswith("SPAN=")), "")
        runner = Runner(model, weights, build)
        print(variant or "as it is", flush=True)
        counts = [build.rows] if "quick" in variant else sorted({2, build.rows // 2 + 1, build.rows})
        if not all([check(runner, truths, c) for c in counts[-1:]] + [check_steps(runner, c) for c in counts]):
            print("wrong: no times", flush=True)
            continue
        for count in counts:
            sequences = Sequences(count, True, 2048)
            for position in (1, 512) if "quick" in variant else (1, 512, 1024):
                times = [runner.run(sequences, list(range(count)), [position] * count, [5] * count, STEPS)[1] / STEPS * 1000 for _ in range(8)][1:]
                middle = statistics.median(times)
                print(f"  {count} rows after {position}: {middle:.0f} us a step, {count / middle * 1e6:.0f} tok/s, all {[round(t) for t in times]}", flush=True)
            del sequences


if __name__ == "__main__":
    main(sys.argv[1:] or ["ROWS=8", "ROWS=32"])
