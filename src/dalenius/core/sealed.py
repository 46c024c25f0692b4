"""An exact value that will not show itself.

Below the gate everything computed from microdata travels as `Sealed`. There is no repr, no equality, no pickle,
no JSON and no attribute that shows the content; `open_below_the_gate` is the one way in, and an architecture test
lists who calls it.
"""

from collections.abc import Callable
from typing import Generic, NoReturn, TypeVar

from dalenius.errors import NotPublic

T = TypeVar("T")


class Sealed(Generic[T]):
    """Opaque box around an exact value."""

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

    __eq__ = _refuse
    __hash__ = _refuse
    __bool__ = _refuse
    __len__ = _refuse
    __iter__ = _refuse
    __getstate__ = _refuse
    __reduce__ = _refuse
    __reduce_ex__ = _refuse
    __copy__ = _refuse
    __deepcopy__ = _refuse
    __format__ = _refuse
    __array__ = _refuse
    __float__ = _refuse
    __int__ = _refuse
