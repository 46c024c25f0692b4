"""An office of our own to attack: generated people, a real curator, a real ledger, all in a folder that is removed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from dalenius.core.randomness import RecordedRandomness
from dalenius.curator.curator import Curator

SEXES = ("women", "men")
TOWNS = ("north", "south", "west")


@contextmanager
def office(seed: str, *, people: int = 60, rho: str = "1/2") -> Iterator[Curator]:
    """A registered data set of `people` rows, a sixth of them women of the north, with a budget of rho."""
    rows = {"sex": [SEXES[i % 2] for i in range(people)], "town": [TOWNS[i % 3] for i in range(people)]}
    document = {
        "dataset": {"name": "staff", "population": "staff", "version": "1", "public": True},
        "unit": {"relation": "add-remove"},
        "variables": {"sex": {"categories": list(SEXES)}, "town": {"categories": list(TOWNS)}},
    }
    with (
        TemporaryDirectory() as folder,
        Curator.open(
            document,
            ledger=Path(folder) / "ledger.sqlite",
            policy={"budget": {"rho": rho}},
            data=rows,
            rng=RecordedRandomness(seed),
        ) as curator,
    ):
        curator.register()
        yield curator
