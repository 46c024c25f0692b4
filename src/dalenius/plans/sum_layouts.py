"""Ways to measure the sums of a plan: which of them are measured together, and the declared share of each part."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import prod

from dalenius.algebra.estimator import ROWS
from dalenius.plans.sum_parts import SumPart, parabola, powers, reads_apart, single, spread_apart
from dalenius.plans.sum_plan import SumPlan

# Powers and products that are measured at the price of one are at most so many: the noise of a sum grows with them.
MOST_ARRAYS = 9
Parts = tuple[SumPart, ...]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Parts with a declared share each; the last `spread` of them are for the error of sampling alone."""

    parts: Parts
    shares: tuple[Fraction, ...]
    spread: int = 0

    @classmethod
    def of(cls, reads: Parts, spread: Parts, part: Fraction) -> "Layout":
        """Equal shares for what the estimator reads; of what is left higher powers, which move further, take more."""
        part = part if spread else Fraction(0)
        sizes = [max(max(2 * len(name.split()) - 3, 1) for name in each.products) for each in spread]
        shares = [(1 - part) / len(reads)] * len(reads) + [part * size / sum(sizes) for size in sizes]
        return cls(parts=(*reads, *spread), shares=tuple(shares), spread=len(spread))


def declared(plan: SumPlan) -> Layout:
    """Every sum by itself but for the number of rows and the total of x."""
    spread = spread_apart(plan) if plan.products else ()
    return Layout.of(reads_apart(plan), spread, plan.estimator.spread_share)


def layouts(plan: SumPlan) -> Iterator[Callable[[], Layout]]:
    """All ways, the plainest first; each may be refused."""
    if plan.size is not None and "x" not in plan.raw and "x x" in (*plan.reads, *plan.products):
        # Whether the noise may be of bounded loss, and whether it may be normal.
        budget = plan.question.budget
        norms = ([] if budget.epsilon is None else [True]) + ([] if budget.rho is budget.delta is None else [False])
        shapes = [partial(_beside, plan, partial(parabola, is_pure=is_pure)) for is_pure in norms]
        if plan.reads == (ROWS, "x"):
            yield from shapes
            return
        yield from (partial(declared, plan), *shapes)
    else:
        yield partial(declared, plan)
    if plan.classes is not None:
        return
    for degrees in _boxes(plan, plan.reads):
        yield partial(_beside, plan, partial(powers, degrees=degrees, weighted=1))
    # Higher powers make what is read more exact, too, whether the error of sampling needs them or not.
    whole = replace(plan, has_sampling=True)
    if not whole.products or whole.uses_influence or plan.weight is not None:
        return
    for degrees in _boxes(plan, whole.products):
        names = [name.split() for name in plan.products]
        is_covering = all(name.count(role) <= degree for name in names for role, degree in degrees.items())
        if len(names) > 1 and is_covering:
            yield partial(_spread_boxed, plan, degrees)
        if ROWS in plan.reads or len(degrees) > 1:
            yield partial(_beside, plan, partial(powers, degrees=degrees, weighted=1))


def _boxes(plan: SumPlan, names: tuple[str, ...]) -> list[dict[str, int]]:
    """Degrees of the roles up to which powers are measured together: those of all these sums, and of products of
    single roles.
    """
    roles = [role for role in sorted(plan.variables) if role in plan.bounds]
    highest = {role: max(name.split().count(role) for name in names) for role in roles}
    every = [dict.fromkeys(roles, 1)] if len(roles) > 1 else []
    every += [highest] if sum(highest.values()) > 1 and highest not in every else []
    arrays = [prod(degree + 1 for degree in degrees.values()) for degrees in every]
    return [degrees for degrees, many in zip(every, arrays, strict=True) if many <= MOST_ARRAYS]


def _beside(plan: SumPlan, make: Callable[[SumPlan], SumPart]) -> Layout:
    """What is told together, and every other sum by itself."""
    together = make(plan)
    told = {*together.sums} if plan.size is None else {*together.sums, ROWS}
    reads = (together, *(single(plan, name, is_product=False) for name in plan.reads if name not in told))
    has_more = bool({*plan.products} - {*together.products})
    spread = spread_apart(plan, together.products) if has_more else ()
    return Layout.of(reads, spread, plan.estimator.spread_share)


def _spread_boxed(plan: SumPlan, degrees: dict[str, int]) -> Layout:
    """What the error of sampling needs together."""
    return Layout.of(reads_apart(plan), (powers(plan, degrees, 2),), plan.estimator.spread_share)
