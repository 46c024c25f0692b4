"""What follows from one request and one domain, computed once: a release reads its canonical form many times."""

from collections import deque
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Answer = TypeVar("Answer")
_MOST = 16


def remembered(function: Callable[[Any, Any], Answer]) -> Callable[[Any, Any], Answer]:
    """Compute an answer of two documents once for the same two objects; refusals are computed again.

    Requests and domains are never changed and have no hash: the last few are compared by identity.
    """
    kept: deque[tuple[Any, Any, Answer]] = deque(maxlen=_MOST)

    @wraps(function)
    def ask(request: Any, domain: Any) -> Answer:
        for one, other, answer in tuple(kept):
            if one is request and other is domain:
                return answer
        answer = function(request, domain)
        kept.append((request, domain, answer))
        return answer

    return ask
