"""The kit that every measurement must pass: its answers on tiny neighbours against its profile.

Answers are drawn from a recorded source: a few on every tiny data set, to see which two neighbours they tell apart
best, then many on those. Some of them choose an event, the others bound its probabilities (each bound is wrong with
probability 1e-6); the profile must allow what is then certain. Where the law is additive, or an example states its
probabilities, the same is done exactly, for all neighbours. Every content is answered, none included.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.audit.exact import clopper_pearson, kernel_delta, product_hockey_stick
from dalenius.audit.neighbours import DataSet, columns_of, fetched, units
from dalenius.core.domain import Domain
from dalenius.core.law import Additive, law_from_dict
from dalenius.core.neighbours import Neighbours, Scope
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import ValuesQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import NoReply, Outcome, Value
from dalenius.engines.memory import MemorySource
from dalenius.errors import RequestError, TooLarge
from dalenius.measurements import Exact, MeasurementExample
from dalenius.testing.statistic_kit import ALL_NEIGHBOURS, small_pairs

PILOT = 24
DRAWS = 800
ERROR = 1e-6
EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(2))
Pair = tuple[DataSet, DataSet]
Trial = tuple[DataSet, DataSet, DataSet]
Answers = NDArray[np.float64]
Event = Callable[[Answers], NDArray[np.bool_]]


def check(measurement: Any) -> int:
    """Every example of a measurement, for all neighbours that it serves; returns how many pairs were compared."""
    assert hasattr(measurement, "examples"), f"{measurement.__name__} states no examples"
    compared = sum(_check_neighbours(measurement, neighbours) for neighbours in ALL_NEIGHBOURS)
    if not compared:
        weaker = (replace(neighbours, scope=scope) for scope in Scope for neighbours in ALL_NEIGHBOURS)
        compared = sum(_check_neighbours(measurement, neighbours) for neighbours in weaker)
    assert compared, f"{measurement.__name__} serves no example"
    return compared


def _check_neighbours(measurement: Any, neighbours: Neighbours) -> int:
    compared = 0
    try:
        examples = tuple(measurement.examples(neighbours))
        profiles = [example.step.profile(neighbours) for example in examples]
    except RequestError:
        return 0
    for example, profile in zip(examples, profiles, strict=True):
        assert isinstance(example.step, measurement), "an example is of another measurement"
        compared += _Trial(example, neighbours, profile).check()
    return compared


@dataclass
class _Trial:
    """One step under one relation, with the answers that were drawn so far."""

    example: MeasurementExample
    neighbours: Neighbours
    profile: PrivacyProfile
    rng: RecordedRandomness = field(default_factory=lambda: RecordedRandomness("the noise of the kit"))
    contents: dict[DataSet, Exact] = field(default_factory=dict)
    answers: dict[tuple[DataSet, DataSet, int], Answers] = field(default_factory=dict)
    noise: list[tuple[Any, Any]] = field(default_factory=list)

    def check(self) -> int:
        """All pairs; returns their number."""
        step = self.example.step
        assert self.profile.relation is self.neighbours.relation
        assert law_from_dict(step.law.to_dict()) == step.law, "the law does not come back from its document"
        trials = self._different(list(self._pairs()))
        if trials:
            self._compare(*max(trials, key=self._difference))
        has_chances = self.example.chances is not None
        if isinstance(step.law, Additive) and not has_chances and self.neighbours.scope is Scope.ALL_DATA:
            self._compare_exactly([(here, there) for _, here, there in trials])
        if has_chances and self.neighbours.max_rows == 1:
            self._compare_chances()
        self._answers_everything()
        return len(trials)

    def _different(self, trials: list[Trial]) -> list[Trial]:
        """Without pairs of the same contents, and without those that do not differ in content."""
        kept: dict[Any, Trial] = {}
        for trial in trials:
            contents = [tuple(tuple(sealed.open_below_the_gate()) for sealed in self._content(data)) for data in trial]
            if contents[1] != contents[2]:
                kept.setdefault(tuple(contents), trial)
        return list(kept.values())

    def _difference(self, trial: Trial) -> float:
        """How well a few answers tell two neighbours apart."""
        at, *pair = trial
        first, second = (self._drawn(at, data, PILOT) for data in pair)
        return max(_plain_excess(p, q, 0.5) for p, q in ((first, second), (second, first)))

    def _pairs(self) -> Iterator[Trial]:
        """The data that the noise follows, and two neighbours."""
        for here, there in self._neighbours(units(self.example.rows, self.neighbours.max_rows)):
            if self.example.run_at is None:
                # Noise follows nothing, so that any content may stand in the first place.
                yield (), here, there
            elif self.neighbours.scope is Scope.ACTUAL_DATA:
                yield here, here, there
                yield there, there, here
            else:
                # Within the data: both neighbours are made of rows that occur.
                yield tuple(sorted({*here, *there})), here, there

    def _neighbours(self, everyone: list[Any]) -> Iterator[Pair]:
        """Pairs that differ in one unit; one row stands beside it, or none."""
        beside: list[DataSet] = [()] if self.neighbours.max_rows > 1 else [(), (everyone[0],)]
        for others in beside:
            candidates: list[Pair] = []
            if self.neighbours.is_replace:
                places = [(a, b) for i, a in enumerate(everyone) for b in everyone[i + 1 :]]
                candidates += [((*others, a), (*others, b)) for a, b in places]
            else:
                candidates += [(others, (*others, unit)) for unit in everyone]
            size = self.example.size
            yield from (p for p in candidates if size is None or all(len(d) == size for d in p))

    def _content(self, data: DataSet) -> Exact:
        if data not in self.contents:
            neighbours = self.neighbours
            domain = Domain(
                name="kit",
                population="kit",
                version="1",
                variables=dict(self.example.variables),
                neighbours=neighbours,
                unit_id="person" if neighbours.unit == "person" else None,
            )
            columns = columns_of(data, list(domain.variables), domain.unit_id)
            source = MemorySource(domain, columns, b"a secret of the kit")
            self.contents[data] = tuple(fetched(source, need) for need in self.example.step.needs)
        return self.contents[data]

    def _drawn(self, at: DataSet, data: DataSet, count: int) -> Answers:
        """So many answers on a data set, with noise that follows the data set `at`; one row for each."""
        if (at, data, count) not in self.answers:
            rng = RecordedRandomness(f"the coins of the kit {data!r}")
            outcomes = [self._run(step, at, data, drawn, rng) for step, drawn in self._noise(count)]
            told = self.example.told or _values
            rows = [[-1] if isinstance(outcome, NoReply) else told(outcome) for outcome in outcomes]
            self.answers[at, data, count] = np.array(rows, dtype=np.float64)
        return self.answers[at, data, count]

    def _noise(self, count: int) -> list[tuple[Any, Any]]:
        """The first so many draws that need no data, each with its step; the same for every data set."""
        for number in range(len(self.noise), count):
            step = self.example.fresh(number) if self.example.fresh else self.example.step
            self.noise.append((step, step.draw(self.rng)))
        return self.noise[:count]

    def _run(self, step: Any, at: DataSet, data: DataSet, drawn: Any, rng: Any) -> Outcome:
        if self.example.run_at is None:
            outcome: Outcome = step.run(self._content(data), drawn, rng)
            return outcome
        return self.example.run_at(self._content(at), self._content(data), drawn, rng)

    def _compare(self, at: DataSet, here: DataSet, there: DataSet) -> None:
        first, second = (self._drawn(at, data, DRAWS) for data in (here, there))
        for epsilon in {*EPSILONS, self.profile.epsilon or Fraction(1)}:
            allowed = float(self.profile.delta_at(epsilon))
            for p, q in ((first, second), (second, first)):
                certain = certain_excess(p, q, float(epsilon))
                assert certain <= allowed, (
                    f"{self.example.step.name}: delta({epsilon}) is at least {certain:.4f} between {here} and {there}"
                    f" under {self.neighbours.relation}; the profile says {allowed:.4f}"
                )

    def _compare_exactly(self, pairs: list[Pair]) -> None:
        """Additive noise: the exact divergence of every move."""
        law: Any = self.example.step.law
        statistic = getattr(self.example.step, "statistic", None)
        value, combine = getattr(statistic, "value", None), getattr(statistic, "combine", None)

        def centre(data: DataSet) -> list[int]:
            content = [sealed.open_below_the_gate() for sealed in self._content(data)]
            needs = self.example.step.needs
            if isinstance(needs[0], ValuesQuery):
                assert value is not None
                return [int(value(content[0]))]
            return [int(v) for v in (content[0] if combine is None else combine(content))]

        moves = {tuple(abs(a - b) for a, b in zip(centre(x), centre(y), strict=True) if a != b) for x, y in pairs}
        for move in moves - {()}:
            for epsilon in EPSILONS:
                try:
                    least, _ = product_hockey_stick(law.noise, move, epsilon, bits=48)
                except TooLarge:
                    continue
                assert self.profile.delta_at(epsilon) >= least - Fraction(1, 2**34), (move, epsilon, least)

    def _compare_chances(self) -> None:
        """Stated probabilities: the exact divergence between all neighbours of at most four rows."""
        example = self.example
        assert example.chances is not None
        epsilons = {*EPSILONS, self.profile.epsilon or Fraction(1)}
        allowed = {epsilon: self.profile.delta_at(epsilon) for epsilon in epsilons}
        trials: list[Trial] = [((), *pair) for pair in small_pairs(example.rows, self.neighbours, example.size)]
        chances: dict[DataSet, dict[Hashable, Fraction]] = {}
        for _, *pair in self._different(trials):
            for data in pair:
                if data not in chances:
                    chances[data] = dict(enumerate(example.chances(self._content(data))))
            laws = [chances[data] for data in pair]
            for epsilon, delta in allowed.items():
                least, _ = kernel_delta(laws, epsilon, bits=64)
                assert delta >= least - Fraction(1, 2**34), (
                    f"{example.step.name}: delta({epsilon}) is at least {float(least):.4f} between {pair} under"
                    f" {self.neighbours.relation}; the profile says {float(delta):.4f}"
                )

    def _answers_everything(self) -> None:
        """No content raises: not an empty file, and not one with many rows of one kind or of all."""
        rng = RecordedRandomness("contents of the kit")
        everyone = units(self.example.rows, self.neighbours.max_rows)
        for data in ((), (everyone[0],) * 40, tuple(everyone) * 7):
            outcome = self._run(self.example.step, data, data, self.example.step.draw(rng), rng)
            if isinstance(outcome, Value):
                self.example.step.block(outcome)


def _values(outcome: Outcome) -> Sequence[int]:
    assert isinstance(outcome, Value)
    numbers: list[int] = outcome.values.tolist()
    return numbers


def certain_excess(first: Answers, second: Answers, epsilon: float) -> float:
    """Lower bound of max over events of P(E) - exp(epsilon) Q(E), from answers drawn under P and under Q."""
    part, factor = len(first) // 4, exp(epsilon)
    event = _best_event(first[:part], second[:part], factor)
    hits = [int(event(answers[part:]).sum()) for answers in (first, second)]
    trials = len(first) - part
    p, q = clopper_pearson(hits[0], trials, ERROR)[0], clopper_pearson(hits[1], trials, ERROR)[1]
    return p - factor * q


def _plain_excess(first: Answers, second: Answers, epsilon: float) -> float:
    event = _best_event(first, second, exp(epsilon))
    return float(event(first).mean() - exp(epsilon) * event(second).mean())


def _best_event(first: Answers, second: Answers, factor: float) -> Event:
    """A set of values, a tail of one coordinate, or a tail along the difference of the means."""
    events = [_values_event(first, second, factor)]
    size = first.shape[1]
    directions = [*np.eye(size)]
    if size > 1:
        spread = np.cov(np.vstack([first, second]).T)
        directions.append(np.linalg.pinv(spread) @ (first.mean(axis=0) - second.mean(axis=0)))
    events += [_tail_event(first, second, sign * direction, factor) for direction in directions for sign in (1.0, -1.0)]
    return max(events, key=lambda event: float(event(first).mean() - factor * event(second).mean()))


def _values_event(first: Answers, second: Answers, factor: float) -> Event:
    here, there = (Counter(map(tuple, answers.tolist())) for answers in (first, second))
    chosen = {row for row, count in here.items() if count > factor * there[row]}
    return lambda answers: np.array([tuple(row) in chosen for row in answers.tolist()])


def _tail_event(first: Answers, second: Answers, direction: Any, factor: float) -> Event:
    here, there = np.sort(first @ direction), np.sort(second @ direction)
    below = np.searchsorted(here, here) - factor * np.searchsorted(there, here)
    cut = here[int(np.argmin(below))]
    return lambda answers: answers @ direction >= cut
