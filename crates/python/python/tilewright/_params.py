"""How to sample, and when a reply ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """How to sample, and when a reply ends. `None` leaves a value to the model's `generation_config.json`.

    An unknown name is a `TypeError`; a value out of its range is a `Refusal`, with all others that are.
    `docs/sampling.md` says what each does.
    """

    #: Tokens to generate at most. `None`: the rest of the context.
    max_tokens: int | None = None
    #: Tokens before which nothing ends the reply.
    min_tokens: int = 0
    #: 0: always the most likely token.
    temperature: float | None = None
    #: Keep the k most likely. 0: all.
    top_k: int | None = None
    #: Keep the smallest set of most likely tokens with this much probability. 1: all.
    top_p: float | None = None
    #: Keep tokens at least this likely relative to the most likely. 0: all.
    min_p: float | None = None
    #: Makes ids seen lately less likely. 1: off.
    repetition_penalty: float | None = None
    #: How many of the latest ids count as lately. 0: none, -1: all.
    repeat_last_n: int | None = None
    #: Subtracted once from the logit of every id of the reply.
    presence_penalty: float | None = None
    #: Subtracted from the logit of an id for each time it is in the reply.
    frequency_penalty: float | None = None
    #: Added to logits of single ids.
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    #: Key of the random draws: the same seed gives the same reply. `None`: a fresh one.
    seed: int | None = None
    #: Strings that end the reply.
    stop: str | Sequence[str] = ()
    #: Ids that end the reply, besides the model's.
    stop_token_ids: Sequence[int] = ()
    #: Do not stop at the model's own end ids.
    ignore_eos: bool = False
    #: Keep the stop string at the end of the text.
    include_stop_str_in_output: bool = False
    #: Leave special tokens out of the text.
    skip_special_tokens: bool = True
    #: Report log-probabilities with this many alternatives, 0 to 20.
    logprobs: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.stop, str):
            object.__setattr__(self, "stop", (self.stop,))
