"""Parameters of an exponential family in each cell, from its noisy sums, with parametric-bootstrap intervals.

The whole budget goes to the sums that say all about the family: total and count, and for a normal law the squares with
a half. The error of sampling follows from the fitted law, so that it costs nothing.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dalenius.algebra.estimator import Estimator, Need
from dalenius.algebra.families import FAMILIES
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.plan import TablePlan
from dalenius.errors import TooLarge, Unsupported
from dalenius.plans.design import design_notes, public_size
from dalenius.plans.sum_layouts import declared
from dalenius.plans.sum_plan import SumPlan, finished, law_of
from dalenius.plans.sum_shares import MeasuredLayout
from dalenius.spec.document import Part
from dalenius.spec.keys import ModelKey
from dalenius.spec.method import AnswerKind, FieldKind, FormField, Method, Words, example
from dalenius.spec.notes import note
from dalenius.spec.question import Question
from dalenius.translation import texts, translated

__all__ = ["ExponentialFamilyMethod"]


# Every cell is fitted a thousand times over, also for whoever only looks at the release.
MOST_CELLS = 500


class ExponentialFamilyMethod(Method):
    """The law of a family under which clipped values have the measured moments."""

    name: str = "exponential_family"
    answer: AnswerKind = AnswerKind.NUMBER
    is_offered: bool = False
    form_fields: Mapping[str, FormField] = {
        "model": FormField(
            kind=FieldKind.CHOICE,
            labels=texts("Distribution"),
            first="gaussian",
            is_needed=True,
            choices={"gaussian": texts("normal"), "poisson": texts("Poisson"), "exponential": texts("exponential")},
        )
    }
    Parameters: type[Part] = ModelKey
    words: Mapping[str, Words] = translated(
        Words(
            title="Parameters of a distribution of {of}",
            preview="In a cell of {records} records spread evenly over the bounds, expect the first parameter to be "
            "off by at most ± {error} (95 %) through privacy noise; in smaller cells by more.",
            caption="± is the margin of error from privacy noise, {level}; parameters are missing where the released "
            "count is below two.",
        )
    )
    examples: tuple[Mapping[str, Any], ...] = (
        example(rows=["sex"], measure="exponential_family", of="income", model="gaussian", rho=2),
        example(measure="exponential_family", of="age", model="poisson", epsilon=4),
        example(measure="exponential_family", of="income", model="exponential", epsilon=4),
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """The sums of the named family; refused where the declared bounds are not those of its values."""
        name = question.parameter("model")
        if name not in FAMILIES:
            raise Unsupported(
                f"An exponential family needs model in [table]: one of {', '.join(sorted(FAMILIES))}.", key="model"
            )
        family = FAMILIES[str(name)]
        _check_bounds(str(name), question)
        reads = (Need("1"), Need("x"), *((Need("x x"),) if family.has_squares else ()))
        estimator = Estimator(
            name="exponential_family",
            reads=reads,
            degree=0,
            value=lambda sums: sums["x"],
            units={"x": 1},
            least=2,
            limits=lambda bounds: family.ends,
            spread_share=Fraction(0),
        )
        plan = SumPlan(
            question=question,
            estimator=estimator,
            variables={"x": question.of},
            size=public_size(question),
            has_sampling=True,
            finish=lambda plan: plan,  # type: ignore[arg-type, return-value]
            notes=(note("family"), *design_notes(question)),
        )
        parts, labels = (
            MeasuredLayout.of(plan, declared(plan)).parts,
            Axis(variable="parameter", labels=family.parameters),
        )
        zeros = frozenset((*cell, place) for cell in question.space.structural_zeros for place in range(len(labels)))
        return finished(
            plan,
            parts,
            law_of(plan, parts, family=str(name)),
            shown=CellSpace((*question.space.axes, labels), zeros),
            name=f"{name} distribution of {question.of}",
        )


def _check_bounds(name: str, question: Question) -> None:
    """Counts are whole numbers from zero on, and what waits exponentially is not negative."""
    bounds, cells = question.bounds, question.space.size
    if cells > MOST_CELLS:
        raise TooLarge(
            f"A law is fitted in at most {MOST_CELLS} cells; received {cells:,}.", received=cells, limit=MOST_CELLS
        )
    if any(axis.name == "parameter" for axis in question.space.axes):
        raise Unsupported("A variable called 'parameter' cannot be in the rows or columns of this table.")
    if FAMILIES[name].needs_whole and (bounds.low != 0 or bounds.step != 1):
        raise Unsupported(f"Values of a {name} law are whole numbers from 0 on: bounds = [0, …] and step = 1.")
    if name == "bernoulli" and bounds.high != 1:
        raise Unsupported("Values of a bernoulli law are 0 and 1: bounds = [0, 1].")
    if bounds.low < 0 and name == "exponential":
        raise Unsupported("Values of an exponential law are not negative.")
