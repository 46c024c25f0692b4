"""Answers are what was recorded: costs, laws, errors, numbers and both ends of intervals, of a sample of the record.

The whole is compared by `python tests/vectors/answers/make_answers.py --compare`.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent / "answers"))

from answer_compare import BETTER, GAINED, LOST, OTHER, WORDS, WORSE, allowed, differences, is_allowed
from answer_record import read
from answer_words import KEYS, VALUES, renamed
from make_answers import found


def test_a_sample_of_answers_is_what_was_recorded() -> None:
    entries, seen = allowed(), Counter[str]()
    for case, _, differing in found(is_sample=True):
        seen[case["place"]] += 1
        assert not [str(one) for one in differing if not is_allowed(entries, case, one)], case["name"]
    assert seen.total() >= 50 and len(seen) >= 3


def test_the_record_holds_every_kind_of_request() -> None:
    head, cases = read()
    answered = [case for case in cases if "refused" not in case["answer"]]
    tables = [case["request"]["table"] for case in answered]
    plain = [table for table in tables if isinstance(table, dict)]
    assert len(cases) >= 800 and sum(case["name"].startswith("drawn: ") for case in cases) >= 300
    assert len({table.get("measure", "count") for table in plain}) >= 31 and len(plain) < len(tables)
    assert {str(table.get("error")) for table in plain} >= {"noise", "sampling", "bootstrap"}
    keys = {key for table in plain for key in table}
    assert keys >= {"weight", "margins", "learn_bounds", "where", "refine", "ranges", "keyed", "sample"}
    assert {case["request"]["privacy"]["definition"] for case in answered} >= {
        "pure",
        "approximate",
        "probabilistic",
        "zero_concentrated",
    }
    assert {case["place"] for case in answered} == set(head["datasets"])


OLD: dict[str, Any] = {
    "plan": {"cost": {"rho": "1/4"}, "margin": 2.0, "preview": {"std_error": 1.0}},
    "laws": [{"shown": {"kind": "additive", "parameters": {"rate": "1/3"}}}],
    "said": {"notes": ["one"], "canonical": {"measure": "count"}},
    "still": [
        {
            "tables": [{"value": [5.0, 7.0], "lower": [3.0, 5.0], "upper": [7.0, 9.0]}],
            "intervals": {"parameter": {"how": "simulated", "lower": [0.0], "upper": [10.0]}},
        }
    ],
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The answer with one field changed."""
    copy = json.loads(json.dumps(OLD))
    *way, last = path.split("/")
    part = copy
    for name in way:
        part = part[int(name)] if isinstance(part, list) else part[name]
    part[last] = value
    return dict(copy)


@pytest.mark.parametrize(
    ("path", "value", "kind"),
    [
        ("plan/cost/rho", "1/5", BETTER),
        ("plan/cost/rho", "0.25000001", WORSE),
        ("plan/margin", 2.00000001, WORSE),
        ("plan/margin", "nan", LOST),
        ("plan/preview/std_error", 0.5, BETTER),
        ("laws/0/shown/parameters/rate", "1/4", OTHER),
        ("laws/0/shown/kind", "joint", OTHER),
        ("said/notes", [], OTHER),
        ("said/notes", ["other words"], WORDS),
        ("said/canonical", {"measure": "counts"}, WORDS),
        ("still/0/tables/0/value", [5.0, 7.1], OTHER),
        ("still/0/tables/0/upper", [7.0, 9.0001], WORSE),
        ("still/0/tables/0/lower", [3.1, 5.0], BETTER),
        ("still/0/tables/0/lower", [None, 5.0], LOST),
        ("still/0/intervals/parameter/upper", [11.0], WORSE),
    ],
)
def test_a_change_is_seen(path: str, value: Any, kind: str) -> None:
    assert [one.kind for one in differences("case", OLD, changed(path, value))] == [kind]


def test_the_same_is_no_change() -> None:
    assert not differences("case", OLD, changed("plan/cost/rho", "0.25"))
    assert not differences("case", OLD, changed("plan/margin", 2.0 + 1e-10))
    assert not differences("case", OLD, changed("still/0/intervals/parameter/upper", [10.2]))


def test_shifted_intervals_of_the_same_width_are_seen() -> None:
    moved = changed("still/0/tables/0/lower", [3.5, 5.0])
    moved["still"][0]["tables"][0]["upper"] = [7.5, 9.0]
    assert [one.kind for one in differences("case", OLD, moved)] == [OTHER, OTHER]


def test_refusals_are_seen() -> None:
    assert [one.kind for one in differences("case", OLD, {"refused": "unsupported"})] == [LOST]
    assert [one.kind for one in differences("case", {"refused": "unsupported"}, OLD)] == [GAINED]
    assert [one.kind for one in differences("case", {"refused": "a"}, {"refused": "b"})] == [OTHER]


def test_what_is_allowed_may_improve_and_not_worsen() -> None:
    case = {"name": "mean 0", "request": {"table": {"measure": "mean"}, "privacy": {"rho": 1}}}
    entries = [{"has": {"measure": "mean"}, "without": ["error"], "fields": ["/plan*"]}]
    better, worse = (differences("mean 0", OLD, changed("plan/margin", value))[0] for value in (1.0, 3.0))
    assert is_allowed(entries, case, better) and not is_allowed(entries, case, worse)
    assert is_allowed([entries[0] | {"may": "differ"}], case, worse)
    asked = case | {"request": {"table": {"measure": "mean", "error": "noise"}, "privacy": {}}}
    assert not is_allowed(entries, asked, better)


def test_words_are_changed_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KEYS, "request", {"old": "new", "gone": None})
    monkeypatch.setitem(VALUES, "request", {("kind", "guarantee"): "guarantee"})
    asked = {"table": [{"old": 1, "gone": 2, "kind": ["guarantee", "old"]}]}
    assert renamed(asked, "request") == {"table": [{"new": 1, "kind": ["guarantee", "old"]}]}
