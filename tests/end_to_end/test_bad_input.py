"""Bad input, line by line and for every measure: refused by its code before anything is spent, or answered by a rule.

What documents tell is refused by the planner, which has no data; a release refuses it likewise and charges nothing. What only the
data could tell (no record, one, blocks of ones) is answered: never by an error, which would tell it too.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dalenius.core import registry
from dalenius.core.randomness import RecordedRandomness
from dalenius.curator.curator import Curator
from dalenius.errors import DaleniusError
from dalenius.spec.load import load_dataset
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of

PURE = {"definition": "pure", "epsilon": 4}
TWO = {"definition": "approximate", "epsilon": 4, "delta": "1e-3"}
BLOCKS = {"measure": "sample_and_aggregate", "of": "income", "model": "exponential", "clip": ["0.01", 1], "blocks": 9}
TESTED = {"measure": "propose_test_release", "of": "income", "bounds": 20}
LOGISTIC = BLOCKS | {"model": "logistic", "predictors": ["age"]}
MANY = [
    {"variable": "age", "cuts": list(range(101))},
    {"variable": "income", "cuts": list(range(41))},
    "region",
    "status",
    "sex",
]
POLICY = rule_kit.policy_of(None) | {"allow": {"acknowledge": list(rule_kit.OPEN), "most_cells": 50_000}}
DOMAIN = load_dataset(rule_kit.DATASET).domain()


def of_numbers() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """The first example of every measure of a numeric variable under differential privacy, by its name."""
    for name, method in registry.every("methods").items():
        example = method.examples[0]
        if method.takes_of and not method.Parameters.takes_categories:
            yield name, {"measure": name, **example["table"]}, dict(example["privacy"])


WITHOUT_BOUNDS = [
    pytest.param(table | {"of": of}, privacy, code, id=f"{name} of {of}")
    for name, table, privacy in of_numbers()
    for of, code in (("sex", "bad_parameter"), ("nobody", "unknown_name"))
]
DOCUMENTS = {
    **{
        f"{measure} at {q}": ({"measure": measure, "of": "age", "q": [q] if measure == "quantiles" else q}, PURE)
        for measure in ("quantile", "quantiles")
        for q in ("0", "1", "-1/2", "3/2", 2, "nan", "half")
    },
    **{f"tested quantile at {q}": (TESTED | {"estimate": "quantile", "q": q}, TWO) for q in ("0", 1, "-1", "2")},
    "no quantiles": ({"measure": "quantiles", "of": "age", "q": []}, PURE),
    "a median before a test without a bound": ({key: TESTED[key] for key in ("measure", "of")}, TWO),
    "a bound of zero": (TESTED | {"bounds": 0}, TWO),
    "a bound as wide as the range": (TESTED | {"bounds": 40}, TWO),
    **{f"{count} blocks": (BLOCKS | {"blocks": count}, PURE) for count in (0, 1, -3, 10**9, "nine", 2.5)},
    "blocks of no declared size": ({k: v for k, v in BLOCKS.items() if k != "blocks"}, PURE),
    "no model": ({k: v for k, v in BLOCKS.items() if k != "model"}, PURE),
    "an unknown model": (BLOCKS | {"model": "weibull"}, PURE),
    "no range": ({k: v for k, v in BLOCKS.items() if k != "clip"}, PURE),
    "a reversed range": (BLOCKS | {"clip": [1, "0.01"]}, PURE),
    "an empty range": (BLOCKS | {"clip": [1, 1]}, PURE),
    "a range of one number": (BLOCKS | {"clip": [1]}, PURE),
    "a correction that the model has not": (BLOCKS | {"model": "median", "correction": "firth"}, PURE),
    "a mixture with a formula": (BLOCKS | {"model": "mixture_lower_mean", "correction": "analytic"}, PURE),
    "a regression without predictors": (BLOCKS | {"model": "logistic"}, PURE),
    "a regression on itself": (LOGISTIC | {"predictors": ["income"]}, PURE),
    "a regression on categories": (LOGISTIC | {"predictors": ["sex"]}, PURE),
    "a function by document": (BLOCKS | {"model": "function", "function": "f sha256:0"}, PURE),
    "no family": ({"measure": "exponential_family", "of": "income"}, PURE),
    "an unknown family": ({"measure": "exponential_family", "of": "income", "model": "cauchy"}, PURE),
    "nobody among whom": ({"measure": "proportion", "of": "sex", "among": []}, PURE),
    "an unknown category": ({"measure": "proportion", "of": "sex", "among": ["neither"]}, PURE),
    "no candidates": ({"measure": "best", "of": "income", "rows": []}, PURE),
    "a mode of nothing": ({"measure": "mode", "rows": []}, PURE),
    "candidates that are none": ({"measure": "mode", "rows": [{"variable": "sex", "categories": []}]}, PURE),
    "a candidate twice": ({"measure": "mode", "rows": ["sex", "sex"]}, PURE),
    **{
        f"more candidates of a {measure} than are served": (
            {"measure": measure, "rows": MANY} | ({} if measure == "mode" else {"of": "weight"}),
            PURE,
        )
        for measure in ("mode", "best", "largest_total")
    },
    "a ratio to itself": ({"measure": "ratio", "of": "income", "other": "income"}, PURE),
    "a covariance with nothing": ({"measure": "covariance", "of": "income"}, PURE),
    "a correlation with categories": ({"measure": "correlation", "of": "income", "other": "sex"}, PURE),
    "a range without ends": ({"measure": "range_count", "of": "age"}, PURE),
    "a range that falls": ({"measure": "range_count", "of": "age", "among": {"at_least": 50, "at_most": 20}}, PURE),
}

CODES = {
    "bad_document": (
        *(f"{measure} at {q}" for measure in ("quantile", "quantiles") for q in ("nan", "half")),
        "nine blocks",
        "2.5 blocks",
        "nobody among whom",
        "candidates that are none",
    ),
    "unknown_name": ("an unknown model", "an unknown category"),
    "unsupported": (
        "no model",
        "a correction that the model has not",
        "a mixture with a formula",
        "a regression without predictors",
        "a regression on itself",
        "no family",
        "an unknown family",
        "no candidates",
        "a mode of nothing",
        "a ratio to itself",
        "a covariance with nothing",
        "a range without ends",
    ),
    "not_allowed": ("a function by document",),
    "too_large": tuple(f"more candidates of a {m} than are served" for m in ("mode", "best", "largest_total")),
}


def code_of(name: str) -> str:
    """All others are numbers outside of what is accepted."""
    return next((code for code, names in CODES.items() if name in names), "bad_parameter")


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    folder = tmp_path_factory.mktemp("bad")
    with Curator.open(
        rule_kit.DATASET,
        data=rule_kit.ROWS,
        ledger=folder / "ledger.sqlite",
        policy=POLICY,
        rng=RecordedRandomness("bad input"),
    ) as opened:
        opened.register(by="custodian")
        yield opened


def check_refused(curator: Curator, request: Mapping[str, Any], code: str) -> None:
    """By the planner, which has no data, and by a release, which charges nothing."""
    before = curator.left
    for ask in (lambda: plan_of(DOMAIN, request, POLICY), lambda: curator.release(request)):
        with pytest.raises(DaleniusError) as refusal:
            ask()
        assert (refusal.value.code, bool(refusal.value.message)) == (code, True), refusal.value
    assert curator.left == before


@pytest.mark.parametrize(("table", "privacy", "code"), WITHOUT_BOUNDS)
def test_a_measure_of_numbers_needs_declared_bounds(
    curator: Curator, table: dict[str, Any], privacy: dict[str, Any], code: str
) -> None:
    check_refused(curator, {"table": table, "privacy": privacy}, code)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_documents_tell_is_refused_by_its_code(curator: Curator, name: str) -> None:
    table, privacy = DOCUMENTS[name]
    check_refused(curator, {"table": table, "privacy": privacy}, code_of(name))


def test_every_code_is_of_a_case() -> None:
    assert {name for names in CODES.values() for name in names} <= DOCUMENTS.keys()


@pytest.mark.parametrize(
    "income",
    [{}, {"step": 1}, {"bounds": [40, 0]}, {"bounds": [0]}, {"bounds": [0, "much"]}, {"bounds": [0, 40], "step": 0}],
)
def test_a_variable_without_bounds_that_rise_is_not_declared(income: dict[str, Any], tmp_path: Path) -> None:
    variables = rule_kit.DATASET["variables"] | {"income": income}
    with pytest.raises(DaleniusError) as refusal:
        Curator.open(rule_kit.DATASET | {"variables": variables}, data=rule_kit.ROWS, ledger=tmp_path / "ledger.sqlite")
    assert refusal.value.code in ("bad_document", "bad_parameter")


@pytest.mark.parametrize("model", ["exponential", "gamma", "logistic", "mixture_upper_mean"])
@pytest.mark.parametrize("size", [0, 1, 15])
def test_too_few_declared_units_for_blocks_are_refused(model: str, size: int) -> None:
    """No number of blocks is best where there are not two; one that is written is taken."""
    dataset = rule_kit.DATASET["dataset"] | {"size": size}
    domain = load_dataset(rule_kit.DATASET | {"dataset": dataset}).domain()
    table = BLOCKS | {"model": model} | ({"predictors": ["age"]} if model == "logistic" else {})
    without = {key: value for key, value in table.items() if key != "blocks"}
    with pytest.raises(DaleniusError) as refusal:
        plan_of(domain, {"table": without, "privacy": PURE}, POLICY)
    assert refusal.value.code == "bad_parameter"
    assert plan_of(domain, {"table": table, "privacy": PURE}, POLICY)


# Measured moments say nothing where the released number of records is too small; these measures then show no number.
MAY_BE_MISSING = {
    *("correlation", "covariance", "distribution", "exponential_family", "mean", "proportion", "ratio"),
    *("standard_deviation", "variance"),
}


@pytest.mark.parametrize("records", [0, 1])
def test_no_record_and_one_are_answered_by_rule(records: int, tmp_path: Path) -> None:
    rows = pa.table(rule_kit.ROWS).slice(0, records)
    with Curator.open(
        rule_kit.DATASET,
        data=rows,
        ledger=tmp_path / "ledger.sqlite",
        policy=rule_kit.policy_of(None),
        rng=RecordedRandomness("few"),
    ) as curator:
        curator.register(by="custodian")
        for name, method in registry.every("methods").items():
            example = method.examples[0]
            table = {"measure": name, **example["table"]}
            release = curator.release({"table": table, "privacy": example["privacy"]})
            # Only a test before an answer may keep silent.
            assert release.tables or name == "propose_test_release"
            is_complete = all(np.isfinite(shown.values).all() for shown in release.tables)
            assert is_complete or name in MAY_BE_MISSING, name


def test_a_block_of_ones_is_answered_by_rule(tmp_path: Path) -> None:
    """Its log odds are the upper end of the range; the slope of a regression is what the penalty says, or the middle without it."""
    rows = {"y": [1] * 60, "x": list(range(60))}
    dataset = {
        "dataset": {"name": "ones", "population": "ones", "public": True},
        "variables": {
            "y": {"bounds": [0, 1], "step": 1, "missing": 0},
            "x": {"bounds": [0, 60], "step": 1, "missing": 0},
        },
    }
    table = {"measure": "sample_and_aggregate", "of": "y", "clip": [-2, 1], "blocks": 3, "error": "noise"}
    with Curator.open(
        rows, dataset, ledger=tmp_path / "l", policy=rule_kit.policy_of(None), rng=RecordedRandomness("ones")
    ) as curator:
        curator.register(by="custodian")

        def answer(**keys: Any) -> float:
            request = {"table": table | keys, "privacy": {"definition": "pure", "epsilon": 200}}
            return float(curator.release(request).tables[0].values[0])

        assert answer(model="logit") == pytest.approx(1, abs=0.1)
        assert answer(model="logit", correction="none") == pytest.approx(1, abs=0.1)
        assert answer(model="logistic", predictors=["x"], correction="none") == pytest.approx(-0.5, abs=0.1)
        assert abs(answer(model="logistic", predictors=["x"])) < 0.2
