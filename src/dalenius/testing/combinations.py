"""Every estimator with every modifier, as one number, as a table and as a list with margins: planned, or why not.

Estimators, modifiers and what asks for each come from the registry, so that a new one of either is combined by itself.
"""

from ast import literal_eval
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from dalenius.core import registry
from dalenius.core.domain import Domain
from dalenius.core.plan import TablePlan
from dalenius.errors import RequestError
from dalenius.plans.modifier import Modifier, modifiers
from dalenius.spec.load import load_dataset
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of

Document = dict[str, Any]
LIST: Mapping[str, Any] = {"rows": ["region", "sex"], "margins": "all"}
SHAPES: Mapping[str, Mapping[str, Any]] = {"number": {}, "table": {"rows": ["region"]}, "list": LIST}
GROUP = Modifier(
    name="group",
    place=10,
    owns="neighbours",
    example={"privacy": {"group": 2}},
    is_asked=lambda question: False,
    apply=lambda plan: plan,
)
"""A guarantee for several units together, which every plan has by its neighbours."""
BUDGETS: tuple[Mapping[str, Any], ...] = (
    {"definition": "zero_concentrated", "rho": 4, "delta": "1/1000000"},
    {"definition": "pure", "epsilon": 4},
)
"""What is planned for one of these counts as planned."""


def methods() -> dict[str, Any]:
    """The method of each estimator, by the estimator's name."""
    return {m.estimator_name: m for m in registry.every("methods").values() if hasattr(m, "sum_plan")}


def check(modifier: Modifier) -> None:
    """Raise `AssertionError` for a modifier without an example, or one that no estimator can be combined with."""
    assert modifier.example, f"{modifier.name} states no example"
    refused = {name: refusal(method, (modifier,), "table") for name, method in methods().items()}
    assert not all(refused.values()), f"{modifier.name}: {refused}"


def refusal(method: Any, chosen: Sequence[Modifier], shape: str) -> str:
    """Why nothing is planned; nothing where something is. Raises what is no refusal."""
    reasons = []
    for is_brief in (False, True):
        for budget in BUDGETS:
            try:
                planned(method, chosen, shape, budget, is_brief=is_brief)
            except RequestError as error:
                reasons.append(str(error))
            else:
                return ""
    return reasons[0]


def planned(
    method: Any, chosen: Sequence[Modifier], shape: str, budget: Mapping[str, Any], *, is_brief: bool = False
) -> TablePlan:
    """The plan of a method with modifiers; briefly, without keys that only say how something is done."""
    request, dataset = asked(method, chosen, shape, budget, is_brief=is_brief)
    return plan_of(_domain(repr(dataset)), request, rule_kit.policy_of(None))


def asked(
    method: Any, chosen: Sequence[Modifier], shape: str, budget: Mapping[str, Any], *, is_brief: bool = False
) -> tuple[Document, Document]:
    """The request, and what its data set says beside the usual."""
    further = {"rows", "columns", "margins", "weight", *(key for each in modifiers() for key in each.keys.model_fields)}
    table = {key: value for key, value in method.examples[0]["table"].items() if key not in further}
    table |= {"measure": method.name} | dict(SHAPES[shape])
    privacy, dataset = dict(budget), Document()
    for each in chosen:
        left_out = each.belongs if is_brief else {}
        table |= {key: value for key, value in each.example.get("table", {}).items() if key not in left_out}
        privacy |= each.example.get("privacy", {})
        dataset |= {section: dict(each.example[section]) for section in ("dataset", "unit") if section in each.example}
    return {"table": table, "privacy": privacy}, dataset


@cache
def _domain(written: str) -> Domain:
    """The declaration of every kit, with some sections said otherwise."""
    other = {section: {**rule_kit.DATASET.get(section, {}), **keys} for section, keys in literal_eval(written).items()}
    return load_dataset({**rule_kit.DATASET, **other}).domain()
