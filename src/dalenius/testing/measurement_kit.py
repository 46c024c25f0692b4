"""The kit that every measurement must pass: its answers on tiny neighbours against its profile.

Of drawn answers some choose an event, the others bound its probabilities (each bound is wrong with probability 1e-6);
the profile must allow what is then certain. The same is done exactly, for all neighbours, with the exact law that the
step states, and the drawn answers must be answers of that law, so that neither can be wrong alone. Every content is
answered, none included.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.audit.charges import ORDERS
from dalenius.audit.losses import Together, listed
from dalenius.audit.sensitivity import DataSet, columns_of, units
from dalenius.audit.steps import law_of, parts_between
from dalenius.core.integer_law import Branches, Listed, Mixed, Noised, NoiseLaw, Part, Unlisted
from dalenius.core.law import law_from_dict
from dalenius.core.neighbours import Neighbours, Scope
from dalenius.core.profile import PrivacyProfile
from dalenius.core.randomness import RandomSource, RecordedRandomness
from dalenius.core.release import NoReply, Outcome, Value
from dalenius.curator.gate import fetched
from dalenius.engines.memory import MemorySource
from dalenius.errors import RequestError, TooLarge
from dalenius.measurements import Exact, MeasurementExample
from dalenius.testing.statistic_kit import ALL_NEIGHBOURS, small_pairs
from dalenius.testing.toy import kit_domain

PILOT = 24
DRAWS = 800
# Answers of the stated law, which cost nothing to draw.
STATED = 6000
ERROR = 1e-6
# Losses by floats are exact up to this.
ROUNDING = 2.0**-34
EPSILONS = (Fraction(0), Fraction(1, 2), Fraction(1), Fraction(2))
Pair = tuple[DataSet, DataSet]
Trial = tuple[DataSet, DataSet, DataSet]
Answers = NDArray[np.float64]
Event = Callable[[Answers], NDArray[np.bool_]]


def check(measurement: Any) -> int:
    """Every example of a measurement, for all neighbours that it serves; returns how many pairs were compared."""
    assert hasattr(measurement, "examples"), f"{measurement.__name__} states no examples"
    stated = getattr(measurement, "exact_law", None)
    assert stated is not None, f"{measurement.__name__} states no exact_law; core/integer_law.py says what it is"
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


def _key(content: Any) -> Any:
    """The same for equal contents, and for no others."""
    return (content.shape, content.tobytes()) if isinstance(content, np.ndarray) else tuple(content)


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
        step = self.example.step
        assert self.profile.relation is self.neighbours.relation
        assert law_from_dict(step.law.to_dict()) == step.law, "the law does not come back from its document"
        trials = self._different(list(self._pairs()))
        if trials:
            at, here, there = max(trials, key=self._difference)
            self._compare(at, here, there)
            self._compare_with_law(at, here)
            self._compare_with_law(at, there)
        further: list[Trial] = []
        if self.example.run_at is None and self.neighbours.max_rows == 1:
            pairs = small_pairs(self.example.rows, self.neighbours, self.example.size)
            further = [((), *pair) for pair in pairs]
        self._compare_exactly([*trials, *self._different(further)])
        self._answers_everything()
        return len(trials)

    def _different(self, trials: list[Trial]) -> list[Trial]:
        """Without pairs of the same contents, and without those that do not differ in content."""
        kept: dict[Any, Trial] = {}
        for trial in trials:
            contents = [tuple(_key(sealed.open_below_the_gate()) for sealed in self._content(data)) for data in trial]
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
                # NoiseLaw follows nothing, so that any content may stand in the first place.
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
            domain = kit_domain(self.example.variables, self.neighbours)
            columns = columns_of(data, list(domain.variables), domain.unit_id)
            source = MemorySource(domain, columns, b"a secret of the kit")
            self.contents[data] = tuple(fetched(source, need) for need in self.example.step.needs)
        return self.contents[data]

    def _drawn(self, at: DataSet, data: DataSet, count: int) -> Answers:
        """So many answers on a data set, with noise that follows the data set `at`; one row for each."""
        if (at, data, count) not in self.answers:
            rng = RecordedRandomness(f"the coins of the kit {data!r}")
            outcomes = [self._run(step, at, data, drawn, rng) for step, drawn in self._noise(count)]
            self.answers[at, data, count] = np.array([self._row(o) for o in outcomes], dtype=np.float64)
        return self.answers[at, data, count]

    def _row(self, outcome: Outcome) -> Sequence[int]:
        return [-1] if isinstance(outcome, NoReply) else (self.example.told or _values)(outcome)

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

    def _compare_exactly(self, trials: list[Trial]) -> None:
        """Exact losses between two neighbours: at some epsilons, at all for a pure claim, at many orders for rho."""
        step, profile, judged = self.example.step, self.profile, set[Any]()
        epsilons = {*EPSILONS, profile.epsilon or Fraction(1)}
        allowed, apart = {epsilon: float(profile.delta_at(epsilon)) for epsilon in epsilons}, float(profile.distance())
        for at, here, there in trials:
            fixed = None if self.example.run_at is None else self._content(at)
            try:
                parts = parts_between(step, self._content(here), self._content(there), fixed)
                one = Together(tuple(parts))
            except TooLarge:
                continue
            # Parts of the same noise and shift are the same object.
            if tuple(map(id, parts)) in judged:
                continue
            judged.add(tuple(map(id, parts)))
            for pair in (one, one.reversed()):
                losses = [(pair.delta(float(e)), most + ROUNDING, f"delta({e})") for e, most in allowed.items()]
                losses.append((pair.delta(0.0), apart + ROUNDING, "the distance"))
                if profile.is_pure and profile.epsilon is not None:
                    losses.append((pair.largest(), float(profile.epsilon) * (1 + 1e-9), "epsilon"))
                if profile.rho is not None and not profile.rho_delta:
                    losses += [(pair.renyi(a) / a, float(profile.rho) * (1 + 1e-9), "rho") for a in ORDERS]
                for lost, most, of_what in losses:
                    assert lost <= most, (
                        f"{step.name}: {of_what} is {lost:.6f} between {here} and {there} under"
                        f" {self.neighbours.relation}; the profile says {most:.6f}"
                    )

    def _compare_with_law(self, at: DataSet, data: DataSet) -> None:
        """Answers that were drawn, and answers of the law that the step states."""
        law = law_of(self.example.step, self._content(data), self._content(at) if self.example.run_at else None)
        if isinstance(law, Unlisted):
            assert law.reason and law.evidence, f"{self.example.step.name} has no exact law, and no reason or evidence"
            return
        outcomes = simulated(law, STATED, RecordedRandomness("answers of the law"))
        drawn, stated = self._drawn(at, data, DRAWS), np.array([self._row(o) for o in outcomes], dtype=np.float64)
        for p, q in ((drawn, stated), (stated, drawn)):
            certain = certain_excess(p, q, 0.0)
            assert certain <= 0, (
                f"{self.example.step.name}: answers to {data} are not drawn from the exact law that is stated;"
                f" an event has a probability that differs by at least {certain:.4f}"
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


def simulated(law: Sequence[Part], count: int, rng: RandomSource) -> list[Outcome]:
    columns = []
    for part in law:
        if isinstance(part, Branches):
            places = _picked(np.log(np.array(list(part.chances.values())) + 1e-300), count, rng)
            keys = list(part.chances)
            then = {key: iter(_values_of(part.then[key], count, rng)) for key in keys}
            return [part.outcome(keys[place], next(then[keys[place]])) for place in places.tolist()]
        columns.append(_columns(part, count, rng))
    return [Value(row) for row in np.concatenate(columns, axis=1)]


def _values_of(law: Sequence[Part], count: int, rng: RandomSource) -> NDArray[np.int64]:
    none = np.zeros((count, 0), dtype=np.int64)
    return np.concatenate([none, *(_columns(part, count, rng) for part in law)], axis=1)


def _columns(part: Part, count: int, rng: RandomSource) -> NDArray[np.int64]:
    """So many draws of one part, a row each."""
    if isinstance(part, Listed):
        return np.asarray(part.outcomes[_picked(part.logs, count, rng)])
    if isinstance(part, Mixed):
        centres, odds = np.array(list(part.centres), dtype=np.int64), np.log(np.array(list(part.centres.values())))
        return np.asarray(centres[_picked(odds, count, rng)] + _noise(part.law, count, rng))[:, None]
    assert isinstance(part, Noised)
    pairs = zip(part.numbers, part.laws, strict=True)
    columns = [np.full(count, number) if law is None else number + _noise(law, count, rng) for number, law in pairs]
    return np.array([part.shown(row) for row in np.array(columns, dtype=np.int64).reshape(-1, count).T])


def _noise(law: NoiseLaw, count: int, rng: RandomSource) -> NDArray[np.int64]:
    points, logs = listed(law, 0)
    return np.asarray(points[_picked(logs, count, rng)])


def _picked(logs: NDArray[np.float64], count: int, rng: RandomSource) -> NDArray[np.int64]:
    """Places with these log-probabilities, by the inverse distribution function."""
    upto = np.cumsum(np.exp(logs))
    uniform = np.frombuffer(rng.bytes(8 * count), dtype=np.uint64) / 2.0**64
    return np.asarray(np.minimum(np.searchsorted(upto, uniform * upto[-1], side="right"), len(logs) - 1))


def certain_excess(first: Answers, second: Answers, epsilon: float) -> float:
    """Lower bound of max over events of P(E) - exp(epsilon) Q(E), from answers drawn under P and under Q."""
    factor, parts = exp(epsilon), [len(answers) // 4 for answers in (first, second)]
    event = _best_event(first[: parts[0]], second[: parts[1]], factor)
    tried = [answers[part:] for answers, part in zip((first, second), parts, strict=True)]
    ends = [clopper_pearson(int(event(answers).sum()), len(answers), ERROR) for answers in tried]
    return ends[0][0] - factor * ends[1][1]


def clopper_pearson(successes: int, trials: int, error: float) -> tuple[float, float]:
    """One-sided lower and upper bounds of a probability, each wrong with probability at most `error`."""
    from scipy.special import betaincinv

    low = 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, error))
    high = 1.0 if successes == trials else float(betaincinv(successes + 1, trials - successes, 1 - error))
    return low, high


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
    weight = factor * len(first) / len(second)
    chosen = {row for row, count in here.items() if count > weight * there[row]}
    return lambda answers: np.array([tuple(row) in chosen for row in answers.tolist()])


def _tail_event(first: Answers, second: Answers, direction: Any, factor: float) -> Event:
    here, there = np.sort(first @ direction), np.sort(second @ direction)
    below = np.searchsorted(here, here) - factor * len(here) / len(there) * np.searchsorted(there, here)
    cut = here[int(np.argmin(below))]
    return lambda answers: answers @ direction >= cut
