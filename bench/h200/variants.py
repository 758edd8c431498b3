"""Times variants of the persistent decoder of several rows beside each other, in turns; together.py checks the one that is kept.

`python variants.py [--after 1,512] [VARIANT ...]`: a variant as together.py takes it, such as `ROWS=32,FLY_KV=7`; without any,
`ROWS=8 ROWS=32`. They are compiled side by side. What cannot be built, or gives up waiting, is named and left out. A variant is
marked if it ever chose other ids than the first one that is left, as it may with another order of sums.
"""

import argparse
import concurrent.futures
import signal
import statistics

import decode
import together

STEPS, ROUNDS, LAUNCHES = 16, 3, 4


def positions(text):
    """In order: a launch writes keys and values that one after more positions reads."""
    places = sorted({int(p) for p in text.split(",")})
    if places[0] < 0 or places[-1] > decode.POSITIONS - STEPS:
        raise argparse.ArgumentTypeError(f"positions are 0 to {decode.POSITIONS - STEPS}")
    return places


class Variant:
    def __init__(self, text):
        self.text, self.build, self.times, self.ids = text, together.Build(text), {}, {}

    def prepare(self, model, tapes, code):
        int8 = self.build.int8
        if int8 not in tapes:
            tapes[int8] = together.tape(model, int8)
        self.runner = together.Runner(model, tapes[int8], self.build.load(code))

    def turn(self, sequences, places):
        """A few launches after each of the positions, of which the first warms up."""
        rows = self.build.rows
        for place in places:
            for launch in range(LAUNCHES):
                out, time = self.runner.run(sequences, list(range(rows)), [place] * rows, [5] * rows, STEPS)
                self.ids.setdefault(place, []).append(out)
                if launch:
                    self.times.setdefault(place, []).append(time / STEPS * 1000)

    def agrees(self, other):
        """Whether every launch chose the ids of the other's first, for the rows that both have."""
        rows = min(self.build.rows, other.build.rows)
        return all((ids[:, :rows] == other.ids[p][0][:, :rows]).all() for p, every in self.ids.items() for ids in every)


def main(places, texts):
    left, tapes, model = [], {}, None
    variants = [Variant(text) for text in texts]
    with concurrent.futures.ProcessPoolExecutor() as pool:
        codes = [pool.submit(v.build.compiled) for v in variants]
    for variant, code in zip(variants, codes):
        try:
            code = code.result()
            model = model or decode.Model()
            variant.prepare(model, tapes, code)
            left.append(variant)
        except RuntimeError as error:
            print(f"{variant.text}: {error}", flush=True)
    sequences = together.Sequences(max((v.build.rows for v in left), default=0), True, places[-1] + 1024)
    for turn in range(ROUNDS):
        for variant in list(left):
            signal.alarm(20)  # a launch that never ends ends this
            try:
                variant.turn(sequences, places)
            except SystemExit as gave_up:
                print(f"{variant.text}: {gave_up}", flush=True)
                left.remove(variant)
            signal.alarm(0)
        print(f"round {turn + 1} of {ROUNDS}", flush=True)
    for variant in left:
        middle = " ".join(f"{statistics.median(variant.times[p]):7.1f}" for p in places)
        print(f"{middle} us a step after {places}: {variant.text}{'' if variant.agrees(left[0]) else ', other ids'}")
    if len(left) < len(variants):
        raise SystemExit(1)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--after", type=positions, default="1,512", help="positions that rows have before the steps that are timed")
    arguments.add_argument("variants", nargs="*", default=["ROWS=8", "ROWS=32"])
    given = arguments.parse_args()
    main(given.after, given.variants)
