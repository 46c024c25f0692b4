"""The most frequent combination of categories: a cell is named, no number is released."""

from dalenius.plans.choice import canonical_choice, plan_choice
from dalenius.spec.keys import MethodKey
from dalenius.spec.method import Method, Words, example
from dalenius.statistics.count import Count
from dalenius.translation import translated

MODE = Method(
    name="mode",
    plan=lambda question: plan_choice(question, "mode", Count(question.query)),
    takes_of=False,
    has_error=False,
    Parameters=MethodKey,
    canonical_keys=canonical_choice,
    words=translated(
        Words(
            title="Most frequent combination",
            preview="With 95 % probability the combination that is named has at most {error} records less than the "
            "most frequent one.",
            caption="One combination was chosen; another one of nearly as many records may be the most frequent.",
        )
    ),
    examples=(
        example(rows=["sex"], columns=["status"], measure="mode", epsilon=1),
        example(rows=["region"], measure="mode", method="permute_and_flip", rho="1/4"),
    ),
)
