"""Methods that are a function of sums: an estimator, its keys and its words; the rest is what modifiers add."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, cast

from pydantic import create_model

from dalenius.algebra.estimator import Estimator
from dalenius.core import registry
from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.core.rationals import rational
from dalenius.errors import ParameterError, Unsupported
from dalenius.plans.modifier import modifiers
from dalenius.plans.sum_plan import CLIPPED, Classes, SumPlan
from dalenius.plans.sum_table import as_table
from dalenius.spec.document import Exact, Name, Part, usual
from dalenius.spec.method import WHICH_ERROR, AnswerKind, FieldKind, FormField, Method, Words
from dalenius.spec.question import Question
from dalenius.translation import texts

ANOTHER = FormField(kind=FieldKind.VARIABLE, labels=texts("With"), is_needed=True)
BOTH_ERRORS: Mapping[str, FormField] = {"error": WHICH_ERROR}


class OtherKeys(Part):
    """The second variable of an estimate of two."""

    naming: ClassVar[tuple[str, ...]] = ("other",)

    other: Name | None = usual(None, "The second variable of a ratio, covariance or correlation.")


class RateKeys(Part):
    """Of how many units a share or a ratio is."""

    per: Exact = usual(Fraction(1), "Of how many units a share or a ratio is: 1000 gives a rate per thousand.")


@lru_cache
def _keys(own: tuple[type[Part], ...], section: str, names: tuple[str, ...]) -> type[Part]:
    """The keys of a method and of all modifiers as one part of the document."""
    parts = [part for part in (*own, *(modifier.keys for modifier in modifiers())) if part is not Part]
    made = cast("type[Part]", create_model("Keys", __base__=tuple(dict.fromkeys(parts))))
    made.section, made.naming = section, tuple(key for part in parts for key in part.naming)
    made.takes_categories = any(part.takes_categories for part in parts)
    return made


class EstimateMethod(Method):
    """A function of sums, which every modifier may be combined with.

    `prepare` adds to the plan of sums what only this method knows: its classes, or its unit. `at_the_data` plans it
    where the guarantee is made for the actual data, and `route` what is no function of sums.
    """

    estimator_name: str
    errors = ("noise", "sampling", "bootstrap")
    scopes: tuple[Scope, ...]
    takes_weight: bool

    def __init__(
        self,
        *,
        name: str,
        words: Mapping[str, Words],
        examples: tuple[Mapping[str, Any], ...],
        estimator: str = "",
        keys: tuple[type[Part], ...] = (),
        prepare: Callable[[SumPlan], SumPlan] = lambda plan: plan,
        at_the_data: Callable[[Question], TablePlan] | None = None,
        statistic: Callable[[Question], Any] | None = None,
        route: Callable[[Question], TablePlan | None] = lambda question: None,
        canonical: Callable[[Mapping[str, Any]], dict[str, Any]] = dict,
        **stated: Any,
    ) -> None:
        self.name, self.words, self.examples = name, words, examples
        self.estimator_name, self._own, self._prepare, self._at_the_data = estimator or name, keys, prepare, at_the_data
        self.takes_weight, self._canonical, self._route = True, canonical, route
        if at_the_data is not None:
            self.scopes = (Scope.ALL_DATA, Scope.ACTUAL_DATA, Scope.OBSERVED_ROWS)
        if statistic is not None:
            self.statistic = statistic
        for key, value in stated.items():
            setattr(self, key, value)

    @property
    def estimator(self) -> Estimator:
        estimator: Estimator = registry.get("estimators", self.estimator_name)
        return estimator

    @property
    def Parameters(self) -> type[Part]:  # type: ignore[override]  # noqa: N802 - the name of the contract
        """Its keys, those of two variables where it has two, and those of every modifier."""
        other = (OtherKeys,) if "y" in self.estimator.roles else ()
        return _keys((*self._own, *other), f"[table] of a {self.name}", registry.names("modifiers"))

    @property
    def belongs(self) -> Mapping[str, str]:  # type: ignore[override]
        return {key: what for modifier in modifiers() for key, what in modifier.belongs.items()}

    def plan(self, question: Question) -> TablePlan:
        """From its sums, with everything that the request combines with it; at the data by a route of its own.

        Raises `Unsupported` with the reason of the modifier that cannot be combined with the estimator.
        """
        if question.scope.is_data_dependent and self._at_the_data is not None:
            return self._at_the_data(question)
        routed = self._route(question)
        if routed is not None:
            return routed
        plan = self.sum_plan(question)
        for modifier in modifiers():
            if modifier.is_asked(question):
                reason = modifier.refuses(plan.estimator)
                if reason:
                    raise Unsupported(reason, key=modifier.name)
                # Asked for by its name, so that a release says whose modifier it was made with.
                plan = registry.get("modifiers", modifier.name).apply(plan)
        return plan.finish(plan)

    def sum_plan(self, question: Question) -> SumPlan:
        """The plan before anything is combined with it."""
        variables = {"x": question.of}
        if "y" in self.estimator.roles:
            variables["y"] = other_of(question)
        many = max(need.classes for need in self.estimator.reads)
        plan = SumPlan(
            question=question,
            estimator=self.estimator,
            variables=variables,
            classes=Classes.equal(question.of, question.bounds, many) if many else None,
            finish=as_table,
            notes=(CLIPPED,),
        )
        return self._prepare(plan)

    def canonical_keys(self, keys: Mapping[str, Any]) -> dict[str, Any]:
        """In the one spelling of every modifier."""
        written = self._canonical(keys)
        for modifier in modifiers():
            written = modifier.canonical(written)
        return written


def other_of(question: Question) -> str:
    name = question.parameter("other")
    if name is None:
        raise Unsupported(f'measure = {question.method!r} needs other = "variable" in [table].', key="other")
    if name == question.of:
        raise Unsupported("The two variables are the same; ask for a variance, or name another one.", key="other")
    return str(name)


def rate_of(question: Question) -> Any:
    """Of how many units a share or ratio is."""
    per = rational(question.parameter("per", 1), "per")
    if per <= 0:
        raise ParameterError("per must be positive: 1 for a share or ratio, 1000 for a rate.", name="per")
    return per


__all__ = ["ANOTHER", "BOTH_ERRORS", "AnswerKind", "EstimateMethod", "OtherKeys", "RateKeys", "other_of", "rate_of"]
