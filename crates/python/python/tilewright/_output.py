"""What a model answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypedDict

from ._native import Reply


class End(TypedDict):
    """How a reply ended, as the native half says it."""

    finish_reason: str
    stop_reason: int | str | None
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    prefill_seconds: float
    prefilled_tokens: int
    decode_seconds: float
    decoded_tokens: int
    first_token_seconds: float


class Report(TypedDict):
    """What a step gave, as the native half says it."""

    text: str
    reasoning: str
    token_ids: list[int]
    logprobs: list[tuple[float, list[tuple[int, float]]]]
    end: End | None


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """Natural logarithms of what the model thought, before penalties, temperature and filters."""

    #: Of the token chosen.
    chosen: float
    #: The most likely ids with theirs, most likely first.
    top: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens counted."""

    prompt_tokens: int
    #: How many of the prompt's were in memory already.
    cached_tokens: int
    #: An end token included.
    completion_tokens: int

    @property
    def total_tokens(self) -> int:
        """Prompt and reply together."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Timings:
    """Time spent. Sampling counts as decoding, loading does not count."""

    prefill_seconds: float
    prefilled_tokens: int
    decode_seconds: float
    #: Decode steps: the first token needs none.
    decoded_tokens: int
    #: From the beginning to the first token.
    first_token_seconds: float

    @property
    def prefill_tokens_per_sec(self) -> float:
        """Tokens of the prompt taken in a second; 0 when there were none."""
        return self.prefilled_tokens / self.prefill_seconds if self.prefill_seconds else 0.0

    @property
    def decode_tokens_per_sec(self) -> float:
        """Decode steps a second; 0 when there was none."""
        return self.decoded_tokens / self.decode_seconds if self.decode_seconds else 0.0


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one step of a reply gave. The texts of all chunks joined are the text of the reply."""

    text: str
    token_ids: tuple[int, ...]
    #: Text of a reasoning block, which is no part of `text`.
    reasoning: str = ""
    #: One for each token, where asked for.
    logprobs: tuple[TokenLogprobs, ...] = ()
    #: `stop`, `length` or `cancelled` in the last chunk.
    finish_reason: str | None = None
    #: The id or string that ended the reply.
    stop_reason: int | str | None = None
    usage: Usage | None = None
    timings: Timings | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """A whole reply."""

    text: str
    #: Every token, an end token included.
    token_ids: list[int]
    #: `stop`, `length` or `cancelled`.
    finish_reason: str
    #: The id or string that ended the reply.
    stop_reason: int | str | None
    usage: Usage
    timings: Timings
    #: Text of a reasoning block, which is no part of `text`.
    reasoning: str = ""
    #: One for each token, where asked for.
    logprobs: list[TokenLogprobs] | None = None


def _usage(end: End) -> Usage:
    return Usage(end["prompt_tokens"], end["cached_tokens"], end["completion_tokens"])


def _timings(end: End) -> Timings:
    return Timings(
        end["prefill_seconds"],
        end["prefilled_tokens"],
        end["decode_seconds"],
        end["decoded_tokens"],
        end["first_token_seconds"],
    )


def _logprobs(report: Report) -> tuple[TokenLogprobs, ...]:
    return tuple(TokenLogprobs(chosen, tuple(top)) for chosen, top in report["logprobs"])


def chunk_of(report: Report) -> Chunk:
    """A step as it is shown."""
    end = report["end"]
    return Chunk(
        text=report["text"],
        token_ids=tuple(report["token_ids"]),
        reasoning=report["reasoning"],
        logprobs=_logprobs(report),
        finish_reason=end["finish_reason"] if end else None,
        stop_reason=end["stop_reason"] if end else None,
        usage=_usage(end) if end else None,
        timings=_timings(end) if end else None,
    )


def output_of(chunks: list[Chunk]) -> Output:
    """All steps of a reply together."""
    last = chunks[-1]
    assert last.finish_reason is not None and last.usage is not None and last.timings is not None
    return Output(
        text="".join(chunk.text for chunk in chunks),
        token_ids=[token for chunk in chunks for token in chunk.token_ids],
        finish_reason=last.finish_reason,
        stop_reason=last.stop_reason,
        usage=last.usage,
        timings=last.timings,
        reasoning="".join(chunk.reasoning for chunk in chunks),
        logprobs=[found for chunk in chunks for found in chunk.logprobs] or None,
    )


class Stream(Iterator[Chunk]):
    """A reply as it comes. `close()`, leaving a `with` block or dropping it ends it within a step."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Chunk:
        chunk = self.next_within(None)
        if chunk is None:
            raise StopIteration
        return chunk

    def next_within(self, seconds: float | None) -> Chunk | None:
        """The next chunk, `None` after the end. `TimeoutError`, which ends the reply, when it takes longer."""
        report = self._reply.next(seconds)
        return None if report is None else chunk_of(report)

    def output(self) -> Output:
        """Everything from here to the end at once."""
        chunks = list(self)
        if not chunks:
            raise ValueError("the reply has ended")
        return output_of(chunks)

    def close(self) -> None:
        """Ends the reply and frees what it held. Closing again changes nothing."""
        self._reply.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
