"""What is measured for a plan of sums, part by part, each with a share of the budget."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import comb
from typing import Any

from dalenius.algebra.bases import bernstein, sized
from dalenius.algebra.estimate_law import INFLUENCE, LinearForm
from dalenius.algebra.estimator import ROWS
from dalenius.algebra.influence import InfluenceRows
from dalenius.core.domain import CellSpace
from dalenius.core.query import Power, RowFunction, RowsQuery, TableQuery
from dalenius.errors import Unsupported
from dalenius.measurements.noisy import Noisy
from dalenius.plans.priced import share
from dalenius.plans.sum_plan import Held, MeasuredPart, SumPlan, named
from dalenius.spec.question import Question
from dalenius.statistics import Parabola, Separate, Simplex
from dalenius.statistics.count import Count
from dalenius.statistics.row_sums import RowSums
from dalenius.statistics.squared_influence import SquaredInfluence

# What one row adds to a measured sum is at most this; wider sums are halved until it is.
WIDEST = 2**24
Maker = Callable[[Fraction], MeasuredPart]


def options(plan: SumPlan) -> tuple[Callable[[], tuple[MeasuredPart, ...]], ...]:
    """All ways in which the sums of a plan are measured."""
    is_mean = plan.reads == (ROWS, "x") and plan.products == ("x x",)
    if is_mean and plan.size is not None:
        return tuple(partial(_parabola, plan, is_pure=is_pure) for is_pure in _shapes(plan.question))
    return (partial(_parts, plan),)


def _parts(plan: SumPlan) -> tuple[MeasuredPart, ...]:
    """What the estimator reads, and with a declared share what the error of sampling needs."""
    spread = plan.estimator.spread_share if plan.products else Fraction(0)
    parts = reads_of(plan, 1 - spread)
    return (*parts, *_spread(plan, spread)) if spread else parts


def reads_of(plan: SumPlan, part: Fraction = Fraction(1)) -> tuple[MeasuredPart, ...]:
    """What the estimator reads, in equal shares."""
    names = list(plan.reads)
    makers: list[Maker] = []
    if plan.classes is not None:
        makers.append(partial(_classes, plan))
        names = [name for name in names if name != ROWS and name not in plan.classes.groups]
    elif ROWS in names and "x" in names:
        makers.append(partial(_pair, plan))
        names = [name for name in names if name not in (ROWS, "x")]
    makers += [partial(_single, plan, name, is_product=False) for name in names]
    return tuple(make(part / len(makers)) for make in makers)


def _spread(plan: SumPlan, part: Fraction) -> tuple[MeasuredPart, ...]:
    """What the error of sampling needs."""
    if plan.uses_influence:
        return (_influence(plan, part),)
    if plan.products == (ROWS, "x", "x x"):
        return (_powers(plan, 2, 2, part),)
    if plan.classes is not None and {ROWS, *plan.classes.groups} >= set(plan.products):
        return (_classes(plan, part, is_product=True),)
    # Higher powers move further.
    sizes = [max(2 * len(name.split()) - 3, 1) for name in plan.products]
    shares = [part * size / sum(sizes) for size in sizes]
    return tuple(_single(plan, name, own, is_product=True) for name, own in zip(plan.products, shares, strict=True))


def _shapes(question: Question) -> list[bool]:
    """Whether the noise may be of bounded loss, and whether it may be normal."""
    budget = question.budget
    return ([] if budget.epsilon is None else [True]) + ([] if budget.rho is budget.delta is None else [False])


def noisy(question: Question, name: str, statistic: Any, part: Fraction) -> Noisy:
    """A statistic with noise for a share of the budget."""
    budget = share(question.budget, part)
    return Noisy(name, statistic, question.choose(statistic.sensitivity(question.neighbours), budget))


def _table(plan: SumPlan, function: RowFunction, weighted: int) -> TableQuery:
    """Sums of a row function, times a power of the weight, over the rows that have every variable."""
    return TableQuery(
        space=plan.question.space, where=plan.question.where, function=_weighted(plan, function, weighted)
    )


def _weighted(plan: SumPlan, function: RowFunction, weighted: int) -> RowFunction:
    weight = plan.weight
    if weight is not None:
        factor = Power(weight.variable, exponent=weighted, slope=weight.multiple, offset=weight.common)
        function = function * RowFunction.of(factor)
    numeric = [plan.variables[role] for role in sorted(plan.variables) if role in plan.bounds]
    return function * RowFunction.present(*numeric)


def power_of(plan: SumPlan, name: str, weighted: int) -> RowFunction:
    """What a row adds to a sum, times a power of its weight."""
    powers = {role: name.split().count(role) for role in sorted(plan.variables)}
    factors = [
        Power(plan.variables[role], offset=-plan.centre(role), exponent=power)
        for role, power in powers.items()
        if power
    ]
    return _weighted(plan, RowFunction(powers=tuple(factors)), weighted)


def typical_of(plan: SumPlan, name: str, weighted: int) -> float:
    """The mean of what a row adds, where values and weights are spread evenly."""
    typical = 1.0 if plan.weight is None else _typical_power(plan.weight.least, plan.weight.largest, weighted)
    for role in plan.variables:
        power = name.split().count(role)
        if power:
            bounds, centre = plan.bounds[role], plan.centre(role)
            typical *= _typical_power(bounds.low - centre, bounds.high - centre, power)
    return typical


def _measured(
    plan: SumPlan, name: str, queries: tuple[TableQuery, ...], basis: Any, part: Fraction, *, most: int
) -> tuple[Noisy, int]:
    """The sums with noise, and the unit in which they are measured."""
    halvings = max((-(-most // WIDEST) - 1).bit_length(), 0)
    halved = tuple(replace(query, halvings=halvings) for query in queries)
    for query in halved:
        query.largest(plan.question.domain)
    return noisy(plan.question, name, RowSums(queries=halved, basis=basis), part), 2**halvings


def _pair(plan: SumPlan, part: Fraction) -> MeasuredPart:
    """The total above the lower bound, and beside it the one below the upper bound where the count is not public."""
    if plan.size is None:
        return _powers(plan, 1, 1, part)
    bounds, width, name = plan.bounds["x"], _width(plan), plan.variables["x"]
    query = _table(plan, RowFunction.of(Power(name, offset=-bounds.low)), 1)
    basis = Separate(low=0, high=width, is_complete=True)
    step, unit = _measured(plan, f"total of {name}", (query,), basis, part, most=width)
    sums = {key: Held(form.scaled(unit)) for key, form in sized(bounds.low, plan.centre("x"), plan.size).items()}
    return MeasuredPart(measurement=step, typical=(width / 2 / unit,), sums=sums)


def _width(plan: SumPlan) -> int:
    bounds = plan.bounds["x"]
    if bounds.low == bounds.high:
        raise Unsupported(f"The bounds of {plan.variables['x']!r} are one number; there is nothing to estimate.")
    return bounds.high - bounds.low


def _powers(plan: SumPlan, degree: int, weighted: int, part: Fraction) -> MeasuredPart:
    """All powers of x up to a degree at the price of one: products of its distances from both bounds."""
    bounds, width, name = plan.bounds["x"], _width(plan), plan.variables["x"]
    # From the upper bound down, so that the total above the lower bound comes first.
    queries = tuple(
        _table(
            plan,
            RowFunction.of(
                Power(name, offset=-bounds.low, exponent=i),
                Power(name, slope=-1, offset=bounds.high, exponent=degree - i),
                multiple=comb(degree, i),
            ),
            weighted,
        )
        for i in reversed(range(degree + 1))
    )
    heaviest = 1 if plan.weight is None else plan.weight.largest**weighted
    most = width**degree * heaviest
    words = f"{'weighted ' if plan.weight is not None else ''}{'total' if degree == 1 else 'squares'} of {name}"
    step, unit = _measured(plan, f"{words} from both bounds", queries, Simplex(total=most), part, most=most)
    forms = bernstein(bounds.low, bounds.high, plan.centre("x"), degree)
    held = {" ".join("x" * power) or ROWS: Held(form.turned(degree).scaled(unit)) for power, form in enumerate(forms)}
    typical = width**degree * typical_of(plan, ROWS, weighted) / (degree + 1) / unit
    is_product = weighted == 2
    return MeasuredPart(
        measurement=step,
        typical=(typical,) * (degree + 1),
        sums={} if is_product else held,
        products=held if is_product else {},
    )


def _single(plan: SumPlan, name: str, part: Fraction, *, is_product: bool) -> MeasuredPart:
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
    words = f"{'weighted ' if plan.weight is not None else ''}{_words(plan, name)}"
    step, unit = _measured(
        plan, words, (replace(query, shift=shift),), basis, part, most=max(abs(low - shift), abs(high - shift))
    )
    held = {name: Held(LinearForm.array(0, unit), shift)}
    return MeasuredPart(
        measurement=step,
        typical=((typical_of(plan, name, weighted) - shift) / unit,),
        sums={} if is_product else held,
        products=held if is_product else {},
    )


def _typical_power(low: int, high: int, power: int) -> float:
    """Mean of a power of values that are spread evenly."""
    if low == high:
        return float(low) ** power
    return (float(high) ** (power + 1) - float(low) ** (power + 1)) / ((power + 1) * float(high - low))


def _words(plan: SumPlan, name: str) -> str:
    names = [plan.variables[role] for role in name.split() if role in plan.variables]
    if not names:
        return "count"
    kinds = {1: "total", 2: "squares", 3: "cubes", 4: "fourths"}
    kind = kinds.get(len(names), f"powers of degree {len(names)}") if len(set(names)) == 1 else "products"
    return f"{kind} of {' and '.join(dict.fromkeys(names))}"


def _classes(plan: SumPlan, part: Fraction, *, is_product: bool = False) -> MeasuredPart:
    """Records by class, each in one of the counts; only those with the property where the number of all is public."""
    assert plan.classes is not None
    question, classes, name = plan.question, plan.classes, plan.variables["x"]
    if plan.size is not None and classes.condition is not None:
        inside = Count(replace(question.query, where=(*question.where, classes.condition)))
        step = noisy(question, "records with the property", inside, part)
        return MeasuredPart(measurement=step, typical=(0.5,), sums={"x in": Held(LinearForm.array(0))})
    axis, weighted = classes.axis, 2 if is_product else 1
    zeros = frozenset((*cell, k) for cell in question.space.structural_zeros for k in range(len(axis)))
    query = replace(_table(plan, RowFunction(), weighted), space=CellSpace((*question.space.axes, axis), zeros))
    if plan.weight is None:
        # Rows without the variable are in no class.
        step, unit = noisy(question, f"records by {name}", Count(replace(query, function=RowFunction())), part), 1
    else:
        most = plan.weight.largest**weighted
        words = f"{'squared weights' if is_product else 'weighted records'} by {name}"
        step, unit = _measured(plan, words, (query,), Separate(low=0, high=most), part, most=most)
    groups = {ROWS: tuple(range(len(axis))), **classes.groups}
    held = {key: Held(LinearForm(dict.fromkeys(places, Fraction(unit)))) for key, places in groups.items()}
    typical = typical_of(plan, ROWS, weighted) / unit
    return MeasuredPart(
        measurement=step,
        typical=tuple(typical * each for each in classes.typical),
        sums={} if is_product else held,
        products=held if is_product else {},
    )


def _parabola(plan: SumPlan, *, is_pure: bool) -> tuple[MeasuredPart, ...]:
    """Total and squares of a public number of rows as one answer, of which the squares cost nothing."""
    assert plan.size is not None
    bounds, name, width = plan.bounds["x"], plan.variables["x"], _width(plan)
    basis = Parabola.of(bounds.low, bounds.high, is_pure=is_pure)
    functions = (
        RowFunction.of(Power(name, offset=-bounds.low), multiple=basis.first),
        RowFunction.of(Power(name, offset=-basis.centre, exponent=2), multiple=basis.second),
    )
    queries = tuple(_table(plan, function, 1) for function in functions)
    most = max(basis.first * width, basis.second * width**2)
    step, unit = _measured(plan, f"total and squares of {name}", queries, basis, Fraction(1), most=most)
    total = sized(bounds.low, plan.centre("x"), plan.size)
    return (
        MeasuredPart(
            measurement=step,
            typical=(basis.first * width / 2 / unit, basis.second * width**2 / 12 / unit),
            sums={ROWS: Held(total[ROWS]), "x": Held(total["x"].scaled(Fraction(unit, basis.first)))},
            products={"x x": Held(LinearForm.array(1, Fraction(unit, basis.second)))},
        ),
    )


def _influence(plan: SumPlan, part: Fraction) -> MeasuredPart:
    """Squared influences of rows; evenly spread values have a ninth of the largest one."""
    statistic = SquaredInfluence(rows=influence_rows(plan), is_complete=plan.size is not None)
    return MeasuredPart(
        measurement=noisy(plan.question, f"influences on {named(plan)}", statistic, part),
        typical=(statistic.grid / 9,),
        products={INFLUENCE: Held(LinearForm.array(0))},
    )


def influence_rows(plan: SumPlan) -> InfluenceRows:
    """The rows that an estimate is moved by, before anything is released."""
    roles = sorted(plan.variables)
    weight = plan.weight
    variables = (*(plan.variables[role] for role in roles), *(() if weight is None else (weight.variable,)))
    query = RowsQuery(variables=variables, where=plan.question.where, space=plan.question.space)
    return InfluenceRows.unknown(query, plan.reads, roles, None if weight is None else (weight.multiple, weight.common))
