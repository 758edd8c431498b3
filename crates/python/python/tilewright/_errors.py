"""The errors of the decode functions: each has a stable `code`, a string."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ._refusal import Refusal


class InferenceError(RuntimeError):
    """A decode that was refused or failed."""

    #: A stable name.
    code: str

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code

    def __str__(self) -> str:
        return str(self.args[1])


class UnsupportedArchitectureError(InferenceError):
    """The checkpoint is of an architecture that is not supported."""


class Qwen3DecodeError(InferenceError):
    """What the functions for Qwen3-0.6B-Base refuse."""


class UnsupportedCheckpointArchitectureError(Qwen3DecodeError):
    """The checkpoint has another shape than Qwen3-0.6B-Base; the message names every fact that differs."""


#: Refusals that say: this architecture is not supported.
_ARCHITECTURE = ("unsupported_architecture", "fixed_shape_mismatch", "rope_contradictory")
#: Refusals about what the caller gave.
_ARGUMENTS = ("request_invalid", "sampling_invalid", "token_unknown", "context_full")


@contextmanager
def named(fixed: bool) -> Iterator[None]:
    """Raises refusals as the errors of the decode functions; those of the fixed shape with `fixed`."""
    plain = Qwen3DecodeError if fixed else InferenceError
    shape = UnsupportedCheckpointArchitectureError if fixed else UnsupportedArchitectureError
    try:
        yield
    except Refusal as refusal:
        if refusal.name in _ARCHITECTURE:
            raise shape("unsupported_architecture", str(refusal)) from refusal
        code = "invalid_arguments" if refusal.name in _ARGUMENTS else refusal.name
        raise plain(code, str(refusal)) from refusal
    except TimeoutError as error:
        raise plain("runtime_execution_failed", str(error)) from error
