"""Intervals of every measure on hostile files and on a public one, with samples as cells: a tenth of `python -m verify files`.

The noise and the samples are recorded, so that what is judged never changes by itself. What is rejected is a setting whose
coverage a binomial test at .0005 holds to be below 93.5 %; claims and settings stand at the head of `verify/files.py`.
"""

from pathlib import Path

import numpy as np
import pytest
from verify import files
from verify._stacks import FILES, population

SAMPLES = 120
JUDGED = {"heaped_money.csv": "replace", "code_for_none.csv": "add-remove", "wide_clusters.csv": "replace"}


@pytest.mark.parametrize("number", [n for n, file in enumerate(FILES) if file.name in JUDGED])
def test_every_interval_on_a_hostile_file_holds(number: int, tmp_path: Path) -> None:
    court = files.Court()
    relation = JUDGED[FILES[number].name]
    files.judged_file(court, population(FILES[number], tmp_path), SAMPLES, number, [relation], tmp_path)
    verdict = court.verdict(SAMPLES)
    assert verdict["settings"] > 40 and verdict["without a truth"] == []
    assert verdict["rejected settings"] == []


def test_narrow_intervals_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals of half their width, and with sampling those of the noise alone."""
    honest = files.tabulation.bounds

    def halved(*asked: object, **keys: object) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = honest(*asked, **keys)  # type: ignore[arg-type]
        middle, quarter = (lower + upper) / 2, (upper - lower) / 4
        return middle - quarter, middle + quarter

    asked = files.examples
    chosen = ("mean", "total", "variance", "proportion", "distribution", "ratio")
    monkeypatch.setattr(files, "examples", lambda of: {m: e for m, e in asked(of).items() if m in chosen})
    monkeypatch.setattr(files.tabulation, "bounds", halved)
    monkeypatch.setattr(files.tabulation, "sampled_bounds", halved)
    (number,) = [n for n, file in enumerate(FILES) if file.name == "code_for_none.csv"]
    court = files.Court()
    files.judged_file(court, population(FILES[number], tmp_path), SAMPLES, number, ["add-remove"], tmp_path)
    found = {(line["measure"], line["kind"]) for line in court.verdict(SAMPLES)["rejected settings"]}
    assert {("mean", "noise"), ("total", "noise"), ("ratio", "noise"), ("proportion", "sampling")} <= found
