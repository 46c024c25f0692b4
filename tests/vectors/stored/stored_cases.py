"""Requests of every measure, strategy, definition and relation, on five small data sets with fixed rows.

`tests/vectors/answers` records what they are answered.
"""

from typing import Any

WEAK = {"definition": "bootstrap", "epsilon": 1}
ALONE = {"definition": "individual", "epsilon": 1}
PURE = {"definition": "pure", "epsilon": 1}
RHO = {"definition": "zero_concentrated", "rho": "1/4"}
APPROXIMATE = {"definition": "approximate", "epsilon": 1, "delta": "1e-6"}

POLICY: dict[str, Any] = {
    "budget": {"rho": 60, "delta": "1/100"},
    "allow": {"acknowledge": ["bootstrap", "public_membership", "individual", "clamp_to_the_data", "fixed_weights"]},
    "floors": {"bootstrap": 5, "individual": 1},
}

VARIABLES: dict[str, Any] = {
    "sex": {"categories": ["female", "male"]},
    "region": {
        "categories": ["north", "east", "south", "west"],
        "missing": "west",
        "unseen": "west",
        "hierarchies": {"half": {"upper": ["north", "east"], "lower": ["south", "west"]}},
    },
    "vote": {"categories": {"0": "no", "1": "yes"}, "unseen": "no", "missing": "no"},
    "status": {"categories": ["single", "married", "widowed"]},
    "age": {"bounds": [0, 100], "step": 1, "missing": "0"},
    "income": {"bounds": [0, 1000], "step": "1/2", "missing": "0"},
    "weight": {"weight": True, "bounds": [1, 9], "step": "1/4", "missing": "1"},
}

DATASETS: dict[str, dict[str, Any]] = {
    "rows": {"unit": {"relation": "add-remove"}},
    "replaced": {"unit": {"relation": "replace"}, "size": 60},
    "persons": {"unit": {"relation": "add-remove", "id": "person", "max_rows": 2}},
    "replaced_persons": {"unit": {"relation": "replace", "id": "person", "max_rows": 2}},
    "zeros": {"unit": {"relation": "add-remove"}, "structural_zeros": [{"sex": "male", "status": "widowed"}]},
}


def dataset(name: str) -> dict[str, Any]:
    """The document of one data set."""
    given = DATASETS[name]
    head = {"name": f"stored-{name}", "population": f"stored-{name}", "source": "rows.csv", "public": True}
    head |= {"size": given["size"]} if "size" in given else {}
    rest = {key: value for key, value in given.items() if key != "size"}
    return {"dataset": head, "variables": VARIABLES} | rest


