"""What follows from one request and one domain, computed once: a release reads its canonical form many times."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

Answer = TypeVar("Answer")
_MOST = 16


class _Same:
    """An object by its identity; requests and domains are never changed, and have no hash."""

    __slots__ = ("one",)

    def __init__(self, one: Any) -> None:
        self.one = one

    def __hash__(self) -> int:
        return id(self.one)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.one is self.one


def remembered(function: Callable[[Any, Any], Answer]) -> Callable[[Any, Any], Answer]:
    """Compute an answer of two documents once for the same two objects; refusals are computed again."""

    @lru_cache(maxsize=_MOST)
    def kept(request: _Same, domain: _Same) -> Answer:
        return function(request.one, domain.one)

    @wraps(function)
    def ask(request: Any, domain: Any) -> Answer:
        return kept(_Same(request), _Same(domain))

    return ask
