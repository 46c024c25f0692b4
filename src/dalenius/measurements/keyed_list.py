"""A list too large to store: noise is a function of a secret, so that any cell is always shown the same way.

Guarantee
    The mechanism's, over the whole list as one event, against anybody who cannot tell keyed noise from random noise: a
    computational claim, and labelled so. Later tables are sums of the list's cells and cost nothing more.
Requires
    The key binds population secret, data fingerprint, how the file is read, list, law and parameters, and block of
    cells. How it is read decides which rows count: the columns, what becomes of missing and unseen values, the unit and
    its most rows. The same noise under two readings of one file would give the difference of their counts away exactly.
    A changed file is refused: under the old key its answers would differ by exactly what changed.
Noise
    Additive, one draw for each cell of the list.
Evidence
    Computational.
References
    Rinott et al. (2018), sections 2.2 and 4.1: keys by description, never by participants.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.core.contracts import Mechanism
from dalenius.core.domain import Domain
from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw, Noised
from dalenius.core.law import Additive, IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import TableQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.release import Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import DataChanged
from dalenius.exact.keyed import keyed_noise
from dalenius.measurements._example import COUNTS, VARIABLES, MeasurementExample, on_cells
from dalenius.measurements._steps import TableStep
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.statistics.count import Count


@dataclass(frozen=True, eq=False, repr=False)
class KeyedList(TableStep):
    name: str
    query: TableQuery
    mechanism: Mechanism
    domain: Domain
    registered: str = ""
    fingerprint: str = ""
    secret: bytes = b""

    def __post_init__(self) -> None:
        if self.registered != self.fingerprint:
            raise DataChanged(
                "The file is not the one whose list was charged; under the same key its answers would show what "
                "changed."
            )

    def __repr__(self) -> str:
        return f"KeyedList({self.name!r})"

    def with_secret(self, *, fingerprint: str, secret: bytes) -> "KeyedList":
        return replace(self, registered=fingerprint, fingerprint=fingerprint, secret=secret)

    @property
    def evidence(self) -> Evidence:
        return Evidence(
            level=Level.COMPUTATIONAL,
            references=self.mechanism.evidence.references,
            assumptions=("SHAKE-256 keyed by HMAC-SHA-256 cannot be told from random bits", "the secret stays secret"),
        )

    @property
    def law(self) -> Additive:
        return Additive(self.mechanism)

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        exact = self.mechanism.profile(Count(self.query).sensitivity(neighbours), neighbours.relation)
        return replace(exact, estimate=None, evidence=self.evidence)

    def draw(self, rng: RandomSource) -> IntArray:
        """The keyed noise of every cell; the random source is not used."""
        description = {
            "population": self.domain.population,
            "reading": _reading(self.domain),
            "fingerprint": self.fingerprint,
            "list": [[a.name, list(a.labels), list(a.codes), list(a.cuts), a.level] for a in self.query.space.axes],
            "structural_zeros": [list(cell) for cell in sorted(self.query.space.structural_zeros)],
            "where": [[f.variable, list(f.codes), f.low, f.high] for f in self.query.where],
        }
        cells = np.arange(self.query.space.size, dtype=np.int64)
        noise = keyed_noise(self.mechanism, cells, self.secret, description)
        noise[list(self.query.space.structural_indices)] = 0
        return noise

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        return Value(exact[0].open_below_the_gate() + drawn)

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """Counts plus noise, without the secret. Guard: audits show every cell with equal noise in two files."""
        return (Noised.equally(content[0], self.mechanism, self.query.space.structural_indices),)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        def keyed(number: int) -> "KeyedList":
            domain = Domain(name="kit", population="kit", version="1", variables=VARIABLES, neighbours=neighbours)
            secret = number.to_bytes(32, "big")
            return cls("list", COUNTS, DiscreteLaplace(Fraction(2)), domain, "f", "f", secret)

        return (on_cells(keyed(0), fresh=keyed),)


def _reading(domain: Domain) -> list[Any]:
    """What decides which rows of a file count: the unit, and every variable in its order.

    All variables count, because a unit with too many rows keeps some of them by their content.
    """
    variables = [
        [v.name, v.source_column, v.is_numeric, {k: str(x) for k, x in sorted(asdict(v.domain).items())}]
        for v in domain.variables.values()
    ]
    derived = {
        name: [v.lookup and v.lookup.to_dict(), str(v.feature), v.table, str(v.domain), v.source_column]
        for name, v in {**domain.variables, **{f"record {n}": v for n, v in domain.records.items()}}.items()
        if v.lookup is not None or v.feature is not None or domain.records
    }
    further = [derived, dict(domain.tables)] if derived else []
    return [domain.unit_id, domain.neighbours.to_dict(), variables, *further]
