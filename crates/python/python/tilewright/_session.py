"""A decode that goes on when it is asked: open, step, close."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import TypedDict

from ._decode import check_count, check_ids, open_model
from ._errors import InferenceError, named
from ._model import Model
from ._output import Stream
from ._params import SamplingParams
from ._runtime import Runtime, default_runtime


class Step(TypedDict):
    """One token of a session."""

    token_id: int
    #: Tokens so far, prompt and reply.
    position: int
    done: bool
    stopped_on_eos: bool
    #: Launches this token took, on a device that counts them; 0 for the first, which the prompt gives.
    dispatches: int


@dataclass(slots=True)
class _Session:
    model: Model
    stream: Stream
    module: str
    position: int
    last: Step | None = None
    lock: Lock = field(default_factory=Lock)


_sessions: dict[str, _Session] = {}
_numbers = count(1)
_given: set[str] = set()
_guard = Lock()


def open_qwen3_decode_session(
    checkpoint_dir: str | os.PathLike[str],
    prompt_token_ids: Sequence[int],
    *,
    max_new_tokens: int,
    routing_module: str = "metaldispatch.qwen3_decode",
    timeout: float | None = None,
    require_verified: bool = False,
    use_native_grouped_fa_attn_no_mirror: bool = True,
    use_msl_parity_all_roles: bool = True,
    runtime: Runtime | None = None,
) -> str:
    """Opens a session, greedy, and gives its handle. Of each `routing_module` one session can be open.

    Nothing is computed before the first step, so `timeout` has nothing to bound here. `require_verified` asks whether the
    code is the one that was published, which no file of this package knows: it is refused.
    """
    if require_verified:
        raise InferenceError("invalid_arguments", "require_verified: expected False, as nothing here is signed")
    ids = check_ids("prompt_token_ids", prompt_token_ids)
    check_count("max_new_tokens", max_new_tokens, 1)
    with _guard:
        if any(session.module == routing_module for session in _sessions.values()):
            raise InferenceError("qwen3_session_already_open", f"{routing_module}: expected no open session, got one")
        with named(fixed=False):
            model = open_model(
                runtime or default_runtime(),
                checkpoint_dir,
                None,
                no_mirror=use_native_grouped_fa_attn_no_mirror,
                msl_parity=use_msl_parity_all_roles,
            )
            stream = model.stream(ids, SamplingParams(max_tokens=max_new_tokens, temperature=0))
        handle = f"qwen3-{next(_numbers)}"
        _sessions[handle] = _Session(model, stream, routing_module, len(ids))
        _given.add(handle)
    return handle


def step_qwen3_decode_session(
    handle: str,
    *,
    routing_module: str = "metaldispatch.qwen3_decode",
    timeout: float | None = 60.0,
    require_verified: bool = False,
) -> Step:
    """The next token. After the last one it is given again, however often it is asked for."""
    session = _find(handle, routing_module)
    with session.lock:
        if session.last is not None and session.last["done"]:
            return session.last
        with named(fixed=False):
            chunk = session.stream.next_within(timeout)
        if chunk is None or not chunk.token_ids:
            raise InferenceError("qwen3_session_not_found", f"{handle}: expected an open session, got one that ended")
        session.position += 1
        session.last = Step(
            token_id=chunk.token_ids[0],
            position=session.position,
            done=chunk.finish_reason is not None,
            stopped_on_eos=chunk.finish_reason == "stop",
            dispatches=0 if session.last is None else session.model.dispatches,
        )
        return session.last


def close_qwen3_decode_session(
    handle: str,
    *,
    routing_module: str = "metaldispatch.qwen3_decode",
    timeout: float | None = None,
    require_verified: bool = False,
) -> bool:
    """Frees a session within a step; whether it was open. Closing again changes nothing."""
    with _guard:
        session = _sessions.pop(handle, None)
        if session is None and handle not in _given:
            raise _unknown(handle)
    if session is not None:
        session.stream.close()
    return session is not None


def _find(handle: str, routing_module: str) -> _Session:
    session = _sessions.get(handle)
    if session is None or session.module != routing_module:
        raise _unknown(handle)
    return session


def _unknown(handle: str) -> InferenceError:
    return InferenceError("qwen3_session_not_found", f"{handle}: expected an open session, got none")
