"""Formulas: notation, closure, design columns, refusals."""

import numpy as np
import pytest

from dalenius.core.domain import Axis
from dalenius.errors import ParameterError, TooLarge, UnknownName
from dalenius.inference.formula import design, independent, model, saturated


@pytest.mark.parametrize(
    ("text", "notation"),
    [
        ("A + B", "[A][B]"),
        ("A*B + C", "[A B][C]"),
        ("A:B", "[A B]"),
        ("(A + B + C)^2", "[A B][A C][B C]"),
        ("A*B*C", "[A B C]"),
        ("A*(B + C)", "[A B][A C]"),
        ("count ~ A", "[A]"),
        ("1", "[]"),
        ("`A` + B:C", "[A][B C]"),
    ],
)
def test_notation(text: str, notation: str) -> None:
    assert model(text, "ABC").notation == notation


def test_nesting_and_names() -> None:
    assert independent("AB") <= saturated("AB")
    assert not saturated("AB") <= independent("AB")
    assert str(model("x.y * `a b`", ["x.y", "a b"])) == "x.y:`a b`"
    assert model(str(model("A*B + C", "ABC")), "ABC").terms == model("A*B + C", "ABC").terms


@pytest.mark.parametrize("text", ["A +", "A ** B", "(A + B", "A ^ B", "A B", "A + 2", "A & B", ""])
def test_unreadable_formulas_are_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        model(text, "AB")


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownName, match="axis"):
        model("A + Z", "AB")


def test_design_has_full_rank_and_named_columns() -> None:
    axes = [Axis(variable="A", labels=("x", "y", "z")), Axis(variable="B", labels=("u", "v"))]
    matrix, labels = design(saturated("AB"), axes)
    assert matrix.shape == (6, 6) and np.linalg.matrix_rank(matrix) == 6
    assert labels[0] == "(all)" and labels[-1] == "A[z]:B[v]"
    assert matrix[:, labels.index("A[z]:B[v]")].tolist() == [0, 0, 0, 0, 0, 1]


def test_models_beyond_memory_are_refused() -> None:
    axes = [Axis(variable=name, labels=tuple(str(k) for k in range(100))) for name in "AB"]
    with pytest.raises(TooLarge, match="coefficients"):
        design(saturated("AB"), axes)


def test_a_formula_of_many_brackets_is_refused_and_not_a_fault() -> None:
    with pytest.raises(ParameterError, match="at most 50 brackets"):
        model("(" * 500 + "A" + ")" * 500, "AB")
