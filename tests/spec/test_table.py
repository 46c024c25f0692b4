"""`dalenius.table` says what a request document says."""

import inspect
from typing import Any

import pytest

from dalenius.errors import DocumentError, ParameterError, UnknownName
from dalenius.spec.load import load_request
from dalenius.spec.request import PrivacyPart, RequestDocument, TablePart
from dalenius.spec.table import batch, table

WRITTEN = """
title = "Income"
dataset = "survey.toml"
[table]
rows = [{ variable = "region", level = "state" }]
columns = ["sex"]
where = { status = ["employee"] }
measure = "quantile"
of = "income"
q = 0.9
[privacy]
definition = "pure"
epsilon = 0.5
"""


def test_a_call_is_the_document() -> None:
    asked = table(
        rows={"variable": "region", "level": "state"},
        columns="sex",
        where={"status": ["employee"]},
        measure="quantile",
        of="income",
        q=0.9,
        epsilon=0.5,
        title="Income",
        dataset="survey.toml",
    )
    assert asked == load_request(WRITTEN)


@pytest.mark.parametrize(
    ("amounts", "definition"),
    [
        ({"epsilon": 1}, "pure"),
        ({"epsilon": 1, "delta": 1e-6}, "approximate"),
        ({"rho": "1/2"}, "zero_concentrated"),
        ({"epsilon": 1, "definition": "individual"}, "individual"),
    ],
)
def test_the_guarantee_follows_from_the_amounts(amounts: dict[str, object], definition: str) -> None:
    assert table(rows="sex", **amounts).privacy.definition == definition


def test_every_key_of_a_request_document_can_be_given() -> None:
    keys = {*TablePart.model_fields, *PrivacyPart.model_fields, *RequestDocument.model_fields} - {
        "table",
        "privacy",
        "keys",
    }
    assert keys <= set(inspect.signature(table).parameters)


def test_several_axes_are_a_list_and_one_is_its_name() -> None:
    assert table(rows="sex", epsilon=1) == table(rows=["sex"], epsilon=1)
    assert table(rows=["sex", "age"], epsilon=1).table.rows == ("sex", "age")


def test_amounts_are_exact() -> None:
    assert str(table(rows="sex", epsilon=0.1).privacy.epsilon) == "1/10"


def test_what_no_document_may_say_is_refused_in_its_words() -> None:
    with pytest.raises(ParameterError, match="how much may be spent"):
        table(rows="sex")
    with pytest.raises(ParameterError, match="Both epsilon and rho"):
        table(rows="sex", epsilon=1, rho=1)
    with pytest.raises(DocumentError, match="quantiles' in"):
        table(measure="quantile", of="income", quantiles=0.5, epsilon=1)
    with pytest.raises((DocumentError, UnknownName), match="There is no measure named"):
        table(rows="sex", measure="guess", epsilon=1)


@pytest.mark.parametrize("rows", [5, 0.5, True])
def test_an_axis_that_is_no_name_is_refused_in_words(rows: Any) -> None:
    with pytest.raises(DocumentError, match="name of a variable"):
        table(rows=rows, epsilon=1)
    with pytest.raises(DocumentError, match="name of a variable"):
        batch({"rows": rows}, {"rows": "sex"}, epsilon=1)
