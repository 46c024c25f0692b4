"""The kit that every method must pass: its words, its page, and each example from the plan to the last product.

An example is planned, released on toy data, written as JSON and read back, written in every format, and asked for an
interval; a key that means nothing is refused before data are read. The kit never names a method.
"""

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np

from dalenius.core import registry
from dalenius.core.law import Additive, Withheld
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Release
from dalenius.curator.curator import Curator
from dalenius.errors import DaleniusError, RequestError
from dalenius.inference.cells import intervals
from dalenius.publish import document, formats
from dalenius.spec.load import load_dataset
from dalenius.spec.method import LANGUAGES, Method
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of

PLACEHOLDERS = {
    "title": {"of", "other", "q", "within", "per", "which"},
    "preview": {"error", "records", "ranks"},
    "caption": {"level"},
}


def check(method: Method, folder: Path, pages: Path | None = None) -> int:
    """Everything about one method; returns how many examples were released.

    Without a folder of pages it is one of another distribution, which has none here and speaks the languages it states.
    """
    if pages is None:
        check_words(method, tuple(dict.fromkeys((LANGUAGES[0], *method.words))))
    else:
        check_words(method)
        check_page(method, pages)
    assert method.examples, f"{method.name} states no examples"
    for number, example in enumerate(method.examples):
        check_refusals(method, example)
        check_release(method, example, released(example, folder / f"{method.name}-{number}.sqlite"))
    return len(method.examples)


def check_words(method: Method, languages: Sequence[str] = LANGUAGES) -> None:
    """Every sentence in every language, with the same placeholders."""
    for language in languages:
        assert language in method.words, f"{method.name} has no words in {language!r}"
        for part, allowed in PLACEHOLDERS.items():
            text = getattr(method.words[language], part)
            first = getattr(method.words[languages[0]], part)
            assert text.strip(), f"{method.name} has no {part} in {language!r}"
            assert _fields(text) == _fields(first), f"{part} of {method.name} differs in {language!r}"
            assert _fields(text) <= allowed, f"{part} of {method.name} names {_fields(text) - allowed}"
            assert language == languages[0] or text != first, f"{part} is not translated to {language!r}"
    assert ("of" in _fields(method.words[languages[0]].title)) == method.takes_of


def _fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def check_page(method: Method, pages: Path) -> None:
    page = pages / f"{method.name}.md"
    assert page.is_file(), f"{method.name} has no page"
    head, *rest = page.read_text().strip().splitlines()
    assert head.lower().lstrip("# ").replace(" ", "_") == method.name, f"{page.name} begins with {head!r}"
    assert any(line.strip() for line in rest), f"{page.name} says nothing"


def check_refusals(method: Method, example: Mapping[str, Any]) -> None:
    """The planner, which has no data, refuses a key or an amount that means nothing; the example itself it plans."""
    domain = load_dataset(rule_kit.DATASET).domain()
    table, privacy = example["table"], example["privacy"]
    measure = {"measure": method.name}
    assert plan_of(domain, {"table": measure | table, "privacy": privacy}, rule_kit.policy_of(None))
    for wrong in (
        {"table": measure | table | {"no_such_key": 1}, "privacy": privacy},
        {"table": measure | table, "privacy": privacy | {"no_such_key": 1}},
        {"table": measure | table | {"rows": ["no_such_variable"]}, "privacy": privacy},
        {"table": measure | table, "privacy": privacy | {"epsilon": -1}},
    ):
        try:
            plan_of(domain, wrong, rule_kit.policy_of(None))
        except RequestError:
            continue
        raise AssertionError(f"{method.name} plans {wrong}")


def released(example: Mapping[str, Any], ledger: Path) -> Release:
    """An example on toy data, with recorded noise."""
    with opened(ledger, rule_kit.policy_of(None)) as curator:
        curator.register(by="custodian")
        assert repr(curator.plan(example)).count("\n") == 1, "a plan shows itself in two lines"
        return curator.release(example)


def opened(ledger: Path, policy: Mapping[str, Any]) -> Curator:
    return Curator.open(
        rule_kit.DATASET,
        data=rule_kit.ROWS,
        ledger=ledger,
        policy=policy,
        rng=RecordedRandomness("the noise of the kit"),
    )


def check_release(method: Method, example: Mapping[str, Any], release: Release) -> None:
    """The document reads back, every format writes it, and errors are shown where the method has them."""
    assert release.tables, f"{method.name} shows no table"
    whole = document()
    assert whole.read is not None
    content = whole.content(release)
    assert whole.content(whole.read(content)) == content, "the document does not read back"
    for form in formats().values():
        assert form.content(release), f"{form.name} writes nothing"
    named = set(method.without_error) & set(example["table"])
    is_withheld = isinstance(release.law, Withheld) or bool(named)
    written = registry.get("publish", "to_csv")
    for table in release.tables:
        rows = list(csv.DictReader(StringIO(written.content(release, table).decode())))
        assert len(rows) == table.space.size
        if not method.has_error or is_withheld:
            assert not any(row["std_error"] for row in rows if row["status"] != "structural zero"), rows
    if method.has_error and not is_withheld and not isinstance(release.law, Additive):
        # A table of one additive block may leave its error to the law, of which intervals are then made.
        first = release.tables[0]
        has_value = np.isfinite(first.values)
        assert np.isfinite(first.variance[has_value]).all(), f"{method.name} shows values without an error"
    check_interval(method, release)


def check_interval(method: Method, release: Release) -> None:
    """Intervals hold the released value under an additive law, and are refused where the law is withheld."""
    try:
        table = intervals(release)
    except DaleniusError:
        assert not (method.has_error and isinstance(release.law, Additive)), f"{method.name} has no interval"
        return
    assert not isinstance(release.law, Withheld), f"{method.name} makes intervals of a law that is withheld"
    for cell in range(len(table)):
        cell_view = table.at(cell)
        assert cell_view.lower <= cell_view.upper
