"""Decode functions for any supported model."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from tempfile import mkdtemp
from time import monotonic
from typing import Any

from . import _native
from ._errors import InferenceError, named
from ._model import Message, Model
from ._output import Chunk, Output, Stream, output_of
from ._params import SamplingParams
from ._runtime import Runtime, default_runtime

#: Sequences of a batch, at most.
MOST_SEQUENCES = 32


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a function that decodes one prompt gives."""

    #: Prompt and reply; an end token is the last one.
    token_ids: list[int]
    n_prompt: int
    stopped_on_eos: bool
    #: Launches from a token to the next, on a device that counts them; else 0.
    dispatches_per_token: int
    #: 0 where only one token was generated, which needs no decode step.
    decode_tokens_per_sec: float
    prefill_tokens_per_sec: float


@dataclass(frozen=True, slots=True)
class InferenceResult(Decoded):
    """What `decode` gives."""

    #: The text of the reply, where the prompt was text or messages.
    generated_text: str | None = None


@dataclass(frozen=True, slots=True)
class StreamedToken:
    """One token of `decode_stream`."""

    token_id: int
    #: The text that became certain with it; `None` where the prompt was ids.
    text_delta: str | None
    #: Tokens so far, prompt and reply.
    position: int
    done: bool
    stopped_on_eos: bool


@dataclass(frozen=True, slots=True)
class BatchedInferenceResult:
    """What `decode_batched` gives."""

    #: The reply to each prompt.
    generated_token_ids: list[list[int]]
    #: Tokens of all prompts.
    n_prompt_total: int
    stopped_on_eos: bool
    dispatches_per_token: int
    #: Of all sequences together.
    decode_tokens_per_sec: float
    prefill_tokens_per_sec: float
    #: Prompts.
    prefill_chunks: int


def invalid(what: str, expected: str, got: object) -> InferenceError:
    """A refusal of what the caller gave."""
    return InferenceError("invalid_arguments", f"{what}: expected {expected}, got {got!r}")


def check_count(what: str, value: object, least: int) -> int:
    """A whole number from `least` on."""
    if type(value) is not int or value < least:
        raise invalid(what, f"a whole number from {least} on", value)
    return value


