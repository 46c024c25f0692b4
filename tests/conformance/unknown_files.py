"""Estimators, methods and modifiers as an office would add them: a file each, for tests that plant them."""

ESTIMATORS = {
    "coefficient_of_variation": '''
    """Coefficient of variation: standard deviation over mean."""

    from dalenius.algebra.dual import Dual, sqrt
    from dalenius.algebra.sums import Sums
    from dalenius.algebra.estimator import Estimator, Need, Scale

    __all__ = ["COEFFICIENT_OF_VARIATION"]


    def _variance(s: Sums) -> Dual:
        return s["x x"] / s["1"] - s.mean_product("x", "x")


    def _value(s: Sums) -> Dual:
        return sqrt(s.bessel() * _variance(s)) * s["1"] / s.about_zero("x")


    COEFFICIENT_OF_VARIATION = Estimator(
        name="coefficient_of_variation",
        degree=0,
        reads=(Need("1"), Need("x"), Need("x x")),
        value=_value,
        guards=lambda s: (s.about_zero("x"), _variance(s)),
        scale=Scale.LOG,
        least=2,
        limits=lambda bounds: ("0", "inf"),
        cuts_bias=True,
    )
    ''',
    "gini": '''
    """Gini index of a histogram of 64 classes of equal width."""

    from fractions import Fraction

    from dalenius.algebra.dual import Dual
    from dalenius.algebra.sums import Sums
    from dalenius.algebra.estimator import Estimator, Need

    __all__ = ["GINI"]


    def _value(s: Sums) -> Dual:
        below = area = 0.0 * s["1"]
        for count, middle in zip(s.classes("x"), s.middles("x"), strict=True):
            area = area + count * (2 * below + middle * count)
            below = below + middle * count
        return 1 - area / (s["1"] * below)


    GINI = Estimator(
        name="gini",
        degree=0,
        reads=(Need("1"), Need("x in", classes=64)),
        value=_value,
        least=2,
        limits=lambda bounds: (Fraction(0), Fraction(1)),
        cuts_bias=True,
    )
    ''',
}

METHOD = '''
    """{title}, of a numeric variable in each cell."""

    from dalenius.methods._plan import AnswerKind, EstimateMethod
    from dalenius.spec.method import Words, example
    from dalenius.translation import translated

    __all__ = ["METHOD"]

    METHOD = EstimateMethod(
        name="{name}",
        answer=AnswerKind.NUMBER,
        words=translated(
            Words(
                title="{title} of {{of}}",
                preview="In a cell of {{records}} records, expect it to be off by at most ± {{error}} (95 %).",
                caption="± is the margin of error from privacy noise, {{level}}.",
            )
        ),
        examples=(example(rows=["sex"], measure="{name}", of="age", rho=2),),
    )
'''
METHODS = {
    "coefficient_of_variation": METHOD.format(name="coefficient_of_variation", title="Coefficient of variation"),
    "gini": METHOD.format(name="gini", title="Gini index"),
}

MODIFIERS = {
    "positive": '''
    """Only rows whose values are above zero: the mean pay of those who are paid."""

    from dataclasses import replace
    from typing import Literal

    from dalenius.core.conditions import Filter
    from dalenius.plans.modifier import Modifier
    from dalenius.plans.sum_plan import SumPlan
    from dalenius.spec.document import Part

    __all__ = ["POSITIVE"]


    class PositiveKeys(Part):
        """Whether rows without a positive value are left out."""

        positive: Literal[True] | None = None


    def _apply(plan: SumPlan) -> SumPlan:
        conditions = (Filter(variable=plan.variables[role], low=1) for role in plan.bounds)
        return replace(plan, question=plan.question.among(*conditions))


    POSITIVE = Modifier(
        name="positive",
        place=15,
        owns="question",
        keys=PositiveKeys,
        is_asked=lambda question: question.parameter("positive") is not None,
        apply=_apply,
    )
    ''',
    "unobserved": '''
    """Rows count for the units that they stand for beside themselves: a weight less one."""

    from dataclasses import replace
    from typing import Literal

    from dalenius.errors import Unsupported
    from dalenius.plans.modifier import Modifier
    from dalenius.plans.sum_plan import SumPlan
    from dalenius.spec.document import Part

    __all__ = ["UNOBSERVED"]


    class UnobservedKeys(Part):
        """Whether the units of the sample itself are left out."""

        unobserved: Literal[True] | None = None


    def _apply(plan: SumPlan) -> SumPlan:
        weight = plan.weight
        if weight is None or weight.bounds.lower < 1 or (1 / weight.step).denominator != 1:
            raise Unsupported("Unobserved units are counted by weights of at least one.", key="unobserved")
        return replace(plan, weight=replace(weight, common=weight.common - int(1 / weight.step)))


    UNOBSERVED = Modifier(
        name="unobserved",
        place=22,
        owns="weight",
        keys=UnobservedKeys,
        belongs={"unobserved": "weight"},
        is_asked=lambda question: question.parameter("unobserved") is not None,
        apply=_apply,
    )
    ''',
}
