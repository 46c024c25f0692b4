"""The second, guarded door: exact results for the custodian's own eyes.

What comes through here is `Confidential`: it prints under a banner, refuses pickle and JSON and every release format,
never reaches the server, and each use is a ledger line. Choosing a request after such a look is outside the guarantee.
"""

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from dalenius.errors import NotPublic

BANNER = "CONFIDENTIAL: exact values, for the custodian only. Do not publish, log, mail or paste."


class Confidential:
    """An exact result that shows itself to the custodian and goes nowhere else."""

    __slots__ = ("_hold", "title")

    def __init__(self, title: str, content: Mapping[str, Any]) -> None:
        self.title = title
        kept = dict(content)
        # Held by a function: whoever lists attributes must reveal it, or print it under its banner.
        self._hold: Callable[[], dict[str, Any]] = lambda: kept

    def reveal(self) -> dict[str, Any]:
        """The exact content; the caller takes responsibility for where it goes."""
        return dict(self._hold())

    def __repr__(self) -> str:
        return f"Confidential({self.title!r})"

    def __str__(self) -> str:
        lines = [BANNER, self.title, *(f"  {key}: {value}" for key, value in self._hold().items())]
        return "\n".join(lines)

    def _refuse(self, *_: object) -> NoReturn:
        raise NotPublic(
            "A confidential result cannot be saved, sent or serialised; ask for a release instead."
        )

    __getstate__ = _refuse
    __reduce__ = _refuse
    __reduce_ex__ = _refuse
    __copy__ = _refuse
    __deepcopy__ = _refuse
    __iter__ = _refuse
