"""Texts of an unlisted variable that enough units have, with the number of units of each: the one table whose cells
come from the data.
"""

from dalenius.core.domain import Variable
from dalenius.core.plan import TablePlan
from dalenius.core.query import LabelsQuery
from dalenius.errors import ParameterError, Unsupported
from dalenius.measurements.label_selection import LabelSelection
from dalenius.plans.priced import additive_preview, priced, shown_as
from dalenius.spec.document import DEFAULT_MEASURE, Part, Whole, usual
from dalenius.spec.method import FieldKind, FormField, Method, Words, example
from dalenius.spec.notes import note
from dalenius.spec.question import Question
from dalenius.translation import texts, translated


class LabelsParameters(Part):
    """Keys of a list of labels: in how many texts a unit counts."""

    most: Whole = usual(1, "In how many texts one unit counts at most.")


def _plan(question: Question) -> TablePlan:
    """Half of epsilon for the list, half for the numbers, and delta for the list."""
    variable, neighbours, budget = _variable(question), question.neighbours, question.budget
    if budget.epsilon is None or not budget.delta:
        raise ParameterError('A list of labels needs epsilon and delta: definition = "approximate".', name="delta")
    if neighbours.max_rows != question.domain.neighbours.max_rows:
        raise Unsupported("`labels` has no guarantee for groups. Remove `group`.")
    step = LabelSelection.fitted(
        name=variable.name,
        query=LabelsQuery(variable=variable.name, most=int(question.parameter("most", 1))),
        rest=variable.categories.unseen,
        epsilon=budget.epsilon,
        delta=budget.delta,
        neighbours=neighbours,
    )
    told = {"threshold": step.threshold, "sure_from": step.sure}
    return priced(
        question,
        (step,),
        shown_as(DEFAULT_MEASURE),
        mechanism=step.noise.name,
        strategy="label_selection",
        preview={**additive_preview(question, step.law), **told, "cells": None},
        warnings=(note("selected_labels", threshold=step.threshold, sure=step.sure, most=step.query.most),),
        refusal=f"A list of labels does not fit {budget.definition!r}; use approximate.",
    )


def _variable(question: Question) -> Variable:
    """The unlisted variable, which stands alone on the rows of the table with all that it declares."""
    axes = question.space.axes
    if len(axes) != 1 or not axes[0].is_complete or axes[0].level:
        raise Unsupported(
            "A list of labels is of one variable as it is declared, without levels and without a choice of categories.",
            key="rows",
        )
    variable = question.domain.variable(axes[0].variable)
    if not variable.is_unlisted:
        raise Unsupported(
            f"{variable.name!r} is not declared as unlisted, so that none of its texts is released but the declared "
            "ones. The custodian writes unlisted = true in the dataset document where that is wanted.",
            key="rows",
        )
    return variable


LABELS = Method(
    name="labels",
    plan=_plan,
    takes_of=False,
    finds_labels=True,
    Parameters=LabelsParameters,
    form_fields={
        "most": FormField(kind=FieldKind.WHOLE, labels=texts("Texts of a unit that count"), usual="1", first="1")
    },
    words=translated(
        Words(
            title="Number of units with a text that is not declared",
            preview="Texts that enough units have are listed; expect each number to be off by at most ± {error} (95 "
            "%).",
            caption="± is the margin of error from privacy noise, {level}; texts that few units have are not listed.",
        )
    ),
    examples=(example(measure="labels", rows=["job"], epsilon=8, delta="1e-3"),),
    # Where the custodian lets texts be found.
    suits=lambda domain: any(variable.is_unlisted for variable in domain.variables.values()),
)
