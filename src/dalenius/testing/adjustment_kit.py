"""The kit that every adjustment must pass: what was measured stays, what was done is recorded, and a bias is declared.

Adjusted tables that call themselves unbiased are averaged over recorded noise and compared with the truth: the mean of
so many errors lies within five of its standard errors.
"""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dalenius.core.contracts import Adjustment
from dalenius.core.query import TableQuery
from dalenius.core.release import Release
from dalenius.engines.memory import MemorySource
from dalenius.errors import DaleniusError
from dalenius.publish import document, formats
from dalenius.spec.load import load_dataset
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of
from dalenius.testing.method_kit import released
from dalenius.testing.simulated import run

REQUESTS: tuple[dict[str, Any], ...] = (
    {"table": {"rows": ["sex"], "columns": ["region"]}, "privacy": {"definition": "pure", "epsilon": 1}},
    {
        "table": {"rows": ["sex"], "columns": ["region"], "margins": "all"},
        "privacy": {"definition": "zero_concentrated", "rho": "1/4"},
    },
)
DRAWS = 60


def check(adjustment: Any) -> int:
    """Every example on every release that it serves; returns how many adjusted releases were judged."""
    assert hasattr(adjustment, "examples"), f"{adjustment.__name__} states no examples"
    judged = 0
    for number in range(len(REQUESTS)):
        releases = simulated(number)
        for example in adjustment.examples(releases[0]):
            try:
                adjusted = example(releases[0])
            except DaleniusError:
                continue
            judged += 1
            check_record(example, releases[0], adjusted)
            check_bias(example, number, [example(release) for release in releases])
    assert judged, f"{adjustment.__name__} serves no example"
    return judged


def check_record(adjustment: Adjustment, release: Release, adjusted: Release) -> None:
    """Measured blocks, law and request stay; changed tables come with a note; every product is written."""
    assert adjusted.blocks == release.blocks, f"{adjustment.name} changed what was measured"
    assert adjusted.law == release.law
    assert adjusted.provenance.digest == release.provenance.digest
    assert [t.space for t in adjusted.tables] == [t.space for t in release.tables]
    pairs = zip(release.tables, adjusted.tables, strict=True)
    if any(not np.array_equal(a.values, b.values, equal_nan=True) for a, b in pairs):
        added = adjusted.adjustments[len(release.adjustments) :]
        assert [note["name"] for note in added] == [adjustment.name], f"{adjustment.name} is not recorded"
    again, whole = adjustment(release), document()
    content = whole.content(adjusted)
    assert whole.content(again) == content, f"{adjustment.name} gives two answers"
    assert whole.read is not None and whole.content(whole.read(content)) == content
    for form in formats().values():
        assert form.content(adjusted)


def check_bias(adjustment: Adjustment, number: int, adjusted: list[Release]) -> None:
    """Tables that call themselves unbiased are right on average."""
    for place, truth in enumerate(exact_tables(number)):
        tables = [release.tables[place] for release in adjusted]
        if not all(table.is_unbiased for table in tables):
            continue
        errors = np.array([table.values for table in tables]) - truth
        allowed = 5 * errors.std(axis=0) / np.sqrt(len(errors)) + 1e-9
        assert (np.abs(errors.mean(axis=0)) <= allowed).all(), (
            f"{adjustment.name} calls {tables[0].name!r} unbiased; its mean error is {errors.mean(axis=0)}"
        )


@cache
def simulated(number: int) -> tuple[Release, ...]:
    """Releases of one request that differ in their noise alone."""
    request, source = REQUESTS[number], _source()
    with TemporaryDirectory() as folder:
        first = released(request, Path(folder) / "ledger.sqlite")
    plan = plan_of(source.domain, request, rule_kit.policy_of(None))
    made = (run(plan, source, f"the noise of the kit {draw}") for draw in range(DRAWS))
    return tuple(first.with_(blocks=one.release.blocks, tables=one.release.tables) for one in made if one is not None)


def exact_tables(number: int) -> list[Any]:
    """The counts that the releases are of, table by table."""
    queries = [TableQuery(space=table.space) for table in simulated(number)[0].tables]
    return [_source().table(query).open_below_the_gate() for query in queries]


def _source() -> MemorySource:
    return MemorySource(load_dataset(rule_kit.DATASET).domain(), rule_kit.ROWS, b"a secret of the kit")
