"""transformers on torch as a peer, eager: on the processor, or on the GPU where ours is NVIDIA's."""
import os

import common


class Engine:
    def __init__(self, request):
        if request["weights"] not in ("f32", "f16", "bf16"):
            raise common.Refused(f"{request['weights']} weights are not offered by this adapter")
        place = request["device"]
        os.environ["OMP_NUM_THREADS"] = str(request["threads"])
        os.environ["HF_HUB_OFFLINE"] = "1"
        # Products of f32 are products of f32: whatever the surroundings say, no TF32.
        os.environ["NVIDIA_TF32_OVERRIDE"] = "0"
        if not place.startswith("cuda"):
            common.on_processor(request)
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
        import torch, transformers

        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        torch.set_num_threads(request["threads"])
        torch.set_float32_matmul_precision("highest")
        self.torch, self.Cache, self.place = torch, transformers.DynamicCache, place
        dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[request["weights"]]
        model = transformers.AutoModelForCausalLM.from_pretrained(request["model"], dtype=dtype).eval()
        self.model = model.to(place)
        self.cache = None
        self.version = f"transformers {transformers.__version__}, torch {torch.__version__}"
        weights = request["weights"]
        self.precision = common.label(weights, weights, weights)
        self.remarks = ["eager, one forward a step, no recorded graph", "its cache grows at every step, within the time"]
        self.remarks.append("TF32 is off")
        if place != "cpu":
            self.remarks.append(f"on {torch.cuda.get_device_name(place)}")

    def keep(self, count):
        if count == 0:
            self.cache = self.Cache(config=self.model.config)
        else:
            # A negative number is how many go, in every version; a positive one is refused by newer ones.
            extra = self.cache.get_seq_length() - count
            if extra:
                self.cache.crop(-extra)

    def last(self, rows):
        with self.torch.inference_mode():
            ids = self.torch.tensor(rows, device=self.place)
            return self.model(
                input_ids=ids, past_key_values=self.cache, use_cache=True, logits_to_keep=1
            ).logits[:, -1]

    def step(self, ids):
        return int(self.last([ids])[0].argmax())

    def together(self, rows):
        return self.last(rows).argmax(-1).tolist()

    def logits(self, ids):
        self.keep(0)
        return self.last([ids])[0].float().tolist()


if __name__ == "__main__":
    common.serve(Engine)
