"""Search by halving: the largest or smallest number that fits, and brackets that are narrowed from both sides.

Every search keeps one end that fits and one that does not, and the caller names the end it takes. Where a result
bounds privacy that is the end that fits, which was judged itself: no error of rounding is left.
The first ends are taken on trust: only numbers strictly between them are judged.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from numpy.typing import NDArray

Number = TypeVar("Number", int, float, Fraction)
End = TypeVar("End")


class Ends(NamedTuple, Generic[End]):
    inside: End
    outside: End


def largest(fits: Callable[[int], bool], low: int, high: int) -> int:
    """Return the largest integer in [low, high) that fits, where all up to it do; `low` if none above it does."""
    return smallest(lambda number: not fits(number), low, high) - 1


def smallest(
    fits: Callable[[int], bool],
    low: int,
    high: int,
    guess: Callable[[int, int], int] = lambda low, high: (low + high) // 2,
) -> int:
    """Return the smallest integer in (low, high] that fits, where all from it on do; `high` if none below it does.

    `guess` names the next number between two ends, halving if left out.
    """
    while high - low > 1:
        middle = min(max(guess(low, high), low + 1), high - 1)
        if fits(middle):
            high = middle
        else:
            low = middle
    return high


def narrow(
    fits: Callable[[Number], bool | None],
    inside: Number,
    outside: Number,
    *,
    halvings: int | None = None,
    until: Callable[[Number, Number], bool] | None = None,
    between: Callable[[Number, Number], Number] | None = None,
) -> Ends[Number]:
    """Narrow the bracket so many times, or until its ends are close; `inside` may lie above or below `outside`.

    `between` names the next number and so its grid, the middle if left out. The search ends where that is one of the
    ends, and where `fits` answers None: it cannot tell. Fractions can be halved for ever, so that they need
    `halvings` or `until`.
    """
    left = halvings
    while left != 0 and not (until is not None and until(inside, outside)):
        middle: Any = (inside + outside) / 2 if between is None else between(inside, outside)
        if middle in (inside, outside) or (verdict := fits(middle)) is None:
            break
        inside, outside = (middle, outside) if verdict else (inside, middle)
        left = None if left is None else left - 1
    return Ends(inside, outside)


def narrow_each(
    fits: "Callable[[NDArray[Any]], NDArray[Any]]",
    inside: "NDArray[Any]",
    outside: "NDArray[Any]",
    *,
    halvings: int | None = None,
) -> "Ends[NDArray[Any]]":
    """Narrow many brackets at once: of integers until they are neighbours, of floats so many times at most."""
    import numpy as np

    is_whole = np.issubdtype(inside.dtype, np.integer)
    left = halvings
    while left != 0:
        middle = (inside + outside) // 2 if is_whole else (inside + outside) / 2
        is_open = (middle != inside) & (middle != outside)
        if not is_open.any():
            break
        verdict = fits(middle)
        inside, outside = np.where(is_open & verdict, middle, inside), np.where(is_open & ~verdict, middle, outside)
        left = None if left is None else left - 1
    return Ends(inside, outside)
