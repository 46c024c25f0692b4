"""`dalenius plan --curve` and `--for`: which amount do I need, before anything is spent."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import typer

from dalenius.cli.output import check_figure, emit, print_grid, roughly, say
from dalenius.curator.planner import Planner
from dalenius.curator.trade_off import TradeOff, curve, smallest_for, smallest_within
from dalenius.errors import DaleniusError, ParameterError
from dalenius.spec.request import RequestDocument


def show_trade_off(
    planner: Planner, document: RequestDocument, *, wanted: str, plot: Path | None, as_json: bool
) -> None:
    """Print the smallest amount for a wanted margin, or the curve; draw the curve where a file is named."""
    check_figure(plot)
    if wanted:
        point = smallest_for(planner, document, _margin(wanted))
        if as_json:
            emit(point.to_dict())
        else:
            typer.echo(
                f"{point.unit} = {float(point.amount):g}: every cell within ±{roughly(point.margin)} with 95 %. "
                f"{_meaning(point)}"
            )
        if plot is None:
            return
    points = curve(planner, document)
    if as_json and not wanted:
        emit({"curve": [point.to_dict() for point in points]})
    elif not wanted:
        _print(points, getattr(document.privacy, points[0].unit))
    if plot is not None:
        from dalenius.publish import draw_trade_off

        draw_trade_off(points[0].unit, [(float(p.amount), p.margin, p.power) for p in points], plot)


def show_smallest(
    planner: Planner, document: RequestDocument, *, wanted: str, margin: str, confidence: float, as_json: bool
) -> None:
    """Print the smallest amount for a margin in all cells of one listed table, and what each strategy needs."""
    if not wanted:
        raise ParameterError('--margin goes with --for, such as --for "±10" --margin region.district.')
    names = tuple(name.strip() for name in margin.replace(" x ", ",").split(",") if name.strip(" ()"))
    point = smallest_within(planner, document, _margin(wanted), names, confidence)
    needs = _needs(planner, document, _margin(wanted), names, confidence)
    if as_json:
        stated = {"unit": point.unit, "amount": float(point.amount), "rho": float(point.rho)}
        reached = {"table": list(names), "confidence": confidence, "half_width": point.margin}
        by_strategy = {name: float(amount) for name, amount in needs}
        emit({**stated, **reached, "power_at_5_percent": point.power, "strategies": by_strategy})
        return
    typer.echo(
        f"{point.unit} = {float(point.amount):g}: every cell of {' x '.join(names) or 'the total'} within"
        f" ±{roughly(point.margin)} with {100 * confidence:g} %. {_meaning(point)}"
    )
    if len(needs) > 1:
        lines = [[name, f"{float(amount):g}"] for name, amount in needs]
        print_grid(["strategy", point.unit], lines, title="What each strategy would need")


def _needs(
    planner: Planner, document: RequestDocument, margin: float, names: tuple[str, ...], confidence: float
) -> list[tuple[str, Fraction]]:
    """The smallest amount of every strategy that the plan weighs, least first."""
    needs = []
    for option in planner.plan(document).preview.get("alternatives") or ():
        privacy = document.privacy.model_copy(update={"strategy": option["strategy"]})
        named = document.model_copy(update={"privacy": privacy})
        try:
            point = smallest_within(planner, named, margin, names, confidence)
        except DaleniusError:
            # A strategy that cannot reach it at any amount that is served is left out.
            continue
        needs.append((str(option["strategy"]), point.amount))
    return sorted(needs, key=lambda pair: pair[1])


def _margin(text: str) -> float:
    try:
        return float(text.strip().removeprefix("±").removeprefix("+-").replace(",", ""))
    except ValueError:
        raise ParameterError(f"A margin of error is written ±5; received {text!r}.") from None


def _meaning(point: TradeOff) -> str:
    return f"Whether somebody is in the data is recognised in at most {point.power:.1%} of cases (5 % by guessing)."


def _print(points: Sequence[TradeOff], asked: object) -> None:
    heads = (points[0].unit, "95 % margin of a cell", "cost in rho", "recognised at 5 %")
    marks = (" <- asked" if p.amount == asked else "" for p in points)
    lines = [
        (f"{float(p.amount):g}", f"±{roughly(p.margin)}", f"{float(p.rho):.4g}", f"{p.power:.1%}{mark}")
        for p, mark in zip(points, marks, strict=True)
    ]
    print_grid(heads, lines, labels=0, title="What other amounts would give")
    say("recognised: how often, at most, the best test at 5 % tells whether somebody is in the data.")
