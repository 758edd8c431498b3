"""A model that is open."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, overload

from . import _native
from ._native import Floats
from ._output import Output, Stream, chunk_of, output_of
from ._params import SamplingParams
from ._tokenizer import Tokenizer

#: A message: `{"role": ..., "content": ...}`.
Message = Mapping[str, Any]

_DEFAULTS = SamplingParams()


def is_ids(prompt: object) -> bool:
    """Whether a prompt is a list of ids rather than of prompts."""
    return isinstance(prompt, Sequence) and not isinstance(prompt, str) and all(type(id) is int for id in prompt)


class Model:
    """One model on one device. Several threads may use it; it is freed with its last reference."""

    def __init__(self, native: _native.Engine) -> None:
        self._native = native
        self._facts = native.facts()

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        device: str = "auto",
        weights: str | None = None,
        kv: str | None = None,
        numerics: str | None = None,
        threads: int | None = None,
        context: int | None = None,
        prefill_chunk: int | None = None,
        attention: str | None = None,
        gemm: str | None = None,
        cache: bool | str | os.PathLike[str] = True,
    ) -> Model:
        """Opens the checkpoint in a folder or GGUF file; without one, the small story model inside the package.

        device: auto, cpu, cuda, cuda:N, metal or (for developers) shim. No other is used in its place.
        weights: f32, bf16, f16, int8 or int4. `None`: as stored, when that loses nothing.
        kv: f32, f16, bf16 or int8. numerics: native, or on the CPU llama.cpp or llama.cpp-flash, for the bits of its
        logits over the same GGUF file. threads: of the CPU. context: positions for prompt and reply together.
        prefill_chunk: tokens of a prompt taken in at once. attention, gemm: of a prompt, on metal and shim.
        cache: whether quantised weights of large models are kept for the next start, or the folder to keep them in.
        """
        folder = None if isinstance(cache, bool) else os.fspath(cache)
        options = {
            "device": device,
            "weights": weights,
            "kv": kv,
            "numerics": numerics,
            "threads": threads,
            "context": context,
            "prefill_chunk": prefill_chunk,
            "attention": attention,
            "gemm": gemm,
            "cache": cache is not False,
            "cache_folder": folder,
        }
        return cls(_native.Engine.open(None if path is None else os.fspath(path), options))

    @property
    def plan(self) -> dict[str, Any]:
        """What was decided at open: device, kernels, formats, context."""
        return dict(self._facts["plan"], device_reason=self._facts["device_reason"])

    @property
    def config(self) -> dict[str, Any]:
        """The model's shape."""
        return dict(self._facts["config"])

    @property
    def stop_token_ids(self) -> list[int]:
        """The ids that end a reply."""
        return [stop["id"] for stop in self._facts["stop"]]

    @property
    def sampling_defaults(self) -> dict[str, Any]:
        """What the model's `generation_config.json` says about sampling."""
        return dict(self._facts["sampling"])

    @property
    def load_seconds(self) -> float:
        """How long opening took."""
        return float(self._facts["load_seconds"])

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer; `None` where the checkpoint has none and prompts are ids."""
        native = self._native.tokenizer
        return None if native is None else Tokenizer(native)

    @property
    def dispatches(self) -> int:
        """Launches of the latest step, on a device that counts them; else 0."""
        return self._native.dispatches() or 0

    def encode(self, text: str) -> list[int]:
        """The ids of a text that the model is to continue. Control tokens spelled in it are plain text."""
        return self._native.encode(text)

    def encode_chat(self, messages: Sequence[Message], **template: Any) -> list[int]:
        """The ids of a conversation that the model is to reply to. Further arguments are those of `apply_template`."""
        return self._native.encode_chat(messages, rendering_of(messages, **template))

    def _ids(self, prompt: str | Sequence[int]) -> list[int]:
        if isinstance(prompt, str):
            return self.encode(prompt)
        if is_ids(prompt):
            return list(prompt)
        raise TypeError("a prompt is a string or a list of ids")

    @overload
    def generate(  # type: ignore[overload-overlap]  # a string is a sequence of strings, and no list of ids is empty
        self, prompt: str | Sequence[int], params: SamplingParams | None = None
    ) -> Output: ...

    @overload
    def generate(
        self,
        prompt: Sequence[str | Sequence[int]],
        params: SamplingParams | Sequence[SamplingParams] | None = None,
    ) -> list[Output]: ...

    def generate(self, prompt: Any, params: Any = None) -> Output | list[Output]:
        """The continuation of a text or of ids; of several at once, which share sweeps over the weights.

        For several prompts `params` may be a list, one for each.
        """
        if isinstance(prompt, str) or (is_ids(prompt) and prompt):
            return self.stream(prompt, params).output()
        prompts = [self._ids(one) for one in prompt]
        if params is None or isinstance(params, SamplingParams):
            params = [params or _DEFAULTS] * len(prompts)
        return self.generate_together(prompts, list(params))

    def generate_together(
        self, prompts: Sequence[Sequence[int]], params: Sequence[SamplingParams], seconds: float | None = None
    ) -> list[Output]:
        """The continuations of several prompts of ids, each with its parameters, within a time."""
        reports = self._native.together([list(ids) for ids in prompts], list(params), seconds)
        return [output_of([chunk_of(report)]) for report in reports]

    def stream(self, prompt: str | Sequence[int], params: SamplingParams | None = None) -> Stream:
        """The continuation of a text or of ids as it comes."""
        return Stream(self._native.start(self._ids(prompt), params or _DEFAULTS, True))

    def chat(self, messages: Sequence[Message], params: SamplingParams | None = None, **template: Any) -> Output:
        """The reply to a conversation. Further arguments are those of `apply_template`."""
        return self.stream_chat(messages, params, **template).output()

    def stream_chat(self, messages: Sequence[Message], params: SamplingParams | None = None, **template: Any) -> Stream:
        """The reply to a conversation as it comes. Further arguments are those of `apply_template`."""
        rendering = rendering_of(messages, **template)
        return Stream(self._native.start_chat(messages, rendering, params or _DEFAULTS))

    def apply_template(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        enable_thinking: bool | None = None,
        add_generation_prompt: bool | None = None,
        **extra: Any,
    ) -> str:
        """The text that a conversation becomes, by the model's chat template.

        A last message of the assistant is continued. `extra` are further variables of the template.
        """
        rendering = rendering_of(
            messages,
            tools=tools,
            enable_thinking=enable_thinking,
            add_generation_prompt=add_generation_prompt,
            **extra,
        )
        return self._native.apply_template(messages, rendering)

    def logits(self, prompt: str | Sequence[int], *, every: bool = False) -> Floats:
        """The logits after a text or ids, `[vocab]`; with `every`, after each id, `[ids, vocab]`.

        Raw: before penalties and temperature. `numpy.asarray(...)`, or `.numpy()`, reads them where they lie.
        """
        return self._native.logits(self._ids(prompt), every)

    def embed(self, prompt: str | Sequence[int], *, pooling: str = "last") -> Floats:
        """Hidden states after the final norm, `[hidden]` and of length 1: the last one, or the `mean` of all."""
        if pooling not in ("last", "mean"):
            raise ValueError("pooling is last or mean")
        return self._native.embed(self._ids(prompt), pooling == "mean")

    def score(self, prompt: str | Sequence[int]) -> list[float]:
        """The negative log-likelihood of each token but the first, in nats."""
        return self._native.score(self._ids(prompt))

    def __repr__(self) -> str:
        plan = self._facts["plan"]
        return f"<tilewright.Model on {plan['device']}, weights {plan['weights']}, context {plan['context']}>"


def rendering_of(
    messages: Sequence[Message],
    *,
    tools: Sequence[Mapping[str, Any]] = (),
    enable_thinking: bool | None = None,
    add_generation_prompt: bool | None = None,
    **extra: Any,
) -> dict[str, Any]:
    last = messages[-1] if messages else {}
    continued = isinstance(last, Mapping) and last.get("role") == "assistant"
    return {
        "add_generation_prompt": not continued if add_generation_prompt is None else add_generation_prompt,
        "continue_final_message": continued and add_generation_prompt is None,
        "enable_thinking": enable_thinking,
        "tools": list(tools),
        "extra": extra,
    }