def rows() -> str:
    """Sixty fixed rows of thirty persons; a tenth of some values is missing."""
    lines = ["person,sex,region,vote,status,age,income,weight"]
    for i in range(60):
        region = "" if i % 10 == 9 else ("north", "east", "south", "west")[i * 7 % 4]
        status = ("single", "married", "widowed")[i * i % 3]
        sex = "female" if status == "widowed" else ("female", "male")[i // 3 % 2]
        income = "" if i % 12 == 5 else str(i * 37 % 900 + (i % 2) / 2)
        lines.append(f"p{i // 2},{sex},{region},{i // 5 % 2},{status},{i * 13 % 90},{income},{1 + i % 16 / 4}")
    return "\n".join(lines) + "\n"


def _table(privacy: dict[str, Any], **table: Any) -> dict[str, Any]:
    return {"table": table, "privacy": privacy}


def _statistic(privacy: dict[str, Any], measure: str, **keys: Any) -> dict[str, Any]:
    return _table(privacy, measure=measure, of="income", **keys)


def _margins(privacy: dict[str, Any], strategy: str | None = None, **more: Any) -> dict[str, Any]:
    named = {} if strategy is None else {"strategy": strategy}
    return _table(privacy | named, rows=["sex"], columns=["region"], margins="all", **more)


# name -> (data set, request, policy rules of [table])
Case = tuple[str, dict[str, Any], dict[str, Any]]
CASES: dict[str, Case] = {
    "count": ("rows", _table(PURE, rows=["sex"], columns=["region"]), {}),
    "count under rho": ("rows", _table(RHO, rows=["sex"], columns=["region"]), {}),
    "count under two numbers": ("rows", _table(APPROXIMATE, rows=["vote"]), {}),
    "count, probabilistic": (
        "rows",
        _table({"definition": "probabilistic", "epsilon": 1, "delta": "1e-6"}, rows=["vote"]),
        {},
    ),
    "count of everybody": ("rows", _table(PURE), {}),
    "count of groups": (
        "rows",
        _table(
            PURE,
            rows=[{"variable": "region", "level": "half"}],
            columns=[{"variable": "age", "cuts": [0, 18, 65], "closed": True}],
            where={"sex": "female", "income": {"at_least": 100, "at_most": 800}},
        ),
        {},
    ),
    "count, replaced": ("replaced", _table(PURE, rows=["sex"], columns=["vote"]), {}),
    "count, persons": ("persons", _table(RHO, rows=["sex"], columns=["region"]), {}),
    "count, replaced persons": ("replaced_persons", _table(PURE, rows=["sex", "vote"]), {}),
    "count, structural zeros": ("zeros", _table(PURE, rows=["sex"], columns=["status"]), {}),
    "staircase": ("rows", _table(PURE | {"mechanism": "staircase"}, rows=["region"]), {}),
    "truncated Laplace": ("rows", _table(APPROXIMATE | {"mechanism": "truncated_laplace"}, rows=["region"]), {}),
    "truncated normal": ("rows", _table(APPROXIMATE | {"mechanism": "truncated_normal"}, rows=["region"]), {}),
    "discrete Gaussian": ("replaced", _table(APPROXIMATE | {"mechanism": "discrete_gaussian"}, rows=["region"]), {}),
    "rule of truncation": ("rows", _table(APPROXIMATE, rows=["sex"]), {"truncation": 20}),
    "rule of maximum entropy": (
        "rows",
        _table(APPROXIMATE | {"delta": "1e-3"}, rows=["sex"]),
        {"maximum_entropy": True, "truncation": 30, "variance_cap": 60},
    ),
    "rule of variance": ("rows", _table(PURE, rows=["sex"], columns=["vote"]), {"variance_cap": 9}),
    "margins": ("rows", _margins(RHO), {}),
    "margins, interior": ("rows", _margins(RHO, "interior"), {}),
    "margins, split": ("rows", _margins(PURE, "split"), {}),
    "margins, equal": ("rows", _margins(PURE, "equal"), {}),
    "margins, cube root": ("rows", _margins(PURE, "cube_root"), {}),
    "margins, square root": ("persons", _margins(RHO, "square_root"), {}),
    "margins, residual": ("replaced", _margins(RHO, "residual"), {}),
    "margins, Fourier": (
        "rows",
        _table(PURE | {"strategy": "fourier"}, rows=["sex"], columns=["vote"], margins="all"),
        {},
    ),
    "margins, worst": ("replaced", _margins(RHO, objective="maximum"), {}),
    "margins, listed": (
        "rows",
        _table(
            APPROXIMATE,
            rows=["sex", "region"],
            columns=["vote"],
            margins=[["sex", "vote"], ["region"], []],
            weights=[1, 2, "1/2"],
        ),
        {},
    ),
    "margins along a hierarchy": (
        "rows",
        _table(RHO, rows=["sex", "region"], margins=[["sex", "region"], ["region.half"], []]),
        {},
    ),
    "margins with structural zeros": ("zeros", _table(RHO, rows=["sex"], columns=["status"], margins="all"), {}),
    "total": ("rows", _table(PURE, rows=["sex"], measure="total", of="income"), {}),
    "total, replaced persons": ("replaced_persons", _table(RHO, rows=["sex"], measure="total", of="income"), {}),
    "total, learned bounds": ("rows", _table(PURE, rows=["sex"], measure="total", of="income", learn_bounds="1/5"), {}),
    "mean": ("rows", _table(RHO, rows=["region"], measure="mean", of="income"), {}),
    "mean, replaced": ("replaced", _table(PURE, rows=["sex"], measure="mean", of="age"), {}),
    "dominance": ("rows", _table(PURE, rows=["region"], measure="dominance", of="income", p=15), {}),
    "weighted count": ("rows", _table(RHO, rows=["sex"], weight="weight"), {}),
    "weighted count, persons": ("persons", _table(PURE, rows=["sex"], weight="weight"), {}),
    "maximum, Cauchy": ("rows", _statistic(PURE, measure="maximum", method="cauchy"), {}),
    "minimum, Cauchy": ("replaced", _statistic(PURE, measure="minimum", method="cauchy", beta="1/4"), {}),
    "second maximum, Lomax": ("rows", _statistic(PURE, measure="second_maximum", method="lomax"), {}),
    "bootstrap total": ("rows", _table(WEAK, rows=["sex"], measure="total", of="income"), {}),
    "bootstrap total, normal": (
        "replaced",
        _table({"definition": "bootstrap", "rho": "1/4"}, rows=["sex"], measure="total", of="income"),
        {},
    ),
    "individual median": ("rows", _table(ALONE, measure="median", of="income"), {}),
    "individual quantile": ("replaced", _statistic(ALONE, measure="quantile", q="3/4"), {}),
    "individual maximum": ("rows", _statistic(ALONE, measure="maximum"), {}),
    "individual minimum, groups of two": ("replaced", _statistic(ALONE, measure="minimum", group_size=2), {}),
    "individual second maximum": ("rows", _statistic(ALONE, measure="second_maximum"), {}),
    "individual range": ("replaced", _statistic(ALONE, measure="range"), {}),
    "individual interquartile range": ("rows", _statistic(ALONE, measure="interquartile"), {}),
    "individual largest total": ("rows", _table(ALONE, rows=["region"], measure="largest_total", of="income"), {}),
    "individual count": ("rows", _table(ALONE, where={"age": {"at_least": 18, "at_most": 65}}), {}),
    "individual count, clamped": (
        "rows",
        _table(ALONE, clamp="data", where={"age": {"at_least": 20, "at_most": 65}}),
        {},
    ),
}
