"""Costs in parallel and for a group, and the optimum for a fixed plan.

Parallel composition holds only for a partition whose rule looks at one record at a time and was fixed without looking
at data. The optimum holds for steps whose parameters were fixed in advance.

References: Kairouz, Oh & Viswanath (2017); Bun & Steinke (2016); McSherry (2009) for parallel composition.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from dalenius.core.budget import Cost
from dalenius.core.neighbours import Relation
from dalenius.errors import ParameterError, Unsupported
from dalenius.exact.loss import LossDistribution, of_statement
from dalenius_lab.accounting.conversions import to_replace


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionPart:
    """What is done inside one part of a partition: its cost under add-remove, and under replace if it is known.

    A part must be private under add-remove, because the sizes of the parts change. A step that takes its part's size
    for public gives no guarantee.
    """

    add_remove: Cost
    replace: Cost | None = None

    def __post_init__(self) -> None:
        if self.add_remove.relation is not Relation.ADD_REMOVE:
            raise Unsupported("Each part of a partition must be private under add-remove.")
        if self.replace is not None and self.replace.relation is not Relation.REPLACE:
            raise Unsupported("The second cost of a part is the one under replace.")

    @property
    def replaced(self) -> Cost:
        """Cost of a replacement inside the part: as stated, or as one removal and one addition."""
        return self.replace if self.replace is not None else to_replace(self.add_remove)


def in_parallel(parts: Sequence[PartitionPart], relation: Relation, *, is_fixed_in_advance: bool) -> Cost:
    """The cost of all parts together.

    Add-remove: one record touches one part, so the largest counts. Replace: a record may change inside its part, or
    leave one part and enter another; the larger of the two counts. Refused for a partition that depends on data.
    """
    if not is_fixed_in_advance:
        raise Unsupported(
            "Parallel composition needs a partition fixed in advance by a rule that looks at one record at a time; add "
            "the costs up instead."
        )
    if not parts:
        raise ParameterError("A partition has at least one part.")
    alone = [part.add_remove for part in parts]
    inside = alone if relation is Relation.ADD_REMOVE else [part.replaced for part in parts]

    def whole(read: Callable[[Cost], Fraction]) -> Fraction:
        most = max(read(cost) for cost in inside)
        if relation is Relation.ADD_REMOVE:
            return most
        return max(most, sum(sorted((read(cost) for cost in alone), reverse=True)[:2], Fraction(0)))

    is_pure = all(cost.epsilon is not None for cost in (*alone, *inside))
    return Cost(
        relation=relation,
        rho=whole(lambda cost: cost.rho),
        delta=whole(lambda cost: cost.delta),
        epsilon=whole(lambda cost: cost.epsilon or Fraction(0)) if is_pure else None,
    )


def for_group(cost: Cost, size: int) -> Cost:
    """The cost for a group of units, such as a household: epsilon times the size, rho times its square."""
    if size < 1:
        raise ParameterError(f"A group has at least one unit; received {size}.")
    if cost.delta and size > 1:
        raise Unsupported(
            "A cost with a failure probability has no zero-concentrated group statement; state it as (epsilon, delta) "
            "and use the bound for those."
        )
    return Cost(
        relation=cost.relation,
        rho=size * size * cost.rho,
        delta=cost.delta,
        epsilon=None if cost.epsilon is None else size * cost.epsilon,
    )


def optimum(steps: Iterable[tuple[Fraction, Fraction, int]]) -> LossDistribution:
    """The worst loss of (epsilon, delta, times) steps fixed in advance, in exact integers."""
    parts = [of_statement(epsilon, delta).times(times) for epsilon, delta, times in steps]
    if not parts:
        return of_statement(Fraction(0))
    return reduce(LossDistribution.beside, parts)
