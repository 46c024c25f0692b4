"""The protocols on one page. To extend is to satisfy one of these, not to inherit.

Source       fetches exact aggregates over a declared domain, sealed
Engine       opens a Source from a file or a table in memory
Statistic    an exact function of microdata: what it needs, and its sensitivity
Mechanism    an integer noise law with its privacy at a sensitivity
Measurement  one private step: needs, profile of the *whole* step, draw, run, law, evidence, exact law on tiny content
Definition   which neighbours count, and what a sequence of profiles costs
Adjustment   releases to release, without data
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Protocol, runtime_checkable

from dalenius.core.budget import Budget, Cost
from dalenius.core.domain import Domain
from dalenius.core.evidence import Evidence
from dalenius.core.integer_law import ExactLaw
from dalenius.core.law import IntArray, IntegerLaw, Law
from dalenius.core.neighbours import Neighbours, Relation, Scope
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Labels, LabelsQuery, Query, SizesQuery, TableQuery, ValuesQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.release import Block, Outcome, Release, Value
from dalenius.core.sealed import Sealed
from dalenius.core.sensitivity import Sensitivity


class Source(Protocol):
    """Microdata behind an engine. Content never raises: odd values follow the declared rules."""

    domain: Domain

    def table(self, query: TableQuery) -> Sealed[IntArray]:
        """One exact aggregate per cell, flat, every declared cell in declared order."""

    def values(self, query: ValuesQuery) -> Sealed[IntArray]:
        """Sorted values of one numeric variable, in steps."""

    def labels(self, query: LabelsQuery) -> Sealed[Labels]:
        """Texts that are not declared, with numbers of units, in the order of their code points."""

    def sizes(self, query: SizesQuery) -> Sealed[IntArray]:
        """How many units each clip is the first to leave as they are, and how many none of them does."""

    def scan(self, variables: Sequence[str]) -> Iterator[Mapping[str, IntArray]]:
        """Batches of coded rows after the declared rules; -1 (or the sentinel of a number) where dropped."""

    def fingerprint(self, key: bytes) -> str:
        """Keyed digest of the content; changes whenever the content does, and is never published."""

    def judge(self) -> Mapping[str, Any]:
        """Report on the content against the declaration, for the custodian's eyes at registration."""


@runtime_checkable
class ListingSource(Protocol):
    """A source that reads several lists of values in one pass."""

    def lists(self, queries: Sequence[ValuesQuery]) -> tuple[Sealed[IntArray], ...]:
        """What `values` answers to each query."""


@runtime_checkable
class StampedSource(Protocol):
    """A source that tells cheaply whether its content may have changed since it was last digested."""

    def stamp(self) -> tuple[object, ...] | None:
        """Equal as long as the content cannot have changed; None where only digesting it again would tell."""


@runtime_checkable
class FileSource(StampedSource, Protocol):
    """A source whose stamps outlive the process, because they are those of files."""

    def changed_at(self) -> float | None:
        """When the files were last changed, in seconds since 1970; None where stamps do not outlive the process."""


@runtime_checkable
class OneScanSource(Protocol):
    """A source that reads its rows once for several tables."""

    def tables(self, queries: Sequence[TableQuery]) -> tuple[Sealed[IntArray], ...]:
        """What `table` gives of each."""


@runtime_checkable
class ConnectedSource(Protocol):
    """A source that holds a connection or a process, which ends when it is closed."""

    def close(self) -> None:
        """Let go of whatever is held; doing so twice is no mistake."""


class DraftSource(Source, Protocol):
    """A source that a first declaration can be drafted from; its raw values are for the custodian alone."""

    @property
    def columns(self) -> Mapping[str, str]:
        """Names of the columns that can be declared, with their types."""

    @property
    def is_text(self) -> bool:
        """Whether every column is text, so that types tell nothing."""

    def contents(self, name: str) -> Iterator[tuple[object, int]]:
        """Distinct raw values of a declared variable, with their counts."""


