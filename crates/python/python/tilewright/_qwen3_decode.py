"""The functions that are defined for one shape: Qwen3-0.6B-Base."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import _native
from ._decode import Decoded, check_count, check_ids, convert, finish, open_model
from ._errors import InferenceError, Qwen3DecodeError, named
from ._params import SamplingParams
from ._runtime import Runtime

#: The ten facts of `config.json`, as they have to stand there.
QWEN3_0_6B_BASE_ARCHITECTURE: dict[str, int | bool | str] = {
    "hidden_size": 1024,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 3072,
    "vocab_size": 151936,
    "tie_word_embeddings": True,
    "attention_bias": False,
    "hidden_act": "silu",
}


@dataclass(frozen=True, slots=True)
class Qwen3DecodeResult(Decoded):
    """What `qwen3_i8_allsimd7_decode` gives."""


def qwen3_i8_allsimd7_decode(
    runtime: Runtime,
    *,
    checkpoint_dir: str | os.PathLike[str],
    prompt_token_ids: Sequence[int],
    max_new_tokens: int = 16,
    converted_checkpoint_dir: str | os.PathLike[str] | None = None,
) -> Qwen3DecodeResult:
    """Prompt in, tokens out, greedy, for the shape of Qwen3-0.6B-Base and no other.

    The checkpoint is read as it is. With a converted pair the prompt is the one folded into it, and `prompt_token_ids`
    are not looked at.
    """
    try:
        check_count("max_new_tokens", max_new_tokens, 1)
        ids = [] if converted_checkpoint_dir is not None else check_ids("prompt_token_ids", prompt_token_ids)
        with named(fixed=True):
            _native.check_fixed_shape(os.fspath(checkpoint_dir))
            if converted_checkpoint_dir is not None:
                found = _native.config(os.fspath(converted_checkpoint_dir))
                ids = check_ids("the prompt of the converted pair", found["prompt_ids"])
            model = open_model(runtime, checkpoint_dir, converted_checkpoint_dir)
            params = SamplingParams(max_tokens=max_new_tokens, temperature=0)
            output = finish(model.stream(ids, params), runtime.timeout)
    except InferenceError as error:
        raise _of_this_shape(error) from error.__cause__
    return Qwen3DecodeResult(
        token_ids=ids + output.token_ids,
        n_prompt=len(ids),
        stopped_on_eos=output.finish_reason == "stop",
        dispatches_per_token=model.dispatches,
        decode_tokens_per_sec=output.timings.decode_tokens_per_sec,
        prefill_tokens_per_sec=output.timings.prefill_tokens_per_sec,
    )


def prepare_qwen3_checkpoint(
    checkpoint_dir: str | os.PathLike[str],
    prompt_token_ids: Sequence[int],
    *,
    out_dir: str | os.PathLike[str] | None = None,
) -> Path:
    """Writes `manifest.json` and `weights.blob` in f64, and gives their folder: `out_dir`, else a new one."""
    try:
        return convert(checkpoint_dir, prompt_token_ids, out_dir, f32=False, fixed=True)
    except InferenceError as error:
        raise _of_this_shape(error) from error.__cause__


def _of_this_shape(error: InferenceError) -> Qwen3DecodeError:
    return error if isinstance(error, Qwen3DecodeError) else Qwen3DecodeError(error.code, str(error))
