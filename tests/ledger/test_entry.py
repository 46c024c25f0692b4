"""Lines: canonical text, digests, and what is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.errors import LedgerCorrupt
from dalenius.ledger.entry import GENESIS, Entry, canonical, digest_of
from dalenius.ledger.state import State

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
bodies = st.dictionaries(st.text(max_size=5), plain, max_size=4)


def test_known_digest():
    entry = Entry.write(seq=1, kind="note", population="", at="t", by="", body={}, previous=GENESIS)
    expected = '{"at":"t","body":{},"by":"","format":"dalenius-ledger/1","kind":"note","population":"","previous":"'
    assert entry.line == expected + GENESIS + '","seq":1}'
    assert entry.digest == digest_of(entry.line.encode())
    assert entry.digest.startswith(entry.name)


@given(bodies, st.text(max_size=5), st.text(max_size=5))
def test_a_written_line_is_canonical_and_reads_back(body, population, by):
    entry = Entry.write(seq=7, kind="note", population=population, at="t", by=by, body=body, previous=GENESIS)
    assert canonical(json.loads(entry.line)) == entry.line
    assert Entry.read(entry.line) == entry


@given(bodies, bodies)
def test_different_bodies_have_different_digests(one, two):
    def digest(body):
        return Entry.write(seq=1, kind="k", population="", at="t", by="", body=body, previous=GENESIS).digest

    assert (digest(one) == digest(two)) == (canonical(one) == canonical(two))


@pytest.mark.parametrize("bad", ["", "[]", "{}", '{"seq":1}', "not json"])
def test_what_is_not_a_line_is_corrupt(bad):
    with pytest.raises(LedgerCorrupt):
        Entry.read(bad)


def test_infinities_have_no_canonical_text():
    with pytest.raises(ValueError, match="JSON"):
        canonical({"a": float("nan")})


def test_a_line_that_no_fold_knows_is_damage():
    """Nothing is skipped: what a line of an unknown kind did to a balance cannot be known."""
    for kind, said in (("gift", "unknown kind 'gift'"), ("grant", "lacks what its kind needs")):
        entry = Entry.write(seq=7, kind=kind, population="", at="t", by="", body={}, previous=GENESIS)
        with pytest.raises(LedgerCorrupt, match=f"Line 7 .*{said}"):
            State().fold(entry)
