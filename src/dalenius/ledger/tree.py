"""A hash tree over named leaves, kept node by node.

Guarantee
    The root is a SHA-256 digest that changes whenever a leaf is changed, added or removed. Reading or writing one leaf
    touches the nodes between it and the root: their number grows with the logarithm of the leaves.
Requires
    Names are hexadecimal texts of which none begins another. Leaves are added and replaced, never removed.
Shape
    A radix tree of sixteen branches without chains of single children. A node is stored under what its leaves' names
    have in common and lists its branches: the rest of a leaf's name or of the place of a node below, and its digest.
    Leaves are hashed after a zero byte, nodes after a one, so that neither passes for the other.
"""

from collections.abc import Iterator, Mapping
from hashlib import sha256

SALT_SIZE = 32
_SIZE = 32
_LEAF, _NODE = 0, 1

Node = dict[int, bytes]
"""By the next digit: kind, length of the rest of the name, that rest, digest."""


class MissingNode(Exception):
    """A node of the tree is not in memory: its place, and the digest that its parent names."""

    def __init__(self, place: bytes, digest: bytes) -> None:
        super().__init__(place)
        self.place, self.digest = place, digest


def leaf_digest(salt: bytes, text: str) -> bytes:
    """Return the digest of a leaf; the salt has a fixed length, so that it cannot run into the text."""
    return sha256(b"\0" + salt + text.encode()).digest()


def node_digest(content: bytes) -> bytes:
    return sha256(b"\1" + content).digest()


EMPTY = node_digest(b"")


def encode(node: Node) -> bytes:
    return b"".join([node[digit] for digit in sorted(node)])


def decode(content: bytes) -> Node:
    """Return the branches of a stored node; raises `ValueError` or `IndexError` if it is none."""
    node, at = {}, 0
    while at < len(content):
        end = at + 2 + content[at + 1] + _SIZE
        node[content[at + 2]] = content[at:end]
        at = end
    if at != len(content) or encode(node) != content:
        raise ValueError("not a node")
    return node


def _branch(kind: int, rest: bytes, digest: bytes) -> bytes:
    return bytes((kind, len(rest))) + rest + digest


def places_in(memory: Mapping[bytes, tuple[bytes, Node]]) -> set[bytes]:
    branches = ((place, branch) for place, (_, node) in memory.items() for branch in node.values())
    return {place + b[2:-_SIZE] for place, b in branches if b[0] == _NODE} | ({b""} if memory else set())


class HashTree:
    """The tree under one root, over a shared memory of nodes.

    The memory maps places to (digest, node) and may be out of date: a node counts only if its parent names its digest.
    """

    def __init__(self, root: bytes, memory: dict[bytes, tuple[bytes, Node]]) -> None:
        self.root = root
        self._memory = memory
        self._changed: dict[bytes, Node] = {}
        self._parents: dict[bytes, bytes] = {}
        self._sealed: dict[bytes, tuple[bytes, Node, bytes]] = {}
        self._last = b""

    def _node(self, place: bytes, digest: bytes) -> Node:
        entry = self._memory.get(place)
        if entry is None or entry[0] != digest:
            if digest == EMPTY and not place:
                return {}
            raise MissingNode(place, digest)
        return entry[1]

    def gather(self, scope: bytes, leaves: dict[bytes, bytes]) -> None:
        """Add the digests of all leaves whose names begin with `scope` to `leaves`; raises `MissingNode`."""
        place, digest = b"", self.root
        while len(place) < len(scope):
            branch = self._node(place, digest).get(scope[len(place)])
            if branch is None:
                return
            place, digest = place + branch[2:-_SIZE], branch[-_SIZE:]
            if branch[0] == _LEAF:
                if place.startswith(scope):
                    leaves[place] = digest
                return
            if not (scope.startswith(place) or place.startswith(scope)):
                return
        self._gather_all(place, digest, leaves)

    def _gather_all(self, place: bytes, digest: bytes, leaves: dict[bytes, bytes]) -> None:
        for branch in self._node(place, digest).values():
            name = place + branch[2:-_SIZE]
            if branch[0] == _LEAF:
                leaves[name] = branch[-_SIZE:]
            else:
                self._gather_all(name, branch[-_SIZE:], leaves)

    def put(self, name: bytes, digest: bytes) -> None:
        """Add or replace a leaf; the root is out of date until `seal`. `MissingNode` leaves the tree unchanged."""
        last = self._changed.get(self._last)
        if last is not None and name.startswith(self._last):
            rest = name[len(self._last) :]
            branch = last.get(rest[0])
            if branch is None or branch[2:-_SIZE] == rest:
                # The next of a run of names: its node was changed just now, and everything above it.
                last[rest[0]] = _branch(_LEAF, rest, digest)
                return
        place, expected = b"", self.root
        path: dict[bytes, Node] = {}
        while True:
            node = self._changed.get(place)
            if node is None:
                node = self._node(place, expected).copy()
            path[place] = node
            rest = name[len(place) :]
            branch = node.get(rest[0])
            if branch is None or branch[2:-_SIZE] == rest:
                node[rest[0]] = _branch(_LEAF, rest, digest)
                break
            below = branch[2:-_SIZE]
            if branch[0] == _NODE and rest.startswith(below):
                place, expected = place + below, branch[-_SIZE:]
                continue
            place, node = self._fork(place, node, branch, rest, digest)
            path[place] = node
            break
        self._changed |= path
        places = list(path)
        self._parents.update(zip(places[1:], places, strict=False))
        self._last = place

    def _fork(self, place: bytes, node: Node, branch: bytes, rest: bytes, digest: bytes) -> tuple[bytes, Node]:
        """Return a new node, in the place of a branch, where that branch and a new name part."""
        below = branch[2:-_SIZE]
        at = next(n for n, (a, b) in enumerate(zip(below, rest, strict=False)) if a != b)
        fork = place + rest[:at]
        node[rest[0]] = _branch(_NODE, rest[:at], EMPTY)
        if place + below in self._parents:
            self._parents[place + below] = fork
        moved = _branch(branch[0], below[at:], branch[-_SIZE:])
        return fork, {below[at]: moved, rest[at]: _branch(_LEAF, rest[at:], digest)}

    def seal(self) -> bytes:
        """Return the root with all that was put, computed from the lowest changed nodes upwards."""
        for place in sorted(self._changed, key=len, reverse=True):
            node = self._changed[place]
            content = encode(node)
            digest = node_digest(content)
            self._sealed[place] = (digest, node, content)
            if place:
                above = self._parents[place]
                rest = place[len(above) :]
                self._changed[above][rest[0]] = _branch(_NODE, rest, digest)
            else:
                self.root = digest
        return self.root

    def changes(self) -> Iterator[tuple[bytes, bytes]]:
        for place, (_, _, content) in self._sealed.items():
            yield place, content

    def keep(self) -> None:
        """Copy the changes into the shared memory, once they are stored."""
        for place, (digest, node, _) in self._sealed.items():
            self._memory[place] = (digest, node)
        self._changed, self._parents, self._sealed = {}, {}, {}