def check_temperature(value: object) -> float:
    """A number, with everything below 0 as 0: greedy."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        raise invalid("temperature", "a finite number", value)
    return max(0.0, value)


def check_ids(what: str, ids: object) -> list[int]:
    """Token ids."""
    good = isinstance(ids, Sequence) and not isinstance(ids, str) and all(type(id) is int and id >= 0 for id in ids)
    if not good or not ids:
        raise invalid(what, "a list of token ids, at least one", ids)
    assert isinstance(ids, Sequence)
    return list(ids)


def open_model(
    runtime: Runtime,
    checkpoint_dir: str | os.PathLike[str],
    converted: str | os.PathLike[str] | None,
    *,
    no_mirror: bool = True,
    msl_parity: bool = True,
) -> Model:
    """The model; that of the converted pair where there is one."""
    if converted is not None and not all(
        (Path(converted) / name).is_file() for name in ("manifest.json", "weights.blob")
    ):
        raise InferenceError("checkpoint_not_found", f"{converted}: expected manifest.json and weights.blob")
    return runtime.model(
        checkpoint_dir if converted is None else converted,
        attention="grouped_no_mirror" if no_mirror else "off",
        gemm="msl_parity" if msl_parity else "original",
    )


def prompt_ids(
    model: Model,
    ids: Sequence[int] | None,
    text: str | None,
    messages: Sequence[Message] | None,
    tools: Sequence[Mapping[str, Any]] | None,
) -> list[int]:
    """The ids of whichever prompt there is."""
    if messages is not None:
        return model.encode_chat(messages, tools=tools or ())
    if text is None:
        return check_ids("prompt_token_ids", ids)
    found = model.encode(text)
    if not found:
        raise invalid("prompt_text", "a text of at least one token", text)
    return found


def finish(stream: Stream, seconds: float | None) -> Output:
    """A whole reply within a time."""
    until = None if seconds is None else monotonic() + seconds
    chunks: list[Chunk] = []
    while chunk := stream.next_within(None if until is None else max(0.0, until - monotonic())):
        chunks.append(chunk)
    return output_of(chunks)


def _check_prompt(ids: object, text: object, messages: object, tools: object) -> None:
    given = [name for name, value in (("ids", ids), ("text", text), ("messages", messages)) if value is not None]
    if len(given) != 1:
        raise invalid("prompt", "one of prompt_token_ids, prompt_text and messages", given)
    if tools is not None and messages is None:
        raise invalid("tools", "messages with them", None)


def decode(
    runtime: Runtime,
    *,
    checkpoint_dir: str | os.PathLike[str],
    prompt_token_ids: Sequence[int] | None = None,
    prompt_text: str | None = None,
    messages: Sequence[Message] | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    max_new_tokens: int = 16,
    max_ctx: int | None = None,
    use_msl_parity_all_roles: bool = True,
    use_native_grouped_fa_attn_no_mirror: bool = True,
    warmup_prefills: int = 0,
    converted_checkpoint_dir: str | os.PathLike[str] | None = None,
    temperature: float = 0.0,
    top_k: int = 40,
    top_p: float = 0.95,
    min_p: float = 0.0,
    repeat_penalty: float = 1.0,
    presence_penalty: float = 0.0,
    frequency_penalty: float = 0.0,
    seed: int = 0,
) -> InferenceResult:
    """Prompt in, tokens out. Greedy at temperature 0, else sampled.

    No conversion is made: the checkpoint is read as it is, and the model stays open in the runtime for the next call.
    The two switches choose kernels on the devices that have a choice, metal and shim.
    """
    _check_prompt(prompt_token_ids, prompt_text, messages, tools)
    check_count("max_new_tokens", max_new_tokens, 1)
    check_count("warmup_prefills", warmup_prefills, 0)
    params = SamplingParams(
        max_tokens=max_new_tokens,
        temperature=check_temperature(temperature),
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        repetition_penalty=repeat_penalty,
        presence_penalty=presence_penalty,
        frequency_penalty=frequency_penalty,
        seed=seed,
    )
    with named(fixed=False):
        model = open_model(
            runtime,
            checkpoint_dir,
            converted_checkpoint_dir,
            no_mirror=use_native_grouped_fa_attn_no_mirror,
            msl_parity=use_msl_parity_all_roles,
        )
        ids = prompt_ids(model, prompt_token_ids, prompt_text, messages, tools)
        if max_ctx is not None:
            check_count("max_ctx", max_ctx, len(ids) + max_new_tokens)
        for _ in range(warmup_prefills):
            finish(model.stream(ids, SamplingParams(max_tokens=1, temperature=0)), runtime.timeout)
        output = finish(model.stream(ids, params), runtime.timeout)
    return InferenceResult(
        token_ids=ids + output.token_ids,
        n_prompt=len(ids),
        stopped_on_eos=output.finish_reason == "stop",
        dispatches_per_token=model.dispatches,
        decode_tokens_per_sec=output.timings.decode_tokens_per_sec,
        prefill_tokens_per_sec=output.timings.prefill_tokens_per_sec,
        generated_text=output.text if prompt_token_ids is None else None,
    )


def decode_stream(
    *,
    checkpoint_dir: str | os.PathLike[str],
    prompt_token_ids: Sequence[int] | None = None,
    prompt_text: str | None = None,
    messages: Sequence[Message] | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    max_new_tokens: int = 16,
    use_msl_parity_all_roles: bool = True,
    use_native_grouped_fa_attn_no_mirror: bool = True,
    converted_checkpoint_dir: str | os.PathLike[str] | None = None,
    temperature: float = 0.0,
    timeout: float | None = 60.0,
    runtime: Runtime | None = None,
) -> Iterator[StreamedToken]:
    """Prompt in, tokens out one by one. Greedy. Leaving the loop ends the reply.

    timeout: seconds that one token may take, the first with the prompt. runtime: where to run; else one that all calls
    without one share.
    """
    _check_prompt(prompt_token_ids, prompt_text, messages, tools)
    check_count("max_new_tokens", max_new_tokens, 1)
    if check_temperature(temperature) > 0:
        raise InferenceError("sampling_not_supported_in_stream", f"temperature: expected 0, got {temperature}")
    with named(fixed=False):
        model = open_model(
            runtime or default_runtime(),
            checkpoint_dir,
            converted_checkpoint_dir,
            no_mirror=use_native_grouped_fa_attn_no_mirror,
            msl_parity=use_msl_parity_all_roles,
        )
        ids = prompt_ids(model, prompt_token_ids, prompt_text, messages, tools)
        stream = model.stream(ids, SamplingParams(max_tokens=max_new_tokens, temperature=0))
    return _tokens(stream, len(ids), prompt_token_ids is None, timeout)


def _tokens(stream: Stream, position: int, texts: bool, timeout: float | None) -> Iterator[StreamedToken]:
    with stream, named(fixed=False):
        while chunk := stream.next_within(timeout):
            for token in chunk.token_ids:
                position += 1
                yield StreamedToken(
                    token_id=token,
                    text_delta=chunk.text if texts else None,
                    position=position,
                    done=chunk.finish_reason is not None,
                    stopped_on_eos=chunk.finish_reason == "stop",
                )


def decode_batched(
    runtime: Runtime,
    *,
    checkpoint_dir: str | os.PathLike[str],
    prompt_token_ids_list: Sequence[Sequence[int]],
    max_new_tokens: int = 16,
    use_msl_parity_all_roles: bool = True,
    converted_checkpoint_dir: str | os.PathLike[str] | None = None,
    timeout: float | None = None,
) -> BatchedInferenceResult:
    """1 to 32 prompts, decoded together. Greedy; each reply has exactly `max_new_tokens` tokens.

    timeout: seconds for all of it, in place of the runtime's.
    """
    prompts = [check_ids(f"prompt_token_ids_list[{n}]", ids) for n, ids in enumerate(prompt_token_ids_list)]
    if not 1 <= len(prompts) <= MOST_SEQUENCES:
        raise invalid("prompt_token_ids_list", f"1 to {MOST_SEQUENCES} prompts", len(prompts))
    check_count("max_new_tokens", max_new_tokens, 1)
    params = SamplingParams(max_tokens=max_new_tokens, temperature=0, ignore_eos=True)
    with named(fixed=False):
        model = open_model(runtime, checkpoint_dir, converted_checkpoint_dir, msl_parity=use_msl_parity_all_roles)
        outputs = model.generate_together(
            prompts, [params] * len(prompts), runtime.timeout if timeout is None else timeout
        )
    timings = [output.timings for output in outputs]
    decode = max(time.decode_seconds for time in timings)
    prefill = sum(time.prefill_seconds for time in timings)
    return BatchedInferenceResult(
        generated_token_ids=[output.token_ids for output in outputs],
        n_prompt_total=sum(map(len, prompts)),
        stopped_on_eos=False,
        dispatches_per_token=model.dispatches,
        decode_tokens_per_sec=sum(time.decoded_tokens for time in timings) / decode if decode else 0.0,
        prefill_tokens_per_sec=sum(time.prefilled_tokens for time in timings) / prefill if prefill else 0.0,
        prefill_chunks=len(prompts),
    )


def prepare_model_checkpoint(
    checkpoint_dir: str | os.PathLike[str],
    prompt_token_ids: Sequence[int],
    *,
    out_dir: str | os.PathLike[str] | None = None,
    weights_dtype: str = "f64",
) -> Path:
    """Writes `manifest.json` and `weights.blob` of a checkpoint, and gives their folder: `out_dir`, else a new one.

    No decode function needs them. `docs/converted-checkpoint.md` describes both files.
    """
    if weights_dtype not in ("f64", "f32"):
        raise invalid("weights_dtype", "f64 or f32", weights_dtype)
    return convert(checkpoint_dir, prompt_token_ids, out_dir, f32=weights_dtype == "f32", fixed=False)


def convert(
    checkpoint_dir: str | os.PathLike[str],
    prompt_token_ids: Sequence[int],
    out_dir: str | os.PathLike[str] | None,
    *,
    f32: bool,
    fixed: bool,
) -> Path:
    """Writes the converted pair, for the fixed shape or any."""
    ids = check_ids("prompt_token_ids", prompt_token_ids)
    with named(fixed):
        if fixed:
            _native.check_fixed_shape(os.fspath(checkpoint_dir))
        out = Path(mkdtemp(prefix="tilewright-") if out_dir is None else out_dir)
        _native.convert(os.fspath(checkpoint_dir), os.fspath(out), ids, f32, fixed)
    return out
