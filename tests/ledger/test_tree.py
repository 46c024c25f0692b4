"""The hash tree against a dictionary: the same root from any order, nothing forgotten, every edit noticed."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.ledger.tree import EMPTY, HashTree, MissingNode, decode, encode, leaf_digest, node_digest, places_in

NAMES = st.integers(0, 4000).map(lambda n: b"2%04x" % n)


def built(leaves, memory=None, size=None):
    """A tree with these leaves, sealed after every `size` of them, and its stored nodes."""
    memory = {} if memory is None else memory
    tree, items = HashTree(EMPTY, memory), list(leaves.items())
    for start in range(0, len(items), size or max(len(items), 1)):
        for name, digest in items[start : start + (size or len(items))]:
            tree.put(name, digest)
        tree.seal()
        tree.keep()
    return tree, memory


def gathered(tree, scope=b""):
    found = {}
    tree.gather(scope, found)
    return found


@given(st.dictionaries(NAMES, st.binary(min_size=32, max_size=32), max_size=60), st.integers(1, 9), st.randoms())
def test_the_root_depends_on_the_leaves_and_on_nothing_else(leaves, size, rng):
    tree, memory = built(leaves, size=size)
    order = list(leaves.items())
    rng.shuffle(order)
    assert tree.root == built(dict(order))[0].root
    assert gathered(tree) == leaves
    assert places_in(memory) == set(memory)
    for scope in (b"20", b"2003", *list(leaves)[:3], b"20ffe"):
        assert gathered(tree, scope) == {name: d for name, d in leaves.items() if name.startswith(scope)}
    for place, (digest, node) in memory.items():
        assert decode(encode(node)) == node and node_digest(encode(node)) == digest, place


@given(st.sets(NAMES, min_size=2, max_size=60), st.randoms())
def test_every_change_moves_the_root(names, rng):
    leaves = {name: leaf_digest(b"s" * 32, name.decode()) for name in names}
    tree, _ = built(leaves)
    one, other = rng.sample(sorted(names), 2)
    swapped = leaves | {one: leaves[other], other: leaves[one]}
    for changed in (
        leaves | {one: b"x" * 32},
        {name: digest for name, digest in leaves.items() if name != one},
        leaves | {b"3000": b"x" * 32},
        swapped,
    ):
        assert built(changed)[0].root != tree.root


def test_a_leaf_costs_the_nodes_above_it():
    rng = random.Random(7)
    tree, _ = built({b"2%08x" % n: rng.randbytes(32) for n in range(20_000)})
    for name in (b"2%08x" % rng.randrange(20_000), b"2%08x" % 20_000):
        tree.put(name, b"x" * 32)
        tree.seal()
        assert len(dict(tree.changes())) <= 7
        tree.keep()


def test_a_node_that_is_missing_or_older_is_asked_for():
    leaves = {b"2%04x" % n: bytes([n % 256]) * 32 for n in range(300)}
    tree, memory = built(leaves)
    place = max(memory, key=len)
    name = next(name for name in leaves if name.startswith(place))
    older = HashTree(tree.root, dict(memory))
    tree.put(name, b"x" * 32)
    tree.seal()
    tree.keep()
    for stale in ({}, memory):
        with pytest.raises(MissingNode) as gap:
            gathered(HashTree(older.root, stale), name)
        assert gap.value.place == b""
    incomplete = {p: node for p, node in memory.items() if p != place}
    for work in (lambda t: gathered(t, name), lambda t: t.put(name, b"y" * 32), gathered):
        with pytest.raises(MissingNode) as gap:
            work(HashTree(tree.root, incomplete))
        assert (gap.value.place, gap.value.digest) == (place, memory[place][0])
    assert gathered(older, name) == {name: leaves[name]}


@pytest.mark.parametrize(
    "content", [b"x", b"\0\5abc", b"\0\1a" + b"d" * 31, b"\0\1b" + b"d" * 32 + b"\0\1a" + b"d" * 32]
)
def test_what_is_no_node_is_refused(content):
    with pytest.raises((ValueError, IndexError)):
        decode(content)


def test_leaves_and_nodes_are_hashed_apart():
    assert leaf_digest(b"s" * 32, "text") != node_digest(b"s" * 32 + b"text")
    assert leaf_digest(b"s" * 32, "text") != leaf_digest(b"t" * 32, "text")
