"""A float64 forward in torch: the gate's reference where our own, on the processor, would take hours.

Written from the architecture alone and in no precision but float64. crates/gate/src/oracle/remote.rs says what goes each way;
each answer is a line of JSON, and after an `extend` the numbers that it counts, little-endian float64.
"""
import itertools, json, os, struct, sys

ROWS = 256  # rows taken in at once


class Model:
    def __init__(self, torch, folder):
        self.torch = torch
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        with open(os.path.join(folder, "config.json")) as file:
            config = json.load(file)
        rope = config.get("rope_scaling") or config.get("rope_parameters") or {}
        if rope.get("rope_type", rope.get("type", "default")) != "default":
            raise ValueError("scaled rotary positions")
        self.theta = float(config.get("rope_theta") or rope["rope_theta"])
        self.layers, self.heads = config["num_hidden_layers"], config["num_attention_heads"]
        self.kv_heads = config.get("num_key_value_heads") or self.heads
        self.dim = config.get("head_dim") or config["hidden_size"] // self.heads
        self.eps = config["rms_norm_eps"]
        self.weights = self.read(folder)
        at = torch.arange(0, self.dim, 2, dtype=torch.float64, device=self.device)
        self.inv_freq = self.theta ** (-at / self.dim)
        self.version = f"torch {torch.__version__}"
        self.where = torch.cuda.get_device_name() if self.device == "cuda" else "the processor"

    def read(self, folder):
        torch, weights = self.torch, {}
        kinds = {"BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32, "F64": torch.float64}
        names = sorted(name for name in os.listdir(folder) if name.endswith(".safetensors"))
        if not names:
            raise ValueError("no safetensors")
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                (size,) = struct.unpack("<Q", file.read(8))
                header, base = json.loads(file.read(size)), 8 + size
                for key, entry in header.items():
                    if key == "__metadata__":
                        continue
                    first, end = entry["data_offsets"]
                    file.seek(base + first)
                    data = torch.frombuffer(bytearray(file.read(end - first)), dtype=kinds[entry["dtype"]])
                    weights[key] = data.reshape(entry["shape"]).to(self.device).to(torch.float64)
        return weights

    def norm(self, x, name):
        return x * (x.square().mean(-1, keepdim=True) + self.eps).rsqrt() * self.weights[name]

    def product(self, x, name):
        y = x @ self.weights[name + ".weight"].T
        bias = self.weights.get(name + ".bias")
        return y if bias is None else y + bias

    def turn(self, x, start):
        """x is [heads, rows, dim]; element i and element i + dim / 2 are a pair."""
        torch = self.torch
        at = torch.arange(start, start + x.shape[1], dtype=torch.float64, device=self.device)
        angle = at[:, None] * self.inv_freq
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], dim=-1)

    def split(self, x, heads):
        return x.reshape(x.shape[0], heads, self.dim).transpose(0, 1)

    def rows(self, ids, past):
        """Takes in ids after `past`, keys and values of each layer, which grows by them; the last layer's rows."""
        torch = self.torch
        start, count = past[0][0].shape[1], len(ids)
        x = self.weights["model.embed_tokens.weight"][torch.tensor(ids, device=self.device)]
        later = torch.ones(count, start + count, dtype=torch.bool, device=self.device).triu(start + 1)
        for layer in range(self.layers):
            of = f"model.layers.{layer}."
            h = self.norm(x, of + "input_layernorm.weight")
            q, k, v = (self.product(h, f"{of}self_attn.{part}_proj") for part in "qkv")
            q, k, v = self.split(q, self.heads), self.split(k, self.kv_heads), self.split(v, self.kv_heads)
            if of + "self_attn.q_norm.weight" in self.weights:
                q, k = self.norm(q, of + "self_attn.q_norm.weight"), self.norm(k, of + "self_attn.k_norm.weight")
            q, k = self.turn(q, start), self.turn(k, start)
            k, v = (torch.cat([old, new], dim=1) for old, new in zip(past[layer], (k, v)))
            past[layer] = k, v
            # The query heads of a KV head are rows of one product.
            scores = q.reshape(self.kv_heads, -1, self.dim) @ k.transpose(1, 2) / self.dim**0.5
            scores = scores.reshape(self.heads, count, -1).masked_fill_(later, float("-inf")).softmax(-1)
            mixed = (scores.reshape(self.kv_heads, -1, start + count) @ v).reshape(self.heads, count, self.dim)
            x = x + self.product(mixed.transpose(0, 1).reshape(count, -1), of + "self_attn.o_proj")
            h = self.norm(x, of + "post_attention_layernorm.weight")
            gate, up = self.product(h, of + "mlp.gate_proj"), self.product(h, of + "mlp.up_proj")
            x = x + self.product(gate * gate.sigmoid() * up, of + "mlp.down_proj")
        return x

    def extend(self, ids, past, rows):
        x = self.torch.cat([self.rows(ids[at : at + ROWS], past) for at in range(0, len(ids), ROWS)])
        head = "lm_head.weight" if "lm_head.weight" in self.weights else "model.embed_tokens.weight"
        return self.norm(x[len(ids) - rows :], "model.norm.weight") @ self.weights[head].T

    def empty(self):
        none = self.torch.empty(self.kv_heads, 0, self.dim, dtype=self.torch.float64, device=self.device)
        return [(none, none) for _ in range(self.layers)]


def numbers(tensor):
    return tensor.contiguous().cpu().numpy().astype("<f8", copy=False).tobytes()


def main():
    # Libraries that greet on standard output must not be taken for an answer.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    model, sequences = None, {}

    def answer(reply, parts=()):
        out.write(json.dumps(reply).encode() + b"\n")
        for part in parts:
            out.write(part)
        out.flush()

    for line in sys.stdin:
        request = json.loads(line)
        if request["op"] == "open":
            try:
                import torch

                torch.set_grad_enabled(False)
                model = Model(torch, request["model"])
            except (ImportError, KeyError, OSError, ValueError) as error:
                answer({"refused": f"{error}"})
                continue
            answer({"version": model.version, "where": model.where})
        elif request["op"] == "drop":
            sequences.pop(request["sequence"], None)
            answer({})
        else:
            ids, name = request["ids"], request["sequence"]
            past = sequences.setdefault(name, model.empty())
            before = past[0][0].shape[1]
            logits = model.extend(ids, past, request["rows"])
            # Layer by layer, head by head: the new keys, then the new values.
            new = (numbers(torch.stack([part[:, before:] for part in layer], dim=1)) for layer in past)
            count = len(ids) * model.dim * model.kv_heads * model.layers
            answer({"logits": logits.numel(), "keys": count}, itertools.chain([numbers(logits)], new))


if __name__ == "__main__":
    main()
