"""Nothing that an analyst is answered says how many lines the ledger has, or lets a state be tried out."""

import json
import re
from collections.abc import Callable

from tests.server.api.conftest import Site, document

from dalenius.ledger import Ledger
from dalenius.server.downloads import formats

LINES = 20_000
REFUSED = document("1000", ["age"])


def numbers_in(text: str, low: int, high: int) -> set[int]:
    """Whole numbers of a range, as text shows them."""
    return {n for word in re.findall(r"(?<![\w.])\d{5}(?![\w.])", text) if low <= (n := int(word)) <= high}


def padded(site: Site) -> Ledger:
    """The site's ledger with so many lines that the number of one is no other number of the answers."""
    ledger = site.services.desk.ledger

    def declare(book: object) -> None:
        for _ in range(LINES):
            book.note("padding", {}, by="custodian")  # type: ignore[attr-defined]

    ledger.together(declare)
    return ledger


def answers(site: Site) -> str:
    """What an analyst and a visitor are answered: plan, release, refusal, quota, lists and every product."""
    base = "/api/v1/datasets/towns"
    first = site.release("ana", document("0.3", ["town"]))
    assert first.status_code == 200, first.text
    place = first.headers["content-location"]
    texts = [first.text, str(first.headers)]
    for who, method, path, body in (
        ("ana", "POST", f"{base}/plan", document("0.4", ["town", "sex"])),
        ("ana", "POST", f"{base}/releases", document("0.3", ["town"])),
        ("ana", "POST", f"{base}/releases", REFUSED),
        *((who, "GET", path, None) for who in ("ana", "") for path in (base, "/api/v1/releases", place)),
        *(("ana", "GET", f"{place}?format={name}", None) for name in formats()),
        ("ana", "GET", f"{base}/quota", None),
        ("ana", "GET", "/api/v1/jobs", None),
    ):
        answer = site.call(who, method, path, **({} if body is None else {"json": body}))
        # The last table is refused, for more than the quota holds.
        assert (answer.status_code == 200) == (body != REFUSED), answer.text
        texts += [answer.text, str(answer.headers)]
    return "\n".join(texts)


def test_no_line_number_is_printed_and_heads_belong_to_sealed_lines(make_site: Callable[..., Site]) -> None:
    site = make_site()
    ledger = padded(site)
    text = answers(site)
    lines = ledger.reader.entries()
    last = lines[-1].seq
    assert last > LINES
    assert numbers_in(text, LINES, last) == set()
    by_digest = {line.digest: line for line in lines}
    printed = [by_digest[word] for word in re.findall(r"\b[0-9a-f]{64}\b", text) if word in by_digest]
    # The head that a release names; the salt in its line's state is in no answer.
    assert printed and all(len(line.state) == 64 for line in printed)
    # The same search finds a number that is printed.
    assert numbers_in(json.dumps(lines[-1].to_dict()), LINES, last) == {last}
