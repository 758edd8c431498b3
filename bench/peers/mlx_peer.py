"""MLX as a peer, through mlx-lm: on the Apple GPU where there is one, else on MLX's own default device."""
import os
from pathlib import Path

import common


class Engine:
    def __init__(self, request):
        # Read once, when MLX starts: without it f32 products are of reduced precision on some devices.
        os.environ["MLX_ENABLE_TF32"] = "0"
        os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(request["threads"])
        import mlx.core as mx, mlx.nn as nn, mlx_lm, numpy
        from mlx_lm.models.cache import make_prompt_cache, trim_prompt_cache
        from mlx_lm.utils import load_model

        self.mx, self.np, self.make, self.trim = mx, numpy, make_prompt_cache, trim_prompt_cache
        self.model, _ = load_model(Path(request["model"]))
        weights = request["weights"]
        if weights in ("int8", "int4"):
            bits, group = (8, 128) if weights == "int8" else (4, 64)
            nn.quantize(self.model, group_size=group, bits=bits)
        else:
            self.model.set_dtype({"f32": mx.float32, "f16": mx.float16, "bf16": mx.bfloat16}[weights])
        mx.eval(self.model.parameters())
        self.held = 0
        self.cache = None
        self.version = f"mlx {mx.__version__}, mlx-lm {mlx_lm.__version__}, {mx.default_device()}"
        floats = "bf16" if weights in ("int8", "int4") else weights
        self.precision = common.label(weights, floats, floats)
        self.remarks = ["a synchronous greedy loop, not mlx-lm's pipelined generator", "TF32 is off"]

    def keep(self, count):
        if count == 0:
            self.cache = self.make(self.model)
        else:
            self.trim(self.cache, self.held - count)
        self.held = count

    def last(self, ids):
        self.held += len(ids)
        if len(ids) > 1:
            # As mlx-lm does it: the head works on the last token alone.
            self.model(self.mx.array([ids[:-1]]), cache=self.cache)
            self.mx.eval([part.state for part in self.cache])
        return self.model(self.mx.array([ids[-1:]]), cache=self.cache)[0, -1]

    def step(self, ids):
        return int(self.mx.argmax(self.last(ids)))

    def logits(self, ids):
        self.keep(0)
        return self.np.array(self.last(ids).astype(self.mx.float32)).tolist()


if __name__ == "__main__":
    common.serve(Engine)
