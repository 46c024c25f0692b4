"""The same noise on two neighbouring data sets: nothing but the released numbers may differ.

A request is answered twice at the gate with one recorded stream. Compared are the steps in order, how many bytes were
drawn and in which portions, the stages that were reported, the lines that were logged, the refusal if there was one,
and the names and shapes of what came out.
"""

import logging
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.curator import gate
from dalenius.curator.planner import Planner
from dalenius.errors import DaleniusError
from dalenius.spec.request import RequestDocument
from dalenius_lab.attackers import grammar, worlds
from dalenius_lab.attackers.worlds import World


@dataclass
class Portions:
    """A recorded stream that notes how many bytes were asked for, each time."""

    seed: int | str
    sizes: list[int] = field(default_factory=list)
    is_tainted = True

    def __post_init__(self) -> None:
        self._stream = RecordedRandomness(self.seed)

    @property
    def taken(self) -> int:
        """How many bytes, in all."""
        return sum(self.sizes)

    def bytes(self, count: int) -> bytes:
        self.sizes.append(count)
        return self._stream.bytes(count)


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__(level=logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the text."""
        self.lines.append(f"{record.name} {record.levelname} {record.getMessage()}")


@dataclass(frozen=True)
class Trace:
    """Everything about one passage but the numbers."""

    steps: tuple[str, ...]
    portions: tuple[int, ...]
    stages: tuple[str, ...]
    lines: tuple[str, ...]
    refusal: str
    shown: tuple[tuple[str, int], ...]


def played(plan: TablePlan, world: World, *, is_changed: bool, seed: int) -> Trace:
    """One passage through the gate."""
    rng, handler, root = Portions(seed), _Lines(), logging.getLogger()
    stages: list[str] = []
    root.addHandler(handler)
    before, refusal = root.level, ""
    shown: tuple[tuple[str, int], ...] = ()
    root.setLevel(logging.DEBUG)
    try:
        source = world.source(is_changed=is_changed)
        # What keyed steps take from the population is the same on both sides; that files differ is another attacker's
        # matter.
        keyed = gate.with_keys(plan, "one file", b"a secret of the attacker")
        passage = gate.run(keyed, source, plan.neighbours, plan.reservation, rng, stage=stages.append)
        shown = tuple((block.name, len(block.values)) for block in passage.blocks)
    except DaleniusError as error:
        refusal = str(error)
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
    steps = tuple(type(m).__name__ for m in plan.measurements)
    return Trace(steps, tuple(rng.sizes), tuple(stages), tuple(handler.lines), refusal, shown)


def traces(seed: int, requests: int, *, scope: Any, pairs: int = 4) -> Iterator[tuple[str, Trace, Trace]]:
    """Requests over the grammar, each on some pairs of neighbours: which kind, and both traces."""
    chance = random.Random(seed)
    for number in range(requests):
        world = worlds.world_of(chance)
        request = grammar.request_of(chance, scope)
        try:
            plan = Planner(domain=world.domain, policy=grammar.POLICY).plan(RequestDocument.model_validate(request))
        except (DaleniusError, ValueError):
            continue
        for _ in range(pairs):
            drawn = worlds.redrawn(world, chance)
            both = [played(plan, drawn, is_changed=changed, seed=number) for changed in (False, True)]
            yield " + ".join((*both[0].steps, plan.strategy)), both[0], both[1]
