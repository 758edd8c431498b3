"""The protocol of a peer: one JSON object a line each way; crates/gate/src/peer.rs says which.

An adapter hands `serve` a function that opens the model and gives an engine:

    version, precision, remarks   what is told of it
    logits(ids)                   logits after ids, of a sequence that is emptied before
    keep(n)                       forgets all but the first n positions
    step(ids)                     appends ids; the greatest logit's id after them
    together(rows)                the same for several sequences at once, as many ids to each; not every engine has it
"""
import gc, json, os, sys, time


class Refused(Exception):
    """What an engine does not offer."""


def serve(open_engine):
    # Libraries that greet on standard output must not be taken for an answer.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    runs = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["op"] == "open":
                runs = Runs(open_engine(request))
                engine = runs.engine
                reply = {"version": engine.version, "precision": engine.precision, "remarks": engine.remarks}
            elif request["op"] == "logits":
                runs.held = None
                reply = {"logits": [float(x) for x in runs.engine.logits(request["ids"])]}
            else:
                reply = runs.run(**{key: value for key, value in request.items() if key != "op"})
        except ImportError as error:
            reply = {"refused": f"{error}"}
        except Refused as error:
            reply = {"refused": f"{error}"}
        print(json.dumps(reply), file=out, flush=True)


def on_processor(request):
    """Refuses a device that an adapter does not offer."""
    if request["device"] != "cpu":
        raise Refused(f"this adapter runs on the processor, not on {request['device']}")


class Runs:
    """Runs of workloads by one engine."""

    def __init__(self, engine):
        self.engine = engine
        self.held = None  # ids of the untimed depth, and the choices after them

    def run(self, depth, prompt, steps, given, ids):
        if len(ids) > 1 and not hasattr(self.engine, "together"):
            raise Refused("this adapter runs one sequence")
        first = self.deep([row[:depth] for row in ids])
        gc.collect()
        gc.disable()
        try:
            return self.timed(depth, prompt, steps, given, ids, first)
        finally:
            gc.enable()

    def advance(self, rows):
        """Appends a row to each sequence; what each chooses."""
        return [self.engine.step(rows[0])] if len(rows) == 1 else self.engine.together(rows)

    def deep(self, ids):
        """The engine holds ids and nothing else; the choices after them, if there are some."""
        if not ids[0]:
            self.held = None
            return None
        if self.held and self.held[0] == ids:
            self.engine.keep(len(ids[0]))
        else:
            self.engine.keep(0)
            self.held = ids, self.advance(ids)
        return self.held[1]

    def timed(self, depth, prompt, steps, given, ids, tokens):
        engine, clock = self.engine, time.perf_counter_ns
        chosen, prompt_ns, decode_ns = [[] for _ in ids], None, None
        if prompt:
            start = clock()
            if not depth:
                engine.keep(0)
            tokens = self.advance([row[depth : depth + prompt] for row in ids])
            prompt_ns = clock() - start
        elif given and not depth:
            engine.keep(0)
        if given:
            tokens = [row[-1] for row in ids]
        else:
            keep(chosen, tokens)
        if steps:
            start = clock()
            for _ in range(steps):
                tokens = self.advance([[token] for token in tokens])
                keep(chosen, tokens)
            decode_ns = clock() - start
        return {"prompt_ns": prompt_ns, "decode_ns": decode_ns, "ids": chosen}


def keep(chosen, tokens):
    for row, token in zip(chosen, tokens):
        row.append(token)


def label(weights, activations, kv):
    return f"weights {weights}, activations {activations}, keys and values {kv}"
