"""What is measured for a plan of sums, part by part, before each part has its share of the budget."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import comb, prod
from typing import Any

import numpy as np

from dalenius.algebra.bases import box, sized
from dalenius.algebra.estimate_law import INFLUENCE, LinearForm
from dalenius.algebra.estimator import ROWS
from dalenius.algebra.influence import InfluenceRows
from dalenius.algebra.intervals import mean_square
from dalenius.algebra.shapes import EVEN, HUNDREDTH, SKEWED, TENTH, mean_bernstein, mean_power, mean_product
from dalenius.algebra.sums import MeasuredArrays, Sums, product_of
from dalenius.core.domain import CellSpace
from dalenius.core.query import Power, RowFunction, RowsQuery, TableQuery
from dalenius.errors import Unsupported
from dalenius.measurements.noisy import Noisy
from dalenius.plans.priced import share
from dalenius.plans.sum_plan import FEW, Held, MeasuredPart, SumPlan, Telling, law_of_forms, named
from dalenius.spec.question import TYPICAL, Question
from dalenius.statistics import Parabola, Separate, Simplex
from dalenius.statistics.count import Count
from dalenius.statistics.row_sums import RowSums
from dalenius.statistics.squared_influence import SquaredInfluence

# What one row adds to a measured sum is at most this; wider sums are halved until it is.
WIDEST = 2**24
SHAPES = (EVEN, SKEWED, TENTH, HUNDREDTH)
# How weights are spread where values have a shape: they are a half, a sixth or a tenth of the largest one on average.
_FEW_HEAVY = 9
WEIGHTS = {EVEN: EVEN, SKEWED: SKEWED, TENTH: _FEW_HEAVY, HUNDREDTH: _FEW_HEAVY}


@dataclass(frozen=True, kw_only=True)
class SumPart(Telling):
    """A statistic that tells sums, before it has its share of the budget."""

    name: str
    statistic: Any

    def measured(self, question: Question, part: Fraction) -> MeasuredPart:
        """With noise for a share of the budget."""
        sensitivity = self.statistic.sensitivity(question.neighbours)
        noise = question.choose(sensitivity, share(question.budget, part))
        return MeasuredPart(
            measurement=Noisy(self.name, self.statistic, noise),
            typical=self.typical,
            skewed=self.skewed,
            tails=self.tails,
            sums=self.sums,
            products=self.products,
        )


def reads_of(plan: SumPlan) -> tuple[MeasuredPart, ...]:
    """What the estimator reads, in equal shares."""
    parts = reads_apart(plan)
    return tuple(each.measured(plan.question, Fraction(1, len(parts))) for each in parts)


def reads_apart(plan: SumPlan) -> tuple[SumPart, ...]:
    """What the estimator reads: the number of rows and the total of x together, every other sum by itself."""
    names = list(plan.reads)
    first: tuple[SumPart, ...] = ()
    if plan.classes is not None:
        first = (classes(plan),)
        names = [name for name in names if name != ROWS and name not in plan.classes.groups]
    elif ROWS in names and "x" in names:
        first = (powers(plan, {"x": 1}, 1) if plan.size is None else _total(plan),)
        names = [name for name in names if name not in (ROWS, "x")]
    return (*first, *(single(plan, name, is_product=False) for name in names))


def spread_apart(plan: SumPlan, told: Collection[str] = ()) -> tuple[SumPart, ...]:
    """What the error of sampling needs and is not told yet, every sum by itself but for powers and classes of weighted
    rows.
    """
    if plan.uses_influence:
        return (_influence(plan),)
    if plan.products == (ROWS, "x", "x x"):
        return (powers(plan, {"x": 2}, 2),)
    if plan.classes is not None and {ROWS, *plan.classes.groups} >= set(plan.products):
        return (classes(plan, is_product=True),)
    return tuple(single(plan, name, is_product=True) for name in plan.products if name not in told)


def _table(plan: SumPlan, function: RowFunction, weighted: int) -> TableQuery:
    """Sums of a row function, times a power of the weight, over the rows that have every variable."""
    return TableQuery(
        space=plan.question.space, where=plan.question.where, function=_weighted(plan, function, weighted)
    )


def _weighted(plan: SumPlan, function: RowFunction, weighted: int) -> RowFunction:
    weight, bounds = plan.weight, plan.bounds
    factors = [Power(plan.variables[role], exponent=0) for role in sorted(plan.variables) if role in bounds]
    if weight is not None:
        factors.append(Power(weight.variable, exponent=weighted, slope=weight.multiple, offset=weight.common))
    return replace(function, powers=(*function.powers, *factors))


def power_of(plan: SumPlan, name: str, weighted: int) -> RowFunction:
    """What a row adds to a sum, times a power of its weight."""
    powers = {role: name.split().count(role) for role in sorted(plan.variables)}
    factors = [
        Power(plan.variables[role], offset=-plan.centre(role), exponent=power)
        for role, power in powers.items()
        if power
    ]
    return _weighted(plan, RowFunction(powers=tuple(factors)), weighted)


def typical_of(plan: SumPlan, name: str, weighted: int, shape: int = EVEN) -> float:
    """The mean of what a row adds, where values have a shape and weights the one that goes with it."""
    typical = 1.0
    if plan.weight is not None:
        typical = mean_power(plan.weight.least, plan.weight.largest, weighted, WEIGHTS[shape])
    factors = [
        (plan.bounds[role].low - plan.centre(role), plan.bounds[role].high - plan.centre(role), power)
        for role in plan.variables
        if (power := name.split().count(role))
    ]
    return typical * mean_product(factors, shape)


def _row_sums(plan: SumPlan, queries: tuple[TableQuery, ...], basis: Any, *, most: int) -> tuple[RowSums, int]:
    """The sums, and the unit in which they are measured."""
    halvings = max((-(-most // WIDEST) - 1).bit_length(), 0)
    halved = tuple(replace(query, halvings=halvings) for query in queries)
    for query in halved:
        query.largest(plan.question.domain)
    return RowSums(needs=halved, basis=basis), 2**halvings


def _total(plan: SumPlan) -> SumPart:
    """The total above the lower bound of a public number of rows."""
    assert plan.size is not None
    bounds, width, name = plan.bounds["x"], _width(plan, "x"), plan.variables["x"]
    query = _table(plan, RowFunction.of(Power(name, offset=-bounds.low)), 1)
    basis = Separate(low=0, high=width, is_complete=True)
    statistic, unit = _row_sums(plan, (query,), basis, most=width)
    sums = {key: Held(form.scaled(unit)) for key, form in sized(bounds.low, plan.centre("x"), plan.size).items()}
    typical, skewed, *tails = ((mean_power(0, width, 1, shape) / unit,) for shape in SHAPES)
    return SumPart(
        name=f"total of {name}", statistic=statistic, typical=typical, skewed=skewed, tails=tuple(tails), sums=sums
    )


def _width(plan: SumPlan, role: str) -> int:
    bounds = plan.bounds[role]
    if bounds.low == bounds.high:
        raise Unsupported(f"The bounds of {plan.variables[role]!r} are one number; there is nothing to estimate.")
    return bounds.high - bounds.low


def powers(plan: SumPlan, degrees: Mapping[str, int], weighted: int) -> SumPart:
    """All products of powers up to a degree of each role at the price of one, from distances to both bounds.

    With squared weights they are products alone, which the error of sampling needs.
    """
    widths = {role: _width(plan, role) for role in degrees}
    # From the upper bounds down, so that the total above the lower bound comes first.
    places = list(product(*(reversed(range(degree + 1)) for degree in degrees.values())))
    queries = []
    for place in places:
        # The product of a row's distances from both bounds of each role, so often as the place says.
        factors, ways = [], 1
        for (role, degree), i in zip(degrees.items(), place, strict=True):
            name, bounds = plan.variables[role], plan.bounds[role]
            factors.append(Power(name, offset=-bounds.low, exponent=i))
            factors.append(Power(name, slope=-1, offset=bounds.high, exponent=degree - i))
            ways *= comb(degree, i)
        queries.append(_table(plan, RowFunction(powers=tuple(factors), multiple=ways), weighted))
    heaviest = 1 if plan.weight is None else plan.weight.largest**weighted
    most = heaviest * prod(widths[role] ** degree for role, degree in degrees.items())
    statistic, unit = _row_sums(plan, tuple(queries), Simplex(total=most), most=most)
    ends = {role: (plan.bounds[role].low, plan.bounds[role].high, plan.centre(role)) for role in degrees}
    last = len(places) - 1
    held = {name: Held(form.turned(last).scaled(unit)) for name, form in box(ends, degrees).items()}
    is_product = plan.weight is None or weighted == 2
    reads = [name for name in plan.reads if name != ROWS or plan.size is None]
    rows = {shape: typical_of(plan, ROWS, weighted, shape) * most / heaviest / unit for shape in SHAPES}

    typical, skewed, *tails = (
        tuple(row * mean_bernstein([*degrees.values()], place, shape) for place in places)
        for shape, row in rows.items()
    )
    words = _words(plan, " ".join(role for role, degree in degrees.items() for _ in range(degree)))
    all_words = words if len(degrees) == 1 or max(degrees.values()) == 1 else f"squares and {words}"
    return SumPart(
        name=f"{'weighted ' if plan.weight is not None else ''}{all_words} from both bounds",
        statistic=statistic,
        typical=typical,
        skewed=skewed,
        tails=tuple(tails),
        sums={name: one for name, one in held.items() if weighted == 1 and name in reads},
        products={name: one for name, one in held.items() if name in plan.products and is_product},
    )


def single(plan: SumPlan, name: str, *, is_product: bool) -> SumPart:
    """One sum of a product by itself; even powers are shifted where the number of rows, which takes the shift back, is
    measured too.
    """
    question, weighted = plan.question, 2 if is_product else 1
    query = TableQuery(space=question.space, where=question.where, function=power_of(plan, name, weighted))
    low, high = query.function.ends(query.ranges(question.domain))
    is_even = low >= 0 and all(name.split().count(role) % 2 == 0 for role in plan.variables)
    is_shifted = is_even and name != ROWS and ROWS in plan.reads and plan.size is None and plan.weight is None
    shift = high // 2 if is_shifted else 0
    basis = Separate(low=low - shift, high=high - shift, is_complete=plan.size is not None)
    statistic, unit = _row_sums(
        plan, (replace(query, shift=shift),), basis, most=max(abs(low - shift), abs(high - shift))
    )
    held = {name: Held(LinearForm.array(0, unit), shift)}
    typical, skewed, *tails = (((typical_of(plan, name, weighted, shape) - shift) / unit,) for shape in SHAPES)
    return SumPart(
        name=f"{'weighted ' if plan.weight is not None else ''}{_words(plan, name)}",
        statistic=statistic,
        typical=typical,
        skewed=skewed,
        tails=tuple(tails),
        sums={} if is_product else held,
        products=held if is_product else {},
    )


def _words(plan: SumPlan, name: str) -> str:
    names = [plan.variables[role] for role in name.split() if role in plan.variables]
    if not names:
        return "count"
    kinds = {1: "total", 2: "squares", 3: "cubes", 4: "fourths"}
    kind = kinds.get(len(names), f"powers of degree {len(names)}") if len(set(names)) == 1 else "products"
    return f"{kind} of {' and '.join(dict.fromkeys(names))}"


def classes(plan: SumPlan, *, is_product: bool = False) -> SumPart:
    """Records by class, each in one of the counts; only those with the property where the number of all is public."""
    assert plan.classes is not None
    question, own, name = plan.question, plan.classes, plan.variables["x"]
    if plan.size is not None and own.condition is not None:
        inside = Count(replace(question.query, where=(*question.where, own.condition)))
        held = {"x in": Held(LinearForm.array(0))}
        name = "records with the property"
        return SumPart(name=name, statistic=inside, typical=(0.5,), skewed=(FEW,), sums=held)
    axis, weighted = own.axis, 2 if is_product else 1
    zeros = frozenset((*cell, k) for cell in question.space.structural_zeros for k in range(len(axis)))
    query = replace(_table(plan, RowFunction(), weighted), space=CellSpace((*question.space.axes, axis), zeros))
    statistic: Count | RowSums
    if plan.weight is None:
        # Rows without the variable are in no class.
        statistic, unit, words = Count(replace(query, function=RowFunction())), 1, "records"
    else:
        most = plan.weight.largest**weighted
        statistic, unit = _row_sums(plan, (query,), Separate(low=0, high=most), most=most)
        words = "squared weights" if is_product else "weighted records"
    groups = {ROWS: tuple(range(len(axis))), **own.groups}
    held = {key: Held(LinearForm(dict.fromkeys(places, Fraction(unit)))) for key, places in groups.items()}
    # A share does not depend on where values lie, and its error on the weights alone.
    shapes = ((EVEN, own.typical), (SKEWED, own.skewed), *(((TENTH, own.typical),) * 2 if plan.weight else ()))
    typical, skewed, *tails = (
        tuple(typical_of(plan, ROWS, weighted, shape) / unit * each for each in shares) for shape, shares in shapes
    )
    return SumPart(
        name=f"{words} by {name}",
        statistic=statistic,
        typical=typical,
        skewed=skewed,
        tails=tuple(tails),
        sums={} if is_product else held,
        products=held if is_product else {},
    )


def parabola(plan: SumPlan, *, is_pure: bool) -> SumPart:
    """Total and squares of a public number of rows as one answer, of which the squares cost nothing."""
    assert plan.size is not None
    bounds, name, width = plan.bounds["x"], plan.variables["x"], _width(plan, "x")
    basis = Parabola.of(bounds.low, bounds.high, is_pure=is_pure)
    functions = (
        RowFunction.of(Power(name, offset=-bounds.low), multiple=basis.first),
        RowFunction.of(Power(name, offset=-basis.centre, exponent=2), multiple=basis.second),
    )
    queries = tuple(_table(plan, function, 1) for function in functions)
    most = max(basis.first * width, basis.second * width**2)
    statistic, unit = _row_sums(plan, queries, basis, most=most)
    total = sized(bounds.low, plan.centre("x"), plan.size)
    squares = {"x x": Held(LinearForm.array(1, Fraction(unit, basis.second)))}
    typical, skewed, *tails = (
        (
            basis.first * mean_power(0, width, 1, shape) / unit,
            basis.second * mean_power(bounds.low - basis.centre, bounds.high - basis.centre, 2, shape) / unit,
        )
        for shape in SHAPES
    )
    return SumPart(
        name=f"total and squares of {name}",
        statistic=statistic,
        typical=typical,
        skewed=skewed,
        tails=tuple(tails),
        sums={ROWS: Held(total[ROWS]), "x": Held(total["x"].scaled(Fraction(unit, basis.first)))}
        | (squares if "x x" in plan.reads else {}),
        products={} if "x x" in plan.reads else squares,
    )


def _influence(plan: SumPlan) -> SumPart:
    statistic = SquaredInfluence(rows=influence_rows(plan), is_complete=plan.size is not None)
    typical, skewed, *tails = ((statistic.grid * typical_influence(plan, shape),) for shape in SHAPES)
    return SumPart(
        name=f"influences on {named(plan)}",
        statistic=statistic,
        typical=typical,
        skewed=skewed,
        tails=tuple(tails),
        products={INFLUENCE: Held(LinearForm.array(0))},
    )


def typical_influence(plan: SumPlan, shape: int = EVEN) -> float:
    """Mean of the squared influences of rows, in parts of the largest one."""
    reads = plan.reads
    forms = {name: LinearForm.array(place) for place, name in enumerate(reads)}
    heaviest = {} if plan.weight is None else {"heaviest": plan.weight.largest}
    sums = TYPICAL * np.array([[typical_of(plan, name, 1, shape)] for name in reads])
    exact = MeasuredArrays(sums, np.zeros((len(reads), 1)), np.zeros((len(reads), 1)))
    law = law_of_forms(plan, forms, {}, 0.0, **heaviest)

    def mean(first: str, second: str) -> float:
        name = product_of(first, second)
        return 0.0 if name is None else typical_of(plan, name, 2, shape)

    return mean_square(plan.estimator, Sums(law, exact), mean)


def influence_rows(plan: SumPlan) -> InfluenceRows:
    """The rows that an estimate is moved by, before anything is released."""
    roles = sorted(plan.variables)
    weight = plan.weight
    variables = (*(plan.variables[role] for role in roles), *(() if weight is None else (weight.variable,)))
    query = RowsQuery(variables=variables, where=plan.question.where, space=plan.question.space)
    return InfluenceRows.unknown(query, plan.reads, roles, None if weight is None else (weight.multiple, weight.common))
