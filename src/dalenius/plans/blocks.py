"""Plans of sample and aggregate: how what the blocks say is put together."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import ceil, sqrt
from statistics import NormalDist
from typing import Any

from dalenius.algebra.bases import sized
from dalenius.algebra.block_quantiles import BlockRanks, Ranks
from dalenius.algebra.estimate_law import STRUCTURE, EstimateLaw, LinearForm
from dalenius.algebra.estimates import estimated
from dalenius.algebra.estimator import ROWS
from dalenius.algebra.windows import WIDENING, window
from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.contracts import Measurement, Mechanism
from dalenius.core.domain import CellSpace
from dalenius.core.law import Joint
from dalenius.core.plan import TablePlan
from dalenius.core.rationals import plain
from dalenius.core.release import Block, Table
from dalenius.errors import Unsupported
from dalenius.exact.quantile_selection import Score
from dalenius.measurements.block_totals import SQUARES, SUM, BlockTotals, free_weights
from dalenius.measurements.blocks.blocks import Blocks
from dalenius.measurements.grid_selection import GridSelection
from dalenius.plans import block_design
from dalenius.plans.design import design_law, no_sampling, sampling_notes, wants_sampling
from dalenius.plans.priced import priced, selection_epsilon, share
from dalenius.plans.sum_plan import Held, MeasuredPart, estimate_tables, forms_of, preview_of, typical_blocks
from dalenius.spec.notes import note
from dalenius.spec.question import Question
from dalenius.statistics import Parabola

QUARTILES = Fraction(1, 4)
# Shares of the budget that squares may take where they are measured by themselves, of which the one with the narrowest
# predicted interval is used.
SHARES = (Fraction(1, 10), Fraction(1, 5), Fraction(3, 10), Fraction(2, 5))
_HALF, _FINENESS = Fraction(1, 2), 256
# The distance of the quartiles of a normal law, in standard deviations.
_NORMAL_QUARTILES = 1.349


def plan_blocks(question: Question) -> TablePlan:
    """By the mean, the median or the winsorised mean of what the blocks say."""
    aggregate = str(question.parameter("aggregate", "mean"))
    plan = {"mean": _mean, "median": _median, "winsorised": _winsorised}[aggregate]
    return plan(question, block_design.blocks_of(question, aggregate))


def _mechanism(
    question: Question, blocks: Blocks, budget: Budget, multiples: tuple[int, int], weight: int = 0
) -> Mechanism:
    return question.choose(BlockTotals.sensitivity(blocks.width, multiples, question.neighbours, weight), budget)


def _with_silent(question: Question, blocks: Blocks, budget: Budget) -> tuple[Mechanism, int]:
    """The noise of a sum, and the weight with which blocks without a number are counted beside it.

    It is the largest weight that leaves the noise as it is; the smaller one of the two is paid for by noise that has no
    such weight.
    """
    alone = _mechanism(question, blocks, budget, SUM)
    larger, smaller = free_weights(blocks.width)
    is_free = _mechanism(question, blocks, budget, SUM, larger) == alone
    return (alone, larger) if is_free else (_mechanism(question, blocks, budget, SUM, smaller), smaller)


def _totals(question: Question, blocks: Blocks, part: Fraction, multiples: tuple[int, int] = SUM) -> BlockTotals:
    budget, weight = share(question.budget, part), 0
    if multiples == SUM and blocks.function:
        mechanism, weight = _with_silent(question, blocks, budget)
    else:
        mechanism = _mechanism(question, blocks, budget, multiples)
    told = " and ".join(name for name, multiple in zip(("sum", "squares"), multiples, strict=True) if multiple)
    return BlockTotals(
        name=f"{told} of block estimates of {question.of}",
        query=block_design.query_of(question),
        blocks=blocks,
        mechanism=mechanism,
        multiples=multiples,
        weight=weight,
    )


def _parts(
    question: Question, blocks: Blocks, spent: Fraction, squares: Fraction, block_variance: float
) -> tuple[MeasuredPart, ...]:
    """The sum, and the squares if they have a share of the budget; `block_variance` in steps of the grid."""
    half = blocks.width / 2
    totals = _totals(question, blocks, 1 - spent - squares)
    sums = {name: Held(form) for name, form in sized(0, blocks.width // 2, blocks.count).items()}
    first = MeasuredPart(measurement=totals, typical=(half,), sums=sums)
    if totals.weight:
        silent = {"silent": Held(LinearForm.array(1, Fraction(1, totals.weight)))}
        first = replace(first, typical=(half, 0.0), products=silent)
    if not squares:
        return (first,)
    second = _totals(question, blocks, squares, SQUARES)
    typical = (min(block_variance, half**2),)
    return first, MeasuredPart(measurement=second, typical=typical, products={"x x": Held(LinearForm.array(0))})


def _joint(
    question: Question, blocks: Blocks, spent: Fraction, block_variance: float, *, is_pure: bool
) -> MeasuredPart:
    """Sum and squares as one answer, at the price of the sum."""
    half, basis = blocks.width / 2, Parabola.of(0, blocks.width, is_pure=is_pure)
    sums = sized(0, blocks.width // 2, blocks.count)
    return MeasuredPart(
        measurement=_totals(question, blocks, 1 - spent, (basis.first, basis.second)),
        typical=(basis.first * half, basis.second * min(block_variance, half**2)),
        sums={ROWS: Held(sums[ROWS]), "x": Held(sums["x"].scaled(Fraction(1, basis.first)))},
        products={"x x": Held(LinearForm.array(1, Fraction(1, basis.second)))},
    )


def _first_share(question: Question, blocks: Blocks) -> Fraction:
    """What squares are expected to take, which is nothing where they are told with the sum."""
    return SHARES[1] if blocks.function and wants_sampling(question) else Fraction(0)


def _narrowest(question: Question, blocks: Blocks, spent: Fraction, block_variance: float) -> tuple[MeasuredPart, ...]:
    """The way to measure sum and squares for which the predicted interval with sampling is the narrowest.

    Beside the sum of a function's numbers the blocks that gave none are counted, and squares take a share of their own.
    """
    if not wants_sampling(question):
        return _parts(question, blocks, spent, Fraction(0), block_variance)
    if blocks.function:
        options = [_parts(question, blocks, spent, part, block_variance) for part in SHARES]
    else:
        budget = question.budget
        norms = ([] if budget.epsilon is None else [True]) + ([] if budget.rho is budget.delta is None else [False])
        options = [(_joint(question, blocks, spent, block_variance, is_pure=is_pure),) for is_pure in norms]

    def width(parts: tuple[MeasuredPart, ...]) -> float:
        whole = EstimateLaw(limits=("-inf", "inf"), **_measured(blocks, parts, student=True)).to_law()
        lower, upper = estimated(whole, typical_blocks(parts, blocks.count), 1).ends(0.95, True)
        return float(upper[0] - lower[0])

    return min(options, key=width)


def _remarks(question: Question) -> tuple[str, ...]:
    own = [note("function")] if str(question.parameter("model")) == block_design.FUNCTION else []
    return (note("blocks"), *own, *sampling_notes(question))


def _measured(blocks: Blocks, parts: tuple[MeasuredPart, ...], **more: Any) -> dict[str, Any]:
    """What the law of a mean of blocks says of its sums, on the grid of their range."""
    sums, products = forms_of(parts, blocks.count)
    return {
        "estimator": "mean",
        "version": registry.get("estimators", "mean").version,
        "sums": sums,
        "products": products,
        "centres": {"x": Fraction(blocks.width // 2)},
        "ends": {"x": (0, blocks.width)},
        "more": more | ({"silent": True} if "silent" in products else {}),
    }


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


def _mean(question: Question, blocks: Blocks) -> TablePlan:
    scale, totals = float(blocks.scale), _totals(question, blocks, 1 - _first_share(question, blocks))
    variance = float(totals.mechanism.variance)
    blocks = block_design.with_count(question, blocks, lambda _, count: variance * (scale / count) ** 2)
    prediction = block_design.prediction_of(question, blocks, blocks.count)
    parts = _narrowest(question, blocks, Fraction(0), prediction.of_block(blocks.count) / scale**2)
    law = EstimateLaw(
        **_measured(blocks, parts),
        offset=blocks.lower + blocks.width // 2 * blocks.scale,
        scale=blocks.scale,
        limits=(plain(blocks.lower), plain(blocks.upper)),
        **design_law(question),  # type: ignore[arg-type]
    )
    plan = priced(
        question,
        tuple(part.measurement for part in parts),
        _shown(question, blocks, law.to_law()),
        law=law.to_law(),
        mechanism=parts[0].measurement.mechanism.name,
        strategy="sample_and_aggregate",
        limits=(float(blocks.lower), float(blocks.upper)),
        preview=preview_of(question, law, parts, question.space.size),
        warnings=_remarks(question),
        refusal=f"The parts of a mean do not fit {question.budget.definition!r}; use zero_concentrated.",
    )
    noted = _notes(parts[0].measurement, blocks.count)
    return replace(plan, preview={**plan.preview, **_described(blocks)}, noted=noted)


def _described(blocks: Blocks) -> dict[str, Any]:
    return {"records": blocks.count, "model": blocks.model, "correction": blocks.correction}


def _selection(question: Question, blocks: Blocks, part: Fraction, targets: BlockRanks) -> GridSelection:
    """What the blocks say, selected at ranks; records that say the same are parted by chance."""
    return GridSelection(
        name=f"quantiles of block estimates of {question.of}",
        space=CellSpace(()),
        queries=(block_design.query_of(question),),
        low=0,
        high=blocks.width,
        epsilons=(selection_epsilon(share(question.budget, part), *targets.levels),),
        neighbours=question.neighbours,
        targets=targets,
        sizes=(blocks.count,),
        step=blocks.scale,
        score=Score.DISTANCE,
        fineness=_FINENESS,
        blocks=blocks,
        role="quantiles",
    )


def _ranks(selection: GridSelection, targets: BlockRanks, count: int) -> Ranks:
    """Which ranks are asked for of so many blocks, and how far they are off."""
    (level,) = selection.level_epsilons
    return targets.ranks(count, level, selection.neighbours.max_rows)


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
    if not question.domain.draws.has_sampling():
        raise Unsupported(
            f'The median of blocks has no error without its ends. {no_sampling(question)} Use aggregate = "mean".',
            key="aggregate",
        )
    if not wants_sampling(question):
        raise Unsupported('The median of blocks has no error without its ends; leave error = "noise" out.', key="error")
    targets = BlockRanks(qs=(_HALF,))
    selection = _selection(question, blocks, Fraction(1), targets)
    rows, (level,) = question.neighbours.max_rows, selection.level_epsilons

    def noise(prediction: block_design.Prediction, count: int) -> float:
        ranks = _ranks(selection, targets, count).noise[0]
        # The density of normal estimates at their median turns ranks into values; their median is less efficient than
        # their mean.
        variance = prediction.of_block(count)
        return 6.28 * variance * ranks / count**2 + 0.57 * variance / count

    blocks = block_design.with_count(question, blocks, noise)
    prediction = block_design.prediction_of(question, blocks, blocks.count)
    selection = _selection(question, blocks, Fraction(1), targets)
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
    error = sqrt(6.28 * prediction.of_block(blocks.count) * _ranks(selection, targets, blocks.count).noise[0])
    error /= blocks.count
    return priced(
        question,
        (selection,),
        _shown(question, blocks, law),
        law=law,
        mechanism="grid_selection",
        strategy="sample_and_aggregate",
        limits=(float(blocks.lower), float(blocks.upper)),
        preview={"cells": 1, "std_error": error, "half_width_95": 2.16 * error, **_described(blocks)},
        warnings=_remarks(question),
        refusal=_refusal(question),
    )


def _shown(question: Question, blocks: Blocks, law: Joint) -> Callable[[tuple[Block, ...]], tuple[Table, ...]]:
    name, space = block_design.estimate_name(question, blocks), question.space
    return lambda measured: estimate_tables(law, measured, space, name, "sample_and_aggregate")


def _windowed(totals: BlockTotals, released: tuple[Block, ...]) -> BlockTotals:
    """Sums of what the blocks say between two ends that the released quartiles set; their cost is the same."""
    blocks = totals.blocks
    low, high = window(released[0].values, blocks.lower, blocks.upper, blocks.width)
    return replace(totals, blocks=replace(blocks, lower=low, upper=high))


def _winsorised(question: Question, blocks: Blocks) -> TablePlan:
    kept = 1 - QUARTILES - _first_share(question, blocks)
    variance = float(_totals(question, blocks, kept).mechanism.variance) / blocks.width**2

    def noise(prediction: block_design.Prediction, count: int) -> float:
        reach = 2 * WIDENING * _NORMAL_QUARTILES * sqrt(prediction.of_block(count))
        return variance * (min(reach, prediction.upper - prediction.lower) / count) ** 2

    blocks = block_design.with_count(question, blocks, noise)
    prediction = block_design.prediction_of(question, blocks, blocks.count)
    # In a window of so many standard deviations, on the grid of the second step.
    steps = blocks.width / (2 * WIDENING * _NORMAL_QUARTILES)
    parts = _narrowest(question, blocks, QUARTILES, steps**2)
    targets = BlockRanks(qs=(Fraction(1, 4), Fraction(3, 4)), has_ends=False)
    quartiles = _selection(question, blocks, QUARTILES, targets)
    if sqrt(max(_ranks(quartiles, targets, blocks.count).noise)) > blocks.count / 8:
        raise Unsupported(
            f"At this budget the quartiles of {blocks.count} blocks would be off by a large part of them; take more "
            "blocks or a larger"
            ' budget, or aggregate = "mean".',
            key="aggregate",
        )
    law = EstimateLaw(
        **_measured(blocks, parts, window=True),
        limits=(plain(blocks.lower), plain(blocks.upper)),
        **design_law(question),  # type: ignore[arg-type]
    ).to_law()
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
        then=_windowed,
    )
    return replace(plan, noted=_notes(parts[0].measurement, blocks.count, "silent_cut_blocks"))
