"""Text to ids and back."""

from __future__ import annotations

import os
from collections.abc import Sequence

from . import _native


class Tokenizer:
    """A tokenizer. What it does not understand it refuses: nearly right ids are wrong ids."""

    def __init__(self, native: _native.Tokenizer) -> None:
        self._native = native

    def encode(self, text: str, *, add_special_tokens: bool = False, parse_special: bool = False) -> list[int]:
        """The ids of a text.

        With `add_special_tokens` they begin as a prompt begins. With `parse_special` a control token spelled in the
        text is that token, else it is plain text.
        """
        return self._native.encode(text, add_special_tokens, parse_special)

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        """The text of ids."""
        return self._native.decode(list(ids), skip_special_tokens)

    def token_bytes(self, token_id: int) -> bytes | None:
        """The bytes an id stands for, which need not be whole characters; `None` for an unknown id."""
        found = self._native.token_bytes(token_id)
        return None if found is None else bytes(found)

    def token_to_id(self, token: str) -> int | None:
        """The id of a token by its name."""
        return self._native.id_of(token)

    @property
    def vocab_size(self) -> int:
        """One more than the highest id."""
        return self._native.vocab_size

    @property
    def special_ids(self) -> frozenset[int]:
        """The ids that the file calls special."""
        return frozenset(filter(self._native.is_special, range(self.vocab_size)))

    def bos_id(self) -> int | None:
        """The id at the beginning of a text, by `tokenizer_config.json`."""
        return self._named(0)

    def eos_id(self) -> int | None:
        """The id at the end of a text, by `tokenizer_config.json`."""
        return self._named(1)

    def _named(self, role: int) -> int | None:
        name = self._native.named()[role]
        return None if name is None else self._native.id_of(name)


def load_tokenizer(checkpoint_dir: str | os.PathLike[str]) -> Tokenizer:
    """The tokenizer in a folder, whose weights may be absent, or in a GGUF file."""
    return Tokenizer(_native.Tokenizer.open(os.fspath(checkpoint_dir)))
