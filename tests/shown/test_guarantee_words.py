"""Every product of a release, and every plan, opens its guarantee in plain words; specialists are told below."""

from html import escape
from pathlib import Path

import pytest

from dalenius.cli.tables import print_release
from dalenius.core.plan import TablePlan
from dalenius.core.release import Release
from dalenius.curator.curator import Curator
from dalenius.ledger import Ledger
from dalenius.publish import to_document
from dalenius.publish.to_html import to_html
from dalenius.spec.guarantees import guarantee_of, told
from dalenius.spec.load import load_dataset, load_policy

DATASET = {
    "dataset": {"name": "few", "version": "1", "population": "few"},
    "unit": {"name": "person", "id": "who", "max_rows": 1},
    "variables": {"sex": {"categories": ["f", "m"]}},
}
PLAIN = "Whoever knows all other data and guesses right in 50 of 100 cases whether one person is in the data guesses"
FORMAL = "The Renyi divergence of order a between neighbours is at most a * 0.02"


@pytest.fixture
def made(tmp_path: Path) -> tuple[TablePlan, Release]:
    ledger, policy = Ledger.open(tmp_path / "ledger.sqlite"), load_policy({"budget": {"rho": 1}})
    rows = {"sex": ["f", "m"] * 20, "who": [str(number) for number in range(40)]}
    curator = Curator.open(rows, load_dataset(DATASET), policy=policy, ledger=ledger)
    curator.register()
    request = {"table": {"rows": ["sex"]}, "privacy": {"definition": "zero_concentrated", "rho": "0.02"}}
    return curator.plan(request), curator.release(request)


def test_every_product_opens_with_words_for_everybody(
    made: tuple[TablePlan, Release], capsys: pytest.CaptureFixture[str]
) -> None:
    plan, release = made
    words = guarantee_of(plan)
    source = release.provenance
    assert (source.guarantee, source.formal_guarantee) == (words.plain, words.formal)
    assert words.plain.startswith(f"{PLAIN} right in at most 54 with this release. On the scale")
    assert words.formal.startswith(FORMAL)
    provenance = to_document(release)["provenance"]
    assert (provenance["guarantee"], provenance["formal_guarantee"]) == (words.plain, words.formal)
    print_release(release)
    products = [capsys.readouterr().out, str(release), release._repr_html_(), plan._repr_html_(), to_html(release)]
    for product in products:
        text = " ".join(product.split())
        places = [text.index(part) for part in (PLAIN, "For specialists", FORMAL)]
        assert places == sorted(places), text


def test_a_german_page_says_both_in_german(made: tuple[TablePlan, Release]) -> None:
    _, release = made
    page = to_html(release, language="de")
    for stored in (release.provenance.guarantee, release.provenance.formal_guarantee):
        assert escape(told(stored, "de")) in page and stored[:40] not in page
    assert "Für Fachleute" in page
