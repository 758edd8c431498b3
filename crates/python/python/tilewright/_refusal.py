"""What is raised when something cannot be honoured."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """One mismatch: what was looked at, what it had to be, what it was."""

    what: str
    expected: str
    got: str


class Refusal(Exception):
    """Something cannot be honoured. `docs/refusals.md` lists every code with its remedy."""

    #: The stable number.
    code: int
    #: The stable name.
    name: str
    #: Everything that was wrong.
    fields: list[Finding]
    #: The file, option or request it is about.
    place: str | None
    #: What to do instead.
    remedy: str

    def __init__(
        self,
        code: int,
        name: str,
        fields: list[tuple[str, str, str]],
        place: str | None = None,
        remedy: str = "",
        message: str = "",
    ) -> None:
        super().__init__(code, name, fields, place, remedy, message)
        self.code = code
        self.name = name
        self.fields = [Finding(*field) for field in fields]
        self.place = place
        self.remedy = remedy
        self._message = message or f"{name} ({code})"

    def __str__(self) -> str:
        return self._message
