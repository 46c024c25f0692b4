"""Plans of sample and aggregate: into how many blocks the records are parted, and how what the blocks say is put
together.

The number of blocks makes the predicted error small, for a parameter a quarter up its declared range and the declared
number of records; nothing is looked at. Few blocks pay in noise, many in estimates that leave the range or keep a bias.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, sqrt
from statistics import NormalDist
from typing import Any

from dalenius.algebra.block_quantiles import ranks_of
from dalenius.algebra.estimates import STRUCTURE, estimated
from dalenius.algebra.ranks import levels
from dalenius.algebra.windows import WIDENING, window
from dalenius.core.budget import Budget
from dalenius.core.contracts import Measurement, Mechanism
from dalenius.core.domain import CellSpace
from dalenius.core.law import Joint
from dalenius.core.plan import TablePlan
from dalenius.core.query import RowsQuery, ValuesQuery
from dalenius.core.rationals import plain, rational
from dalenius.core.release import Block, Outcome, Table, Value
from dalenius.errors import ParameterError, UnknownName, Unsupported
from dalenius.measurements.approximate_quantiles import ApproximateQuantiles
from dalenius.measurements.block_totals import BlockTotals, free_weights
from dalenius.measurements.blocks.blocks import MOST_BLOCKS, Blocks
from dalenius.measurements.blocks.logistic import Design, Predictor
from dalenius.measurements.blocks.models import MODELS
from dalenius.plans.design import design_law, has_sampling, no_sampling
from dalenius.plans.moments import (
    MeasuredPart,
    estimate_tables,
    plan_estimate,
    sampling_notes,
    typical_blocks,
    wants_sampling,
)
from dalenius.plans.priced import priced, selection_epsilon, share
from dalenius.spec.notes import note
from dalenius.spec.question import Question

QUARTILES = Fraction(1, 4)
# Shares of the budget that the squares may take, of which the one with the narrowest predicted interval is used.
SQUARES = (Fraction(1, 10), Fraction(1, 5), Fraction(3, 10), Fraction(2, 5))
INTERCEPT, MOST_PREDICTORS = "intercept", 8
FUNCTION, LEAST_SECONDS, MOST_SECONDS = "function", Fraction(1, 100), Fraction(60)
_LEAST_BLOCKS = 20
_HALF = Fraction(1, 2)
# The distance of the quartiles of a normal law, in standard deviations.
_NORMAL_QUARTILES = 1.349


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What is known of a model's estimates in blocks before any data are read."""

    model: str
    records: int
    lower: float
    upper: float
    spread: float

    @property
    def variance(self) -> float:
        """Of an estimate times the number of records, a quarter up the range."""
        theta = self.lower + (self.upper - self.lower) / 4
        return max(MODELS[self.model].variance(theta, self.spread), 1e-300)

    def of_block(self, count: int) -> float:
        """Variance of the estimate of one of so many blocks; their sizes vary, too."""
        size = self.records / count
        return self.variance / size * (1 + (1 + MODELS[self.model].inflation) / size)

    def bias(self, count: int) -> float:
        """Left after the correction, and by estimates cut at the nearer end of the range."""
        size, error = self.records / count, sqrt(self.of_block(count))
        away = (self.upper - self.lower) / 4 / error
        law = NormalDist()
        cut = error * (law.pdf(away) - away * law.cdf(-away)) if away < 30 else 0.0
        model = MODELS[self.model]
        # A correction leaves what is of second order; without one the first stays.
        order = 2 if "analytic" in model.corrections else 1
        rest = 0.0 if not model.inflation else sqrt(self.variance) / size**order
        return cut + rest

    def error(self, count: int, noise: Callable[[int], float]) -> float:
        """Mean square error of the aggregate of so many blocks."""
        return self.of_block(count) / count + self.bias(count) ** 2 + noise(count)

    def best(self, noise: Callable[[int], float]) -> int:
        """The number of blocks with the least predicted error."""
        most = min(self.records // MODELS[self.model].least, MOST_BLOCKS)
        if most < 2:
            raise ParameterError(
                f"The declared size of {self.records:,} is too small for blocks of at least "
                f"{MODELS[self.model].least} records of the model {self.model!r}; write blocks to insist.",
                name="blocks",
            )
        counts, count = [], min(_LEAST_BLOCKS, most)
        while count < most:
            counts.append(count)
            count = max(count + 1, count * 21 // 20)
        return min([*counts, most], key=lambda k: self.error(k, noise))


def plan_blocks(question: Question, aggregate: str, lower: Fraction, upper: Fraction) -> TablePlan:
    """By the mean, the median or the winsorised mean of what the blocks say."""
    plan = {"mean": _mean, "median": _median, "winsorised": _winsorised}[aggregate]
    name = str(question.parameter("model"))
    if name not in MODELS:
        raise UnknownName.among("model", name, sorted(MODELS))
    correction = _correction(question, name)
    is_central = (aggregate, correction) == ("median", "analytic")
    blocks = Blocks(
        model=name,
        count=2,
        lower=lower,
        upper=upper,
        unit=question.bounds.step,
        correction="central" if is_central else correction,
        design=_design(question) if _takes_predictors(question) else None,
    )
    return plan(question, replace(blocks, **_own(question)) if name == FUNCTION else blocks)


def _takes_predictors(question: Question) -> bool:
    """Whether records of several variables are fitted: by a regression, or by a function that is given them."""
    name = str(question.parameter("model"))
    is_function = name == FUNCTION and bool(question.parameter("predictors"))
    return MODELS[name].takes_predictors or is_function


def _own(question: Question) -> dict[str, Any]:
    """Which function of the custodian's own, and for how long a block runs."""
    function, seconds = question.parameter("function"), question.parameter("seconds", Fraction(1))
    if function is None:
        raise Unsupported(
            'model = "function" needs function in [table]: what curator.function(…) of the custodian\'s own program '
            "gives.",
            key="function",
        )
    if question.parameter("blocks") is None:
        raise ParameterError(
            "How many blocks are best for a function of your own is not known; write blocks.", name="blocks"
        )
    time = rational(seconds, "seconds")
    if not LEAST_SECONDS <= time <= MOST_SECONDS:
        raise ParameterError(
            f"seconds must be from {plain(LEAST_SECONDS)} to {plain(MOST_SECONDS)}, for each block; received "
            f"{plain(time)}.",
            name="seconds",
        )
    return {"function": str(function), "seconds": time}


def _correction(question: Question, name: str) -> str:
    """What the request writes, or the model's usual one; refused where the model has no such correction."""
    model, named = MODELS[name], question.parameter("correction")
    correction = str(named or model.usual or next(iter(model.corrections), "none"))
    if named is None or correction in model.corrections:
        return correction
    if correction == "firth":
        known = ", ".join(each for each in sorted(MODELS) if MODELS[each].is_firth)
        others = f" {name!r} has {' or '.join(model.corrections)}." if model.corrections else ""
        raise Unsupported(f"Firth's correction is known here for {known}.{others}", key="correction")
    raise Unsupported(f"The model {name!r} has no {correction} correction; leave it out.", key="correction")


def _predictors(question: Question) -> tuple[str, ...]:
    """Refused before data: none, one twice, the outcome itself, or a variable without bounds to spread between."""
    names = tuple(str(name) for name in question.parameter("predictors", ()))
    if not 1 <= len(names) <= MOST_PREDICTORS:
        raise Unsupported(
            f'A logistic regression needs predictors = ["variable", …] in [table], from one to {MOST_PREDICTORS}; '
            f"received {len(names)}.",
            key="predictors",
        )
    if len({question.of, *names}) <= len(names):
        raise Unsupported(
            "Outcome and predictors of a logistic regression are different variables, each named once.",
            key="predictors",
        )
    for name in names:
        bounds = question.domain.variable(name).bounds
        if bounds.low == bounds.high:
            raise Unsupported(f"The bounds of {name!r} are one number; it predicts nothing.", key="predictors")
    return names


def _design(question: Question) -> Design:
    """The declared bounds of the predictors, and which coefficient is asked for: the first one's unless it is named."""
    names = _predictors(question)
    is_regression = MODELS[str(question.parameter("model"))].takes_predictors
    wanted = str(question.parameter("coefficient", names[0])) if is_regression else names[0]
    if wanted not in (INTERCEPT, *names):
        raise UnknownName.among("coefficient", wanted, [INTERCEPT, *names])
    bounds = [question.domain.variable(name).bounds for name in names]
    return Design(
        predictors=tuple(Predictor(low=b.low, high=b.high, unit=float(b.step)) for b in bounds),
        coefficient=0 if wanted == INTERCEPT else 1 + names.index(wanted),
    )


def _query(question: Question) -> ValuesQuery | RowsQuery:
    if not _takes_predictors(question):
        return ValuesQuery(value=question.of, where=question.where)
    return RowsQuery(variables=(question.of, *_predictors(question)), where=question.where)


def _prediction(question: Question, blocks: Blocks, count: int | None = None) -> Prediction:
    """For the declared number of records, or for blocks of the least size where only their number is known."""
    size = question.domain.public_size
    records = (count or 2) * MODELS[blocks.model].least if size is None else max(size, 1)
    width = float(question.bounds.upper - question.bounds.lower)
    if blocks.design is not None and not blocks.function:
        place = blocks.design.coefficient
        # The intercept is as uncertain as a coefficient of a predictor that is one or zero.
        chosen = blocks.design.predictors[place - 1] if place else None
        width = 6.0 if chosen is None else (chosen.high - chosen.low) * chosen.unit
    return Prediction(
        model=blocks.model, records=records, lower=float(blocks.lower), upper=float(blocks.upper), spread=width / 6
    )


def _parted(question: Question, blocks: Blocks, noise: Callable[[Prediction, int], float]) -> Blocks:
    """With the number of blocks that the request names, or the best one for the declared size."""
    named = question.parameter("blocks")
    if named is not None:
        return replace(blocks, count=int(named))
    if question.domain.public_size is None or question.where:
        raise ParameterError(
            "How many blocks are best follows from a declared size of the whole data set; write blocks where there is "
            "none, or where only some of the records are asked for.",
            name="blocks",
        )
    prediction = _prediction(question, blocks)
    return replace(blocks, count=prediction.best(lambda count: noise(prediction, count)))


def _chosen(question: Question, blocks: Blocks, budget: Budget, power: int) -> tuple[Mechanism, int]:
    """The noise, and the weight with which blocks without a number are counted beside the sum of a function's numbers.

    It is the largest weight that leaves the noise as it is; the smaller one of the two is paid for by noise that has no
    such weight.
    """

    def choose(weight: int) -> Mechanism:
        moved = BlockTotals.sensitivity(blocks.width, power, question.neighbours, weight)
        return question.choose(moved, budget)

    alone = choose(0)
    if power == 2 or not blocks.function:
        return alone, 0
    larger, smaller = free_weights(blocks.width)
    return (alone, larger) if choose(larger) == alone else (choose(smaller), smaller)


def _totals(question: Question, blocks: Blocks, part: Fraction, power: int) -> BlockTotals:
    mechanism, weight = _chosen(question, blocks, share(question.budget, part), power)
    return BlockTotals(
        name=f"{'squares' if power == 2 else 'sum'} of block estimates of {question.of}",
        query=_query(question),
        blocks=blocks,
        mechanism=mechanism,
        power=power,
        weight=weight,
    )


def _parts(
    question: Question, blocks: Blocks, spent: Fraction, squares: Fraction, block_variance: float
) -> tuple[MeasuredPart, ...]:
    """The sum, and the squares if they have a share of the budget; `block_variance` in steps of the grid."""
    half = blocks.width / 2
    totals = _totals(question, blocks, 1 - spent - squares, 1)
    first = MeasuredPart(arrays=("above",), measurement=totals, typical=(half,))
    if totals.weight:
        first = replace(first, arrays=("above", "silent"), typical=(half, 0.0))
    if not squares:
        return (first,)
    second = _totals(question, blocks, squares, 2)
    typical = (min(block_variance, half**2),)
    return first, MeasuredPart(arrays=("squares",), measurement=second, typical=typical)


def _first_share(question: Question) -> Fraction:
    return SQUARES[1] if wants_sampling(question) else Fraction(0)


def _narrowest(question: Question, blocks: Blocks, spent: Fraction, block_variance: float) -> tuple[MeasuredPart, ...]:
    """The shares of the sum and of the squares for which the predicted interval with sampling is the narrowest."""
    if not wants_sampling(question):
        return _parts(question, blocks, spent, Fraction(0), block_variance)
    options = [_parts(question, blocks, spent, part, block_variance) for part in SQUARES]
    law = Joint(STRUCTURE, {"estimate": "mean", "limits": ["-inf", "inf"], **_grid(blocks), "student": True})

    def width(parts: tuple[MeasuredPart, ...]) -> float:
        whole = replace(law, parameters={**law.parameters, **_arrays(parts)})
        lower, upper = estimated(whole, typical_blocks(parts, blocks.count), 1).ends(0.95, True)
        return float(upper[0] - lower[0])

    return min(options, key=width)


def _remarks(question: Question) -> tuple[str, ...]:
    own = [note("function")] if str(question.parameter("model")) == FUNCTION else []
    return (note("blocks"), *own, *sampling_notes(question))


def _arrays(parts: tuple[MeasuredPart, ...]) -> dict[str, Any]:
    """What is measured, and with which weight blocks without a number are counted."""
    return {"arrays": [array for part in parts for array in part.arrays], **_weights(parts)}


def _weights(parts: tuple[MeasuredPart, ...]) -> dict[str, int]:
    totals = parts[0].measurement
    assert isinstance(totals, BlockTotals)
    return {"silent factor": totals.weight} if totals.weight else {}


def _notes(
    totals: Measurement, count: int, code: str = "silent_blocks"
) -> Callable[[tuple[Block, ...]], tuple[str, ...]]:
    """The first note of a release: how many blocks gave no number, as it was measured in the step with the sum."""
    if not isinstance(totals, BlockTotals) or not totals.weight:
        return lambda _: ()
    margin = ceil(totals.law.half_width(0.95) / totals.weight)

    def noted(blocks: tuple[Block, ...]) -> tuple[str, ...]:
        (block,) = (block for block in blocks if block.name == totals.name)
        silent = min(max(round(int(block.values[1]) / totals.weight), 0), count)
        return (note(code, silent=silent, blocks=count, margin=margin),)

    return noted


def _grid(blocks: Blocks) -> dict[str, Any]:
    return {"low": 0, "high": blocks.width, "centre": blocks.width // 2, "size": blocks.count}


def _mean(question: Question, blocks: Blocks) -> TablePlan:
    scale, totals = float(blocks.scale), _totals(question, blocks, 1 - _first_share(question), 1)
    variance = float(totals.mechanism.variance)
    blocks = _parted(question, blocks, lambda _, count: variance * (scale / count) ** 2)
    prediction = _prediction(question, blocks, blocks.count)
    parts = _narrowest(question, blocks, Fraction(0), prediction.of_block(blocks.count) / scale**2)
    plan = plan_estimate(
        question,
        "mean",
        _named(question, blocks),
        parts,
        _grid(blocks) | _weights(parts) | {"scale": blocks.scale, "origin": blocks.lower},
        (blocks.lower, blocks.upper),
        measure="sample_and_aggregate",
        warnings=_remarks(question),
    )
    noted = _notes(parts[0].measurement, blocks.count)
    return replace(plan, preview={**plan.preview, **_described(blocks)}, noted=noted)


def _named(question: Question, blocks: Blocks) -> str:
    """What the number is called: a coefficient after its predictor."""
    if blocks.function:
        return f"{blocks.function.split()[0]} of {question.of}"
    name = f"{blocks.model} of {question.of}"
    if blocks.design is None:
        return name
    return f"{name}: {(INTERCEPT, *_predictors(question))[blocks.design.coefficient]}"


def _described(blocks: Blocks) -> dict[str, Any]:
    return {"records": blocks.count, "model": blocks.model, "correction": blocks.correction}


def _selection(
    question: Question, blocks: Blocks, part: Fraction, qs: tuple[Fraction, ...], *, has_ends: bool
) -> ApproximateQuantiles:
    count = levels((3 if has_ends else 1) * len(qs))
    return ApproximateQuantiles(
        name=f"quantiles of block estimates of {question.of}",
        space=CellSpace(()),
        queries=(_query(question),),
        low=0,
        high=blocks.width,
        epsilon=selection_epsilon(share(question.budget, part), count),
        neighbours=question.neighbours,
        q=qs,
        sizes=(blocks.count,),
        step=blocks.scale,
        has_ends=has_ends,
        blocks=blocks,
    )


def _refusal(question: Question) -> str:
    return f"Selections among blocks do not fit {question.budget.definition!r}; use pure or zero_concentrated."


def _median(question: Question, blocks: Blocks) -> TablePlan:
    """The median of the blocks between two ends that noise and sampling leave in between."""
    if blocks.function:
        raise Unsupported(
            'How many blocks gave no number is counted beside a sum: a function takes aggregate = "mean" or '
            '"winsorised".',
            key="aggregate",
        )
    if not has_sampling(question):
        raise Unsupported(
            f'The median of blocks has no error without its ends. {no_sampling(question)} Use aggregate = "mean".',
            key="aggregate",
        )
    if not wants_sampling(question):
        raise Unsupported('The median of blocks has no error without its ends; leave error = "noise" out.', key="error")
    rows = question.neighbours.max_rows
    level = _selection(question, blocks, Fraction(1), (_HALF,), has_ends=True).level_epsilon

    def noise(prediction: Prediction, count: int) -> float:
        ranks = ranks_of(count, (_HALF,), level, rows).noise[0]
        # The density of normal estimates at their median turns ranks into values; their median is less efficient than
        # their mean.
        variance = prediction.of_block(count)
        return 6.28 * variance * ranks / count**2 + 0.57 * variance / count

    blocks = _parted(question, blocks, noise)
    prediction = _prediction(question, blocks, blocks.count)
    selection = _selection(question, blocks, Fraction(1), (_HALF,), has_ends=True)
    law = Joint(
        STRUCTURE,
        {
            "estimate": "quantiles",
            "q": [plain(_HALF)],
            "epsilon": plain(level),
            "rows": rows,
            "step": plain(blocks.scale),
            "origin": plain(blocks.lower),
            "limits": [plain(blocks.lower), plain(blocks.upper)],
            "size": blocks.count,
        }
        | design_law(question),
    )
    error = sqrt(6.28 * prediction.of_block(blocks.count) * selection.ranks(0).noise[0]) / blocks.count
    return priced(
        question,
        (selection,),
        _shown(question, blocks, law),
        law=law,
        mechanism="exponential_quantile",
        strategy="sample_and_aggregate",
        limits=(float(blocks.lower), float(blocks.upper)),
        preview={"cells": 1, "std_error": error, "half_width_95": 2.16 * error, **_described(blocks)},
        warnings=_remarks(question),
        refusal=_refusal(question),
    )


def _shown(question: Question, blocks: Blocks, law: Joint) -> Callable[[tuple[Block, ...]], tuple[Table, ...]]:
    name, space = _named(question, blocks), question.space
    return lambda measured: estimate_tables(law, measured, space, name, "sample_and_aggregate")


@dataclass(frozen=True, kw_only=True, repr=False)
class WinsorisedPlan(TablePlan):
    """First the quartiles of the blocks, then sums of what they say between two ends that the released
    quartiles set.
    """

    def steps(self) -> Generator[Measurement, Outcome, None]:
        """The later measurements are made of the first answer; their cost does not depend on it."""
        quartiles, *sums = self.measurements
        answer = yield quartiles
        for step in sums:
            assert isinstance(step, BlockTotals)
            blocks = step.blocks
            if isinstance(answer, Value):
                low, high = window(answer.values, blocks.lower, blocks.upper, blocks.width)
                yield replace(step, blocks=replace(blocks, lower=low, upper=high))


def _winsorised(question: Question, blocks: Blocks) -> TablePlan:
    kept = 1 - QUARTILES - _first_share(question)
    variance = float(_totals(question, blocks, kept, 1).mechanism.variance) / blocks.width**2

    def noise(prediction: Prediction, count: int) -> float:
        reach = 2 * WIDENING * _NORMAL_QUARTILES * sqrt(prediction.of_block(count))
        return variance * (min(reach, prediction.upper - prediction.lower) / count) ** 2

    blocks = _parted(question, blocks, noise)
    prediction = _prediction(question, blocks, blocks.count)
    # In a window of so many standard deviations, on the grid of the second step.
    steps = blocks.width / (2 * WIDENING * _NORMAL_QUARTILES)
    parts = _narrowest(question, blocks, QUARTILES, steps**2)
    quartiles = _selection(question, blocks, QUARTILES, (Fraction(1, 4), Fraction(3, 4)), has_ends=False)
    if sqrt(max(quartiles.ranks(0).noise)) > blocks.count / 8:
        raise Unsupported(
            f"At this budget the quartiles of {blocks.count} blocks would be off by a large part of them; take more "
            "blocks or a larger"
            ' budget, or aggregate = "mean".',
            key="aggregate",
        )
    law = Joint(
        STRUCTURE,
        {
            "estimate": "winsorised mean",
            "arrays": _arrays(parts)["arrays"],
            "limits": [plain(blocks.lower), plain(blocks.upper)],
        }
        | {key: str(value) for key, value in (_grid(blocks) | _weights(parts)).items()}
        | design_law(question),
    )
    error = sqrt(noise(prediction, blocks.count))
    plan = priced(
        question,
        (quartiles, *(part.measurement for part in parts)),
        _shown(question, blocks, law),
        law=law,
        mechanism=parts[0].measurement.mechanism.name,
        strategy="sample_and_aggregate",
        limits=(float(blocks.lower), float(blocks.upper)),
        preview={
            "cells": 1,
            "std_error": error,
            "half_width_95": NormalDist().inv_cdf(0.975) * error,
            **_described(blocks),
        },
        warnings=_remarks(question),
        refusal=_refusal(question),
    )
    plan = replace(plan, noted=_notes(parts[0].measurement, blocks.count, "silent_cut_blocks"))
    return WinsorisedPlan(**vars(plan))
