"""transformers on torch as a peer, eager, on the processor."""
import os

import common


class Engine:
    def __init__(self, request):
        if request["weights"] not in ("f32", "f16", "bf16"):
            raise common.Refused(f"{request['weights']} weights are not offered by this adapter")
        os.environ["OMP_NUM_THREADS"] = str(request["threads"])
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        os.environ["HF_HUB_OFFLINE"] = "1"
        import torch, transformers

        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        torch.set_num_threads(request["threads"])
        self.torch, self.Cache = torch, transformers.DynamicCache
        dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[request["weights"]]
        self.model = transformers.AutoModelForCausalLM.from_pretrained(request["model"], dtype=dtype).eval()
        self.cache = None
        self.version = f"transformers {transformers.__version__}, torch {torch.__version__}"
        weights = request["weights"]
        self.precision = common.label(weights, weights, weights)
        self.remarks = ["eager, one forward a step"]

    def keep(self, count):
        if count == 0:
            self.cache = self.Cache(config=self.model.config)
        else:
            # A negative number is how many go, in every version; a positive one is refused by newer ones.
            extra = self.cache.get_seq_length() - count
            if extra:
                self.cache.crop(-extra)

    def last(self, ids):
        with self.torch.inference_mode():
            out = self.model(
                input_ids=self.torch.tensor([ids]), past_key_values=self.cache, use_cache=True, logits_to_keep=1
            )
            return out.logits[0, -1]

    def step(self, ids):
        return int(self.last(ids).argmax())

    def logits(self, ids):
        self.keep(0)
        return self.last(ids).float().tolist()


if __name__ == "__main__":
    common.serve(Engine)
