"""Language models of the Qwen3 and Llama families, on this machine.

    >>> import tilewright
    >>> model = tilewright.Model.load()            # the small story model inside the package
    >>> model.generate("Once upon a time", tilewright.SamplingParams(temperature=0, max_tokens=8)).text
    ', there was a little girl named Elara'

`docs/python.md` is the page about it. Nothing is printed, and nothing is ignored: what cannot be honoured raises
`Refusal`, with a stable code and everything that was wrong.
"""

from ._decode import (
    BatchedInferenceResult,
    InferenceResult,
    StreamedToken,
    decode,
    decode_batched,
    decode_stream,
    prepare_model_checkpoint,
)
from ._errors import (
    InferenceError,
    Qwen3DecodeError,
    UnsupportedArchitectureError,
    UnsupportedCheckpointArchitectureError,
)
from ._model import Message, Model
from ._native import VERSION as __version__
from ._native import Floats
from ._output import Chunk, Output, Stream, Timings, TokenLogprobs, Usage
from ._params import SamplingParams
from ._qwen3_decode import (
    QWEN3_0_6B_BASE_ARCHITECTURE,
    Qwen3DecodeResult,
    prepare_qwen3_checkpoint,
    qwen3_i8_allsimd7_decode,
)
from ._refusal import Finding, Refusal
from ._runtime import MojoRuntime, Runtime
from ._session import close_qwen3_decode_session, open_qwen3_decode_session, step_qwen3_decode_session
from ._template import apply_chat_template, split_tool_calls_from_generated_text
from ._tokenizer import Tokenizer, load_tokenizer

__all__ = [
    "QWEN3_0_6B_BASE_ARCHITECTURE",
    "BatchedInferenceResult",
    "Chunk",
    "Finding",
    "Floats",
    "InferenceError",
    "InferenceResult",
    "Message",
    "Model",
    "MojoRuntime",
    "Output",
    "Qwen3DecodeError",
    "Qwen3DecodeResult",
    "Refusal",
    "Runtime",
    "SamplingParams",
    "Stream",
    "StreamedToken",
    "Timings",
    "TokenLogprobs",
    "Tokenizer",
    "UnsupportedArchitectureError",
    "UnsupportedCheckpointArchitectureError",
    "Usage",
    "__version__",
    "apply_chat_template",
    "close_qwen3_decode_session",
    "decode",
    "decode_batched",
    "decode_stream",
    "load_tokenizer",
    "open_qwen3_decode_session",
    "prepare_model_checkpoint",
    "prepare_qwen3_checkpoint",
    "qwen3_i8_allsimd7_decode",
    "split_tool_calls_from_generated_text",
    "step_qwen3_decode_session",
]
