"""Plain questions at rho .01 about drafted variables, with samples as cells: a small part of `python -m verify plain`.

Files are made from a seed and the noise is recorded. Claims stand at the head of `verify/plain.py`.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from verify import plain
from verify._stacks import FILES

SAMPLES, VARIABLES = 200, 2
CLUSTERS, CODES = (
    next(file for file in FILES if file.name == f"{name}.csv") for name in ("wide_clusters", "code_for_none")
)


@pytest.mark.parametrize("file", [plain.SURVEY, CLUSTERS], ids=lambda file: file.name)
def test_plain_questions_are_planned_and_hold(file: Any) -> None:
    found = plain.judged(replace(file, declared={}), SAMPLES, VARIABLES)
    verdict = plain.verdict({file.name: found})
    assert verdict["settings"] >= 20 and all("Every category" in text for text in verdict["refused"])
    assert verdict["rejected settings"] == []
    assert [line for line in verdict["planned margins"] if line[plain.STATED] < plain.SHARE] == []


def test_narrow_intervals_and_hopeful_plans_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals and plans of half the width."""
    honest = plain.tabulation.bounds

    def halved(*asked: Any) -> tuple[Any, Any]:
        lower, upper = honest(*asked)
        return (3 * lower + upper) / 4, (lower + 3 * upper) / 4

    monkeypatch.setattr(plain.tabulation, "bounds", halved)
    found = plain.judged(replace(CODES, declared={}), SAMPLES, 1)
    rejected = {(line["measure"], line["kind"]) for line in plain.verdict({"": found})["rejected settings"]}
    assert {(m, "noise") for m in ("count", "mean", "total", "proportion")} <= rejected
    monkeypatch.undo()
    planned = plain.margins_of

    def hopeful(asked: Any, plan: Any, release: Any) -> Any:
        keys = ("half_width_95", "half_width_95_at_most")
        less = {key: plan.preview[key] / 2 for key in keys if key in plan.preview}
        tails = [{**t, "half_width_95": t["half_width_95"] / 20} for t in plan.preview.get("by_upper_tail", ())]
        ranks = {"ranks": plan.preview["ranks"] / 4} if "ranks" in plan.preview else {}
        preview = {**plan.preview, **less, **ranks, **({"by_upper_tail": tails} if tails else {})}
        return planned(asked, replace(plan, preview=preview), release)

    monkeypatch.setattr(plain, "margins_of", hopeful)
    found = plain.judged(replace(CODES, declared={}), SAMPLES, 1)
    margins = plain.verdict({"": found})["planned margins"]
    outside = {line["measure"] for line in margins if line[plain.STATED] < plain.SHARE}
    assert {"count", "total", "median", "proportion"} <= outside
    assert np.isfinite([each.planned for each in found.margins.values()]).all()
