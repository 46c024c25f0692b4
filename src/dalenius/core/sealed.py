"""An exact value that will not show itself.

Below the gate everything computed from microdata travels as `Sealed`. There is no repr, no equality, no pickle,
no JSON and no attribute that shows the content; `open_below_the_gate` is the one way in, and an architecture test
lists who calls it. What the custodian's own door shows travels as `Confidential`: it prints itself under a banner, and
refuses pickle, JSON and every release format.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, NoReturn, TypeVar

from dalenius.errors import NotPublic

T = TypeVar("T")
BANNER = "CONFIDENTIAL: exact values, for the custodian only. Do not publish, log, mail or paste."


class Sealed(Generic[T]):
    __slots__ = ("_hold",)

    def __init__(self, content: T) -> None:
        # Held by a function, not by an attribute: whatever lists attributes, private ones too, finds no content.
        self._hold: Callable[[], T] = lambda: content

    def open_below_the_gate(self) -> T:
        """The exact value: for measurements and the custodian's inspection only."""
        return self._hold()

    def __repr__(self) -> str:
        return "Sealed(…)"

    def _refuse(self, *_: object) -> NoReturn:
        raise NotPublic("An exact value was asked for outside the gate; ask for a release instead.")

    __eq__ = __hash__ = __bool__ = __len__ = __iter__ = __format__ = __array__ = __float__ = __int__ = _refuse
    __getstate__ = __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = _refuse


class Confidential:
    __slots__ = ("_hold", "title")

    def __init__(self, title: str, content: Mapping[str, Any]) -> None:
        self.title = title
        exact = dict(content)
        # Held by a function: whoever lists attributes must reveal it, or print it under its banner.
        self._hold: Callable[[], dict[str, Any]] = lambda: exact

    def reveal(self) -> dict[str, Any]:
        """The exact content; the caller takes responsibility for where it goes."""
        return dict(self._hold())

    def __repr__(self) -> str:
        return f"Confidential({self.title!r})"

    def __str__(self) -> str:
        return "\n".join([BANNER, self.title, *_lines(self._hold(), "  ")])

    def _refuse(self, *_: object) -> NoReturn:
        raise NotPublic("A confidential result cannot be saved, sent or serialised; ask for a release instead.")

    __getstate__ = __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = __iter__ = _refuse


def _lines(content: Mapping[Any, Any], margin: str) -> Iterator[str]:
    """A line for each figure; what stands below a name is set in."""
    for name, value in content.items():
        listed = isinstance(value, list | tuple) and any(isinstance(part, str) for part in value)
        below = dict(enumerate(value, start=1)) if listed else value
        if isinstance(below, Mapping) and below:
            figures = list(below.values())
            is_flat = not any(isinstance(figure, Mapping | str) for figure in figures)
            if is_flat:
                yield f"{margin}{name}: {', '.join(f'{key} {figure}' for key, figure in below.items())}"
            else:
                yield f"{margin}{name}:"
                yield from _lines(below, margin + "  ")
        else:
            yield f"{margin}{name}: {value}"
