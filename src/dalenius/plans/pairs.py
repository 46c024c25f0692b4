"""What ratios, covariances and correlations share: a second variable, and moments of rows that have both."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal

from dalenius.algebra.estimates import influence
from dalenius.algebra.influence import GRID, Box
from dalenius.core.contracts import Measurement
from dalenius.core.domain import Bounds
from dalenius.core.law import Joint
from dalenius.core.plan import TablePlan
from dalenius.core.query import Aggregate, RowsQuery, TableQuery
from dalenius.core.release import Outcome, Value
from dalenius.errors import Unsupported
from dalenius.measurements.noisy import Noisy
from dalenius.plans.moments import (
    CLIPPED,
    MeasuredPart,
    check_size,
    constants,
    middle,
    noisy,
    of_both,
    plan_estimate,
    public_size,
    rows_with,
    sampling_notes,
    squares_part,
    totals_part,
    wants_sampling,
)
from dalenius.spec.document import Name, Part
from dalenius.spec.method import WHICH_ERROR, FieldKind, FormField, Words
from dalenius.spec.question import Question
from dalenius.statistics.magnitude_table import MagnitudeTable
from dalenius.statistics.moment import Moment
from dalenius.statistics.squared_influence import SquaredInfluence
from dalenius.translation import texts

OTHER = "total of the other"
OTHER_SQUARES = "squares of the other"
# The share of the budget that the error of sampling of a covariance or a correlation takes.
INFLUENCE = Fraction(1, 6)
WITH_ANOTHER = {"other": FormField(kind=FieldKind.VARIABLE, labels=texts("With"), is_needed=True), "error": WHICH_ERROR}


class PairParameters(Part):
    """Keys of an estimate of two variables: the second one."""

    section: ClassVar[str] = "[table] of an estimate of two variables"
    naming: ClassVar[tuple[str, ...]] = ("other",)

    other: Name | None = None


class SpreadParameters(PairParameters):
    """Keys of a covariance or a correlation: the second variable, and which error."""

    section: ClassVar[str] = "[table] of a covariance or correlation"

    error: Literal["noise", "sampling"] = "sampling"


def words_of(english: str, german: str) -> dict[str, Words]:
    """How an estimate of the spread of two variables together is spoken of; `german` is feminine."""
    return {
        "en": Words(
            title=f"{english.capitalize()} of {{of}} and {{other}}",
            preview=f"In a cell of {{records}} records spread evenly over the bounds, expect the {english} to be off "
            "by at most"
            " ± {error} (95 %) through privacy noise; in smaller cells by more.",
            caption=f"± is the margin of error from privacy noise, {{level}}; a {english} is missing where the "
            "released count or variances are too small.",
        ),
        "de": Words(
            title=f"{german} von {{of}} und {{other}}",
            preview=f"In einer Zelle mit {{records}} Datensätzen, gleichmäßig über die Schranken verteilt, weicht "
            f"die {german}"
            " durch das Schutzrauschen voraussichtlich um höchstens ± {error} ab (95 %), in kleineren Zellen um mehr.",
            caption=f"± ist die Fehlerspanne durch das Schutzrauschen, {{level}}; die {german} fehlt, wo die "
            "veröffentlichte Anzahl oder die Varianzen zu klein sind.",
        ),
    }


def examples_of(measure: str) -> tuple[Mapping[str, Any], ...]:
    """By a variable, and for all records."""
    pair = {"measure": measure, "of": "income", "other": "age"}
    return (
        {"table": {"rows": ["sex"], **pair}, "privacy": {"definition": "zero_concentrated", "rho": 20}},
        {"table": pair, "privacy": {"definition": "pure", "epsilon": 20}},
    )


def other_of(question: Question) -> tuple[str, Bounds]:
    """The second variable and its bounds."""
    name = question.parameter("other")
    if name is None:
        raise Unsupported(f'measure = {question.method!r} needs other = "variable" in [table].', key="other")
    if name == question.of:
        raise Unsupported("The two variables are the same; ask for a variance, or name another one.", key="other")
    return str(name), question.domain.variable(str(name)).bounds


def total_part(
    question: Question, query: TableQuery, variable: str, part: Fraction, *, array: str, centre: int, is_complete: bool
) -> MeasuredPart:
    """The total of one variable about a centre."""
    bounds = question.domain.variable(variable).bounds
    statistic = MagnitudeTable(
        query=replace(query, aggregate=Aggregate.TOTAL, value=variable, centre=centre),
        low=bounds.low - centre,
        high=bounds.high - centre,
        is_complete=is_complete,
    )
    return MeasuredPart(
        arrays=(array,),
        measurement=noisy(question, f"total of {variable}", statistic, part),
        typical=((bounds.low + bounds.high) / 2 - centre,),
    )


def products_part(
    question: Question, query: TableQuery, part: Fraction, *, centres: tuple[int, int], is_complete: bool
) -> MeasuredPart:
    """Products of both variables about their centres."""
    other, beside = other_of(question)
    statistic = Moment.products(
        replace(query, value=question.of, centre=centres[0]),
        question.bounds,
        other,
        beside,
        centres[1],
        is_complete=is_complete,
    )
    check_size(question, other, max(abs(statistic.low), abs(statistic.high)))
    means = [(b.low + b.high) / 2 - c for b, c in zip((question.bounds, beside), centres, strict=True)]
    return MeasuredPart(
        arrays=("products",),
        measurement=noisy(question, f"products of {question.of} and {other}", statistic, part),
        typical=(means[0] * means[1],),
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class PairPlan(TablePlan):
    """First totals, squares and products; then squared influences of rows at what these say."""

    def steps(self) -> Generator[Measurement, Outcome, None]:
        """The last measurement is made of the answers before it; its cost does not depend on them."""
        *first, last = self.measurements
        assert isinstance(last, Noisy) and isinstance(self.law, Joint)
        blocks = []
        for step in first:
            answer = yield step
            if not isinstance(answer, Value):
                return
            blocks.append(step.block(answer))
        points = influence(self.law, blocks, last.space.size)
        statistic = replace(last.statistic, points=tuple(map(tuple, points.tolist())))  # type: ignore[type-var]
        yield replace(last, statistic=statistic)


def _influence_part(question: Question, query: TableQuery, other: str, box: Box, is_complete: bool) -> MeasuredPart:
    """Squared influences of rows; evenly spread values have a ninth of the largest one."""
    statistic = SquaredInfluence(
        query=RowsQuery(variables=(question.of, other), where=query.where, space=question.space),
        points=(box.start,) * question.space.size,
        is_complete=is_complete,
    )
    return MeasuredPart(
        arrays=("influence",),
        measurement=noisy(question, f"influences on {question.of} and {other}", statistic, INFLUENCE),
        typical=(statistic.grid / 9,),
    )


def plan_pair(question: Question, estimate: str) -> TablePlan:
    """A covariance or a correlation: equal shares for totals, squares, products and the error of sampling."""
    other, beside = other_of(question)
    bounds, size, query = question.bounds, public_size(question, other), rows_with(question, other)
    has_sampling, is_complete = wants_sampling(question), size is not None
    part = (1 - INFLUENCE if has_sampling else Fraction(1)) / 5
    parts: tuple[MeasuredPart, ...] = (
        totals_part(question, query, size, part),
        total_part(question, query, other, part, array=OTHER, centre=middle(beside), is_complete=is_complete),
        squares_part(question, query, question.of, size, part),
        squares_part(question, query, other, size, part, array=OTHER_SQUARES),
        products_part(question, query, part, centres=(middle(bounds), middle(beside)), is_complete=is_complete),
    )
    beside_law: dict[str, int] = {}
    if has_sampling:
        box = Box(x=(bounds.low, bounds.high), y=(beside.low, beside.high))
        parts += (_influence_part(question, query, other, box, is_complete),)
        beside_law = {f"{name} of the other": value for name, value in constants(beside).items()}
        beside_law["influence grid"] = GRID
    largest = (bounds.upper - bounds.lower) * (beside.upper - beside.lower) / 2
    is_covariance = estimate == "covariance"
    plan = plan_estimate(
        question,
        estimate,
        f"{estimate} of {question.of} and {other}",
        parts,
        {"size": size, "scale": bounds.step * beside.step if is_covariance else 1}
        | constants(bounds)
        | beside_law
        | of_both(question, other),
        (-largest, largest) if is_covariance else (Fraction(-1), Fraction(1)),
        warnings=(CLIPPED, *sampling_notes(question)),
    )
    if not has_sampling:
        return plan
    return PairPlan(**vars(plan))
