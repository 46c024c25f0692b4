"""The kits on what other distributions offer: one call, for every package that can be extended."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.extensions.building import SAMPLE, build, importable, install, write

from dalenius.core import registry
from dalenius.testing import extensions


def test_every_package_has_a_kit() -> None:
    assert set(extensions.KITS) == set(registry.PACKAGES)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Path]:
    target = tmp_path / "installed"
    install(build(SAMPLE, tmp_path), target)
    with importable(target):
        yield target


def test_one_call_runs_every_kit(office: Path) -> None:
    results = extensions.check_distribution("Office_Statistics")
    names = ["columns_file", "surplus", "office_laplace", "thousands", "to_psv"]
    assert [result.extension.name for result in results] == names
    assert not any(result.failure for result in results)
    # A method takes longest: every rule of a policy on every route.
    assert max(result.seconds for result in results) < 5
    assert "thousands" not in registry.names("methods")


def test_a_distribution_that_offers_nothing_fails() -> None:
    with pytest.raises(AssertionError, match="No distribution named 'office-none'"):
        extensions.check_distribution("office-none")


PRICED = "        preview=additive_preview(question, measurement.law),\n    )"
TWICE = "    return replace(plan, measurements=(measurement, replace(measurement, name='more')))"
FAULTS = {
    "a word with an unknown place": ({"{level}.": "{levels}."}, "caption of thousands names {'levels'}"),
    "no examples": ({'(example(rows=["sex"], measure="thousands", epsilon=1),)': "()"}, "thousands states no examples"),
    "an error that is too small": (
        {
            'shown_as("thousands")': "lambda blocks: tuple("
            "replace(t, variance=t.variance / 4) for t in shown_as('thousands')(blocks))"
        },
        "variance in",
    ),
    "a step that is not paid for": (
        {"    return priced(": "    plan = priced(", PRICED: f"{PRICED}\n{TWICE}"},
        "ends with AfterCharge",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_method_is_named(fault: str, tmp_path: Path) -> None:
    changes, reason = FAULTS[fault]
    text = (SAMPLE / "src" / "office_statistics" / "thousands.py").read_text()
    for right, wrong in changes.items():
        assert right in text
        text = text.replace(right, wrong)
    text = text.replace("from fractions", "from dataclasses import replace\nfrom fractions")
    points = {"methods": {"thousands": "office_a.thousands:THOUSANDS"}}
    target = tmp_path / "target"
    install(build(write(tmp_path, "office-a", "1.0.0", points, {"thousands": text}), tmp_path), target)
    with importable(target):
        started = time.process_time()
        with pytest.raises(AssertionError, match=rf"methods 'thousands' of office-a 1\.0\.0: .*({reason})"):
            extensions.check_distribution("office-a")
        assert time.process_time() - started < 5