class Engine(Protocol):
    """How microdata are opened.

    Engines are asked in the order of `turn`: 0 for one that is made for some kind of data, 1 for the general one, 2 for
    the reference. What an engine opens for files that end in `suffixes` is a `DraftSource`. One that opens neither a
    table in memory nor a Parquet file states `stored(table, folder)`, which writes an Arrow table in its own form, for
    the kit.
    """

    turn: ClassVar[int]
    suffixes: ClassVar[tuple[str, ...]]

    @classmethod
    def accepts(cls, data: object) -> bool:
        """Whether it opens data of this type, or a file of this name; nothing is read."""

    @classmethod
    def open(
        cls,
        domain: Domain,
        data: Any,
        secret: bytes = b"",
        *,
        table: str = "",
        delimiter: str = ",",
        others: Mapping[str, Any] | None = None,
    ) -> Source:
        """The data, seen through a declared domain; `others` are further tables: data, or places and names."""


@runtime_checkable
class Mechanism(IntegerLaw, Protocol):
    """An additive integer law with its privacy. `family` runs from the most noise to the least.

    A mechanism whose other parameters depend on the sensitivity (a truncation, for example) is also `Tailored`. One too
    wide for a table states `exact_sampler()`; `is_default` offers it where a request names none; one with closed forms
    for its loss states the hooks that `exact/loss.py` names.
    """

    evidence: ClassVar[Evidence]
    is_default: ClassVar[bool]

    def profile(self, sensitivity: Sensitivity, relation: Relation) -> PrivacyProfile:
        """Privacy of adding this noise, independently, to answers of the given sensitivity."""

    @classmethod
    def family(cls, size: Fraction, budget: Budget) -> "Mechanism":
        """Member at `size` (a loss never falls as size grows); other parameters come from the budget."""

    @classmethod
    def guesses(cls, sensitivity: Sensitivity, budget: Budget) -> Sequence[Fraction]:
        """Sizes that a closed form suggests; calibration checks them and never trusts them."""


@runtime_checkable
class Tailored(Protocol):
    """A family whose other parameters depend on the sensitivity: calibration asks it in place of `family`."""

    @classmethod
    def tailored(cls, size: Fraction, budget: Budget, sensitivity: Sensitivity) -> Mechanism:
        """Member at `size` for answers of this sensitivity."""


@runtime_checkable
class Stated(Protocol):
    """A mechanism whose own parameters a request may state in [privacy.noise].

    `Parameters` is the section of the document. `stated` answers with the member that they fix, or with a family in
    which they hold and the size is left to calibration.
    """

    Parameters: ClassVar[type[Any]]

    @classmethod
    def stated(cls, parameters: Any) -> Any:
        """A `Mechanism`, or a family with `name`, `family` and `guesses`."""


@runtime_checkable
class KeyedStep(Protocol):
    """A measurement whose noise is a function of a secret, which no plan knows: the curator gives it at the gate."""

    def with_secret(self, *, fingerprint: str, secret: bytes) -> "Measurement":
        """The same step with the population's secret, for the file of this fingerprint."""


@runtime_checkable
class FunctionStep(Protocol):
    """A measurement that may run a custodian's own function, which no plan knows: the curator gives it at the gate."""

    @property
    def functions(self) -> tuple[str, ...]:
        """Digests of the functions that it runs; none for most."""

    def with_functions(self, functions: Mapping[str, Any], stage: Callable[[str], None]) -> "Measurement":
        """The same step with what runs them, and whoever hears how far it is."""


@runtime_checkable
class TableNoise(Protocol):
    """A measurement that a request may name as the mechanism of one plain table of counts, with own parameters."""

    Parameters: ClassVar[type[Any]]

    @classmethod
    def of_counts(
        cls, name: str, query: TableQuery, parameters: Any, budget: Budget, neighbours: Neighbours
    ) -> "Measurement":
        """The step on these counts, within the budget or refused."""


