"""What all plans with bootstrap errors share: which are served, how many replicates, and their price."""

from fractions import Fraction
from math import sqrt

import numpy as np

from dalenius.core.budget import Budget
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import FloatArray
from dalenius.core.neighbours import Scope
from dalenius.errors import ParameterError, TooLarge, Unsupported
from dalenius.exact.resampling_price import Beside, ResamplingPrice, calibrated
from dalenius.limits import REPLICATES, REPLICATES_OF_RHO, REPLICATES_OF_ROWS
from dalenius.plans.design import no_sampling
from dalenius.spec.notes import note
from dalenius.spec.question import Question

_FEWEST, _USUAL = 2, 50


def resampling_price(question: Question, budget: Budget, reach: int, besides: tuple[Beside, ...]) -> ResamplingPrice:
    """The noise of replicates for a budget, where every way to spread the rows of a unit over cells is priced."""
    neighbours = question.neighbours
    assert budget.delta is not None
    start = ResamplingPrice(
        reach=reach,
        sigma_squared=Fraction(1),
        replicates=_number(question),
        is_replace=neighbours.is_replace,
        has_cells=question.space.size > 1,
        rows=neighbours.max_rows,
        beside=besides,
    )
    _check_rows(start)
    epsilon = None if budget.rho is not None else budget.epsilon
    price = calibrated(start, epsilon=epsilon, rho=budget.rho, delta=budget.delta)
    _check_failure(price, budget.delta)
    return price


def _number(question: Question) -> int:
    asked = question.parameter("replicates", _USUAL)
    if question.neighbours.max_rows > 1:
        most, where = REPLICATES_OF_ROWS, " where a unit has several rows"
    elif question.budget.rho is not None:
        most, where = REPLICATES_OF_RHO, ""
    else:
        most, where = REPLICATES, f" for a budget in epsilon, or {REPLICATES_OF_RHO:,} for one in rho"
    if not _FEWEST <= int(asked) <= most:
        raise ParameterError(
            f"replicates must lie between {_FEWEST} and {most:,}{where}; received {asked}.", name="replicates"
        )
    return int(asked)


def check_resampling(question: Question) -> None:
    """A bootstrap is priced by its loss distribution, which needs a delta; its noise is given."""
    if question.budget.definition not in ("approximate", "zero_concentrated") or question.budget.delta is None:
        raise Unsupported(
            'error = "bootstrap" has no statement without a delta: use definition = "approximate" with epsilon and '
            "delta, or"
            ' "zero_concentrated" with rho and delta.',
            key="error",
        )
    if question.scope is not Scope.ALL_DATA:
        raise Unsupported(
            f'error = "bootstrap" is priced under differential privacy; {question.definition.name!r} has no price '
            "for it.",
            key="error",
        )
    if not question.domain.draws.has_sampling():
        raise Unsupported(
            f'error = "bootstrap" measures the error of sampling. {no_sampling(question)} Use error = "noise", or '
            "leave error out.",
            key="error",
        )
    if question.mechanism is not None:
        raise Unsupported(
            'error = "bootstrap" is priced for discrete Gaussian noise; leave the mechanism out.', key="mechanism"
        )


def _check_rows(price: ResamplingPrice) -> None:
    """Every way to spread the rows of a unit over cells is priced; there must not be too many."""
    if not price.is_served:
        most = "6 rows in a table, 24 in a single number" + (
            ", counting those of both units" if price.is_replace else ""
        )
        raise Unsupported(
            f'error = "bootstrap" is priced for neighbours that differ in at most {most}; here they differ in '
            f"{price.touched}. Ask"
            ' with error = "sampling", or declare a smaller max_rows.',
            key="error",
        )


def _check_failure(price: ResamplingPrice, failure: Fraction) -> None:
    """The account is charged a rho outside an event of this probability, which the arithmetic must be able to tell from
    nothing.
    """
    try:
        price.rho(failure)
    except TooLarge:
        raise Unsupported(
            f"The price of these replicates cannot be told at delta = {float(failure):.3g}: it is too small, or the "
            "replicates are too few or too many for so large a budget. A delta of at least 1e-9 and 10 to 200 "
            "replicates are served at usual budgets.",
            name="delta",
        ) from None


def cluster_notes(rows: int) -> tuple[str, ...]:
    """What is assumed of the rows of one unit."""
    return (note("clustered", rows=rows),) if rows > 1 else ()


def with_axis(space: CellSpace, axis: Axis) -> CellSpace:
    zeros = frozenset((*cell, k) for cell in space.structural_zeros for k in range(len(axis)))
    return CellSpace((*space.axes, axis), zeros)


def with_spread(replicates: int, variance: float) -> FloatArray:
    z: FloatArray = np.linspace(-1.0, 1.0, replicates)
    return np.asarray(z * sqrt(variance / float(z.var(ddof=1))))
