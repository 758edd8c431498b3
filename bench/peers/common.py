"""The protocol of a peer: one JSON object a line each way; crates/gate/src/peer.rs says which.

An adapter hands `serve` a function that opens the model and gives an engine for one sequence:

    version, precision, remarks   what is told of it
    logits(ids)                   logits after ids, of a sequence that is emptied before
    keep(n)                       forgets all but the first n positions
    step(ids)                     appends ids; the greatest logit's id after them
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


class Runs:
    """Runs of workloads by one engine."""

    def __init__(self, engine):
        self.engine = engine
        self.held = None  # ids of the untimed depth, and the choice after them

    def run(self, depth, prompt, steps, given, ids):
        if len(ids) != 1:
            raise Refused("this adapter runs one sequence")
        ids = ids[0]
        first = self.deep(ids[:depth])
        gc.collect()
        gc.disable()
        try:
            return self.timed(depth, prompt, steps, given, ids, first)
        finally:
            gc.enable()

    def deep(self, ids):
        """The engine holds ids and nothing else; the choice after them, if there is one."""
        if not ids:
            self.held = None
            return None
        if self.held and self.held[0] == ids:
            self.engine.keep(len(ids))
        else:
            self.engine.keep(0)
            self.held = ids, self.engine.step(ids)
        return self.held[1]

    def timed(self, depth, prompt, steps, given, ids, token):
        engine, clock = self.engine, time.perf_counter_ns
        chosen, prompt_ns, decode_ns = [], None, None
        if prompt:
            start = clock()
            if not depth:
                engine.keep(0)
            token = engine.step(ids[depth : depth + prompt])
            prompt_ns = clock() - start
        elif given and not depth:
            engine.keep(0)
        if given:
            token = ids[-1]
        else:
            chosen.append(token)
        if steps:
            start = clock()
            for _ in range(steps):
                token = engine.step([token])
                chosen.append(token)
            decode_ns = clock() - start
        return {"prompt_ns": prompt_ns, "decode_ns": decode_ns, "ids": [chosen]}


def label(weights, activations, kv):
    return f"weights {weights}, activations {activations}, keys and values {kv}"