class Statistic(Protocol):
    """An exact function of microdata. A class of the registry also states `examples()` to check its claim on."""

    @property
    def query(self) -> Query:
        """The exact aggregate that it is."""

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """How far the answers move between neighbours, on the released integer grid."""


class Measurement(Protocol):
    """One private step, priced as a whole. A class of the registry also states `examples(neighbours)`."""

    @property
    def name(self) -> str:
        """How blocks refer to it."""

    @property
    def law(self) -> Law:
        """The public law of its output."""

    @property
    def evidence(self) -> Evidence:
        """How well its claim is supported."""

    @property
    def needs(self) -> tuple[Query, ...]:
        """Exact aggregates to fetch."""

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        """Privacy of the whole step."""

    def draw(self, rng: RandomSource) -> Any:
        """Noise that can be drawn before data are read; None if there is none."""

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        """The private answer. Must not raise for any content of the data."""

    def block(self, outcome: Value) -> Block:
        """The value as a released block."""

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """The law of the answer to tiny content, opened; `Unlisted` with a reason where none can be listed."""


@runtime_checkable
class DataDependentStep(Protocol):
    """A measurement whose noise follows the data; its guarantee holds for the noise that one content sets."""

    def exact_law_at(self, content: Sequence[Any], at: Sequence[Any]) -> ExactLaw:
        """The law of the answer to one content, with the noise that the content `at` sets."""


@runtime_checkable
class AdditiveMeasurement(Protocol):
    """A measurement that adds the noise of one mechanism."""

    @property
    def mechanism(self) -> Mechanism:
        """The noise."""


class Plan(Protocol):
    """A procedure: yields measurements, receives outcomes, returns nothing. Later steps may depend on answers."""

    @property
    def reservation(self) -> Cost:
        """The worst case of all steps."""

    @property
    def definition(self) -> str:
        """Name of the definition under which it was priced."""

    @property
    def neighbours(self) -> Neighbours:
        """Between which data sets the guarantee is made."""

    def steps(self) -> Generator[Measurement, Outcome, None]:
        """Run by the gate, step by step."""


class Definition(Protocol):
    """A privacy definition: what a sequence of steps costs under it.

    `account` is the account that is charged; mechanisms of `by_name_only` are used if a request names them;
    `statements` are the sentences that `sentence` fills in.
    """

    name: ClassVar[str]
    scope: ClassVar[Scope]
    amounts: ClassVar[tuple[str, ...]]
    evidence: ClassVar[Evidence]
    account: ClassVar[str]
    by_name_only: ClassVar[tuple[str, ...]]
    warnings: ClassVar[tuple[str, ...]]
    statements: ClassVar[tuple[str, ...]]

    def fits(self, profiles: Sequence[PrivacyProfile], budget: Budget) -> bool:
        """Whether the sequence stays within the budget under this definition."""

    def cost(self, profiles: Sequence[PrivacyProfile]) -> Cost:
        """What the master account is charged for the sequence."""

    def claim(self, budget: Budget, relation: Relation) -> PrivacyProfile:
        """What the amounts of a budget bound between the definition's neighbours, for the figures of products."""

    def sentence(self, budget: Budget) -> str:
        """The guarantee in the definition's own terms, for specialists."""


@runtime_checkable
class Screening(Protocol):
    """A definition that can judge faster and less surely whether a sequence fits; what is kept is judged by `fits`."""

    def likely_fits(self, profiles: Sequence[PrivacyProfile], budget: Budget) -> bool:
        """Whether the sequence probably stays within the budget."""


class Adjustment(Protocol):
    """Releases to release, without data; recorded in the result. A registered class states `examples(release)`."""

    name: ClassVar[str]

    def __call__(self, release: Release) -> Release:
        """A new release with adjusted tables; the measured blocks stay."""
