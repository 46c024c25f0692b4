"""Both errors from noisy sums of resampled files: `error = "bootstrap"`.

Means, totals and proportions are bagged: one total is resampled. Any other estimate is made of its sums, and what is
resampled is how far rows move it, at the released numbers: one number, so that the price does not depend on how many
sums an estimator reads.
"""

from dataclasses import replace

from dalenius.errors import Unsupported
from dalenius.plans.modifier import Modifier
from dalenius.plans.replicates import as_replicates
from dalenius.plans.sum_plan import SumPlan
from dalenius.spec.document import Part, usual


class ReplicateKeys(Part):
    """How often the file is resampled."""

    replicates: int | None = usual(None, "How often the file is resampled.")


def _apply(plan: SumPlan) -> SumPlan:
    if plan.weight is not None and plan.classes is not None:
        raise Unsupported(
            "Classes of weighted rows are not resampled: engines list rows by numbers, not by classes. Use "
            'error = "sampling".',
            key="error",
        )
    return replace(plan, finish=as_replicates)


BOOTSTRAP = Modifier(
    name="bootstrap",
    place=60,
    owns="finish",
    keys=ReplicateKeys,
    belongs={"replicates": 'error = "bootstrap"'},
    example={"table": {"error": "bootstrap", "replicates": 5}},
    is_asked=lambda question: question.parameter("error", "sampling") == "bootstrap",
    apply=_apply,
)
