"""The matrix of estimators and modifiers: each cell planned, or refused with a reason."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from dalenius.plans.modifier import Modifier, modifiers
from dalenius.testing.combinations import GROUP, SHAPES, methods, refusal


@dataclass(frozen=True, order=True)
class Combination:
    """A cell of the matrix; `refusal` is the reason of what refuses it, or nothing."""

    estimator: str
    modifiers: tuple[str, ...]
    shape: str
    refusal: str = ""


def combined() -> tuple[Modifier, ...]:
    """Modifiers that any shape can be combined with: all but margins, which are a shape."""
    return (GROUP, *(each for each in modifiers() if "margins" not in each.example.get("table", {})))


def matrix(
    together: int = 1, shapes: Sequence[str] = tuple(SHAPES), estimators: Sequence[str] = ()
) -> Iterator[Combination]:
    """Every estimator, or the named ones, with so many modifiers at once, in every shape; modifiers that ask for other
    values of one key exclude one another.
    """
    for name, method in sorted(methods().items()):
        if estimators and name not in estimators:
            continue
        for chosen in combinations(combined(), together):
            keys = [key for each in chosen for part in each.example.values() for key in part]
            if len(set(keys)) == len(keys):
                for shape in shapes:
                    names = tuple(each.name for each in chosen)
                    yield Combination(name, names, shape, refusal(method, chosen, shape))
