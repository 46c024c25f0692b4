"""Ways to measure the sums of a plan: which of them are measured together, and the declared share of each part."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from dalenius.algebra.estimator import ROWS
from dalenius.plans.sum_parts import SumPart, parabola, reads_apart, single, spread_apart
from dalenius.plans.sum_plan import MeasuredPart, SumPlan
from dalenius.spec.question import Question

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
        sizes = [_size(each) for each in spread]
        shares = [(1 - part) / len(reads)] * len(reads) + [part * size / sum(sizes) for size in sizes]
        return cls(parts=(*reads, *spread), shares=tuple(shares), spread=len(spread))

    def measured(self, question: Question, shares: tuple[Fraction, ...] | None = None) -> tuple[MeasuredPart, ...]:
        """Every part with noise for its share."""
        pairs = zip(self.parts, shares or self.shares, strict=True)
        return tuple(each.measured(question, part) for each, part in pairs)


def _size(part: SumPart) -> int:
    return max(max(2 * len(name.split()) - 3, 1) for name in part.products)


def declared(plan: SumPlan) -> Layout:
    """Every sum by itself but for the number of rows and the total of x."""
    spread = spread_apart(plan) if plan.products else ()
    return Layout.of(reads_apart(plan), spread, plan.estimator.spread_share)


def layouts(plan: SumPlan) -> Iterator[Callable[[], Layout]]:
    """All ways, the plainest first; each may be refused."""
    if plan.size is not None and plan.reads == (ROWS, "x") and plan.products:
        yield from (partial(_on_parabola, plan, is_pure=is_pure) for is_pure in _norms(plan.question))
    else:
        yield partial(declared, plan)


def _norms(question: Question) -> list[bool]:
    """Whether the noise may be of bounded loss, and whether it may be normal."""
    budget = question.budget
    return ([] if budget.epsilon is None else [True]) + ([] if budget.rho is budget.delta is None else [False])


def _on_parabola(plan: SumPlan, *, is_pure: bool) -> Layout:
    """Total and squares of a public number of rows together."""
    together = parabola(plan, is_pure=is_pure)
    reads = (together, *(single(plan, name, is_product=False) for name in plan.reads if name not in together.sums))
    told = {*together.products}
    spread = spread_apart(plan, told) if set(plan.products) - told else ()
    return Layout.of(reads, spread, plan.estimator.spread_share)
