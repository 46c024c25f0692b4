"""Each kit fails on a planted fault: a kit that passes everything proves nothing."""

from copy import copy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalenius.core import registry
from dalenius.core.estimate import Estimate, Interval, Kind, TestResult
from dalenius.core.integer_law import Unlisted
from dalenius.core.neighbours import Neighbours
from dalenius.core.sealed import Sealed
from dalenius.core.sensitivity import Sensitivity
from dalenius.definitions.pure import Pure
from dalenius.engines.memory import MemorySource
from dalenius.errors import DaleniusError, InternalError
from dalenius.inference.observe import observe
from dalenius.measurements.clipped_totals import ClippedTotals
from dalenius.measurements.grid_selection import GridSelection
from dalenius.measurements.keyed_list import KeyedList
from dalenius.measurements.local_laplace import LocalLaplace
from dalenius.measurements.noisy import Noisy
from dalenius.measurements.permute_and_flip import PermuteAndFlip
from dalenius.measurements.residual import Residual
from dalenius.measurements.sampled_count import SampledCount
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.methods.count import COUNT
from dalenius.methods.median import MEDIAN
from dalenius.plans.margins.strategies.equal import EqualStrategy
from dalenius.postprocess.clamping import Clamping
from dalenius.spec.document import Part
from dalenius.spec.question import Question
from dalenius.statistics.count import Count
from dalenius.statistics.magnitude_table import MagnitudeTable
from dalenius.statistics.quantile import Quantile
from dalenius.testing import (
    adjustment_kit,
    definition_kit,
    engine_kit,
    format_kit,
    inference_kit,
    measurement_kit,
    mechanism_kit,
    method_kit,
    statistic_kit,
    strategy_kit,
)
from dalenius_lab.planting import Fault, stated_as, with_neighbours


def right_norms_alone(right: Any) -> Any:
    """Misses the moves of one cell by two rows."""

    def wrong(self: Any, neighbours: Neighbours) -> Sensitivity:
        stated: Sensitivity = right(self, neighbours)
        return replace(stated, patterns=tuple(p for p in stated.patterns or () if max(p) == 1))

    return wrong


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (
            Fault(
                "totals have the sensitivity of counts",
                MagnitudeTable,
                "sensitivity",
                lambda _: lambda self, near: Count(self.query).sensitivity(near),
            ),
            r"MagnitudeTable\(.*Sensitivity",
        ),
        (Fault("a person has one row", Count, "sensitivity", with_neighbours(max_rows=1)), r"Count\(.*max_rows=2"),
        (Fault("patterns are missing", Count, "sensitivity", right_norms_alone), r"\(2,\), Sensitivity"),
        (
            Fault(
                "at the data a step too small",
                Quantile,
                "local",
                lambda right: lambda self, *a: max(right(self, *a) - 1, 0),
            ),
            r"Quantile\(.*'local'",
        ),
        (Fault("no examples", Count, "examples", lambda _: staticmethod(tuple)), "states no examples"),
    ],
    ids=str,
)
def test_the_kit_of_statistics_catches(fault: Fault, reason: str) -> None:
    with fault.planted(), pytest.raises(AssertionError, match=reason):
        statistic_kit.check(fault.where)


half = stated_as(Fraction(1, 2))


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault("half of the loss of added noise", Noisy, "profile", half), "the profile says"),
        (Fault("half of the loss of a selection", GridSelection, "profile", half), "the profile says"),
        (Fault("half of the loss of several numbers", Residual, "profile", half), "the profile says"),
        (Fault("a person has one row", ClippedTotals, "profile", with_neighbours(max_rows=1)), "the profile says"),
        (
            Fault("noise of the floor", LocalLaplace, "sensitivity", lambda _: lambda self, values: 0),
            "the profile says",
        ),
        (Fault("no examples", KeyedList, "examples", lambda _: classmethod(lambda cls, near: ())), "serves no example"),
        (Fault("no exact law", Noisy, "exact_law", lambda _: None), "Noisy states no exact_law"),
        (
            Fault(
                "a law that is flatter than what is drawn",
                GridSelection,
                "exact_law",
                lambda right: (
                    lambda self, content: right(
                        replace(self, epsilons=(self.epsilons[0] / 2, *self.epsilons[1:])), content
                    )
                ),
            ),
            "not drawn from the exact law",
        ),
        (
            Fault(
                "a law with less noise than is drawn",
                SampledCount,
                "exact_law",
                lambda right: (
                    lambda self, content: right(replace(self, mechanism=DiscreteLaplace(Fraction(5))), content)
                ),
            ),
            "not drawn from the exact law",
        ),
        (
            Fault(
                "no law, and no reason",
                GridSelection,
                "exact_law",
                lambda right: lambda self, content: Unlisted("", "", right(self, content)),
            ),
            "no reason or evidence",
        ),
    ],
    ids=str,
)
def test_the_kit_of_measurements_catches(fault: Fault, reason: str) -> None:
    with fault.planted(), pytest.raises(AssertionError, match=reason):
        measurement_kit.check(fault.where)


def test_the_kit_of_measurements_catches_a_law_of_other_numbers() -> None:
    """A law that says noise is added to nothing."""

    def wrong(right: Any) -> Any:
        return lambda self, content: [replace(part, numbers=[0] * len(part.numbers)) for part in right(self, content)]

    fault = Fault("other numbers", Noisy, "exact_law", wrong)
    with fault.planted(), pytest.raises((AssertionError, InternalError), match="exact law"):
        measurement_kit.check(Noisy)


def test_the_kit_of_measurements_catches_a_content_without_an_answer() -> None:
    """A step that divides by the number of rows fails on an empty file, which tells that it is empty."""

    def divided(right: Any) -> Any:
        def run(self: Any, exact: Any, drawn: Any, rng: Any) -> Any:
            Fraction(1, int(exact[0].open_below_the_gate().sum()))
            return right(self, exact, drawn, rng)

        return run

    with Fault("speechless", PermuteAndFlip, "run", divided).planted(), pytest.raises(ZeroDivisionError):
        measurement_kit.check(PermuteAndFlip)


def german(**words: str) -> Any:
    """A method whose German words were changed."""
    return replace(COUNT, words={**COUNT.words, "de": replace(COUNT.words["de"], **words)})


@pytest.mark.parametrize(
    ("plant", "reason"),
    [
        (replace(COUNT, words={"en": COUNT.words["en"]}), "no words in 'de'"),
        (german(title=""), "no title in 'de'"),
        (german(title=COUNT.words["en"].title), "title is not translated"),
        (german(preview="Ungefähr."), "preview of count differs"),
    ],
)
def test_the_kit_of_methods_catches_missing_words(plant: Any, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        method_kit.check_words(plant)


class Coloured(Part):
    """A key that no plan reads."""

    colour: str | None = None


def test_the_kit_of_methods_catches_an_ignored_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(COUNT, "Parameters", Coloured)
    example = {"table": {"rows": ["sex"], "colour": "red"}, "privacy": {"definition": "pure", "epsilon": 1}}
    with pytest.raises(DaleniusError, match="'colour'"):
        method_kit.check_refusals(COUNT, example)


def test_the_kit_of_methods_catches_a_key_that_everybody_may_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method that takes keys which mean nothing."""
    monkeypatch.setattr(Question, "unread", lambda question: [])
    monkeypatch.setattr(
        COUNT, "Parameters", type("Loose", (Part,), {"__annotations__": {"no_such_key": int}, "no_such_key": 0})
    )
    with pytest.raises(AssertionError, match="count plans"):
        method_kit.check_refusals(COUNT, COUNT.examples[0])


def test_the_kit_of_methods_catches_an_error_that_is_not_shown(tmp_path: Path) -> None:
    """A median that is selected alone has no published error; a method that claims one shows values without it."""
    claiming = copy(MEDIAN)
    claiming.without_error = ()
    example = MEDIAN.examples[4]
    release = method_kit.released(example, tmp_path / "ledger.sqlite")
    method_kit.check_release(MEDIAN, example, release)
    with pytest.raises(AssertionError, match="without an error"):
        method_kit.check_release(claiming, example, release)


def test_the_kit_of_methods_catches_a_missing_page(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="has no page"):
        method_kit.check_page(COUNT, tmp_path)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_the_kit_of_strategies_catches_a_wrong_variance(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too small a variance is a lie, too large a one is waste."""
    right = EqualStrategy.option

    def wrong(setting: Any, allotment: Any) -> Any:
        option = right(setting, allotment)
        components = {a: v * factor for a, v in option.law.components.items()}
        return replace(option, law=replace(option.law, components=components))

    monkeypatch.setattr(EqualStrategy, "option", staticmethod(wrong))
    with pytest.raises(AssertionError, match="least squares gives"):
        strategy_kit.check("equal")


class OneTooMany(MemorySource):
    """An engine that counts one row twice."""

    def table(self, query: Any) -> Any:
        """Off by one in the last cell."""
        exact = super().table(query).open_below_the_gate().copy()
        exact[-1] += 1
        return Sealed(exact)


class HalvedRows(MemorySource):
    """An engine that halves what each row adds, and then sums."""

    def table(self, query: Any) -> Any:
        """Exact where nothing is halved."""
        self._halvings = query.halvings
        return super().table(replace(query, halvings=0))

    def _share(self, query: Any, row: Any) -> int | None:
        share = super()._share(query, row)
        return None if share is None else (share + 2**self._halvings // 2) >> self._halvings


class TowardsZero(MemorySource):
    """An engine that halves as a processor divides: towards zero."""

    def table(self, query: Any) -> Any:
        """Right for sums that are not negative."""
        exact = super().table(replace(query, halvings=0)).open_below_the_gate()
        about = exact + 2**query.halvings // 2
        return Sealed(np.sign(about) * (np.abs(about) >> query.halvings))


class OneTooFew(MemorySource):
    """An engine that loses the last value of a list."""

    def values(self, query: Any) -> Any:
        """Off by one at the end."""
        return Sealed(super().values(query).open_below_the_gate()[:-1])


class Constant(MemorySource):
    """An engine that does not notice changed content."""

    def fingerprint(self, key: bytes) -> str:
        """A function of the key alone."""
        return key.hex()


def test_the_kit_of_engines_passes_the_reference(tmp_path: Path) -> None:
    engine_kit.check(engine_kit.factory_of(MemorySource, tmp_path))


@pytest.mark.parametrize(
    ("plant", "reason"),
    [
        (OneTooMany, "Arrays are not equal.*1 / 1 "),
        (HalvedRows, "Arrays are not equal"),
        (TowardsZero, "Arrays are not equal"),
        (OneTooFew, "shapes .* mismatch"),
        (Constant, "the same fingerprint"),
    ],
)
def test_the_kit_of_engines_catches(plant: Any, reason: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=f"(?s){reason}"):
        engine_kit.check(engine_kit.factory_of(plant, tmp_path))


def test_the_kit_of_engines_catches_one_that_accepts_nothing(tmp_path: Path) -> None:
    closed = type("Closed", (MemorySource,), {"accepts": classmethod(lambda cls, data: False)})
    with pytest.raises(AssertionError, match="accepts neither"):
        engine_kit.factory_of(closed, tmp_path)


class UnbiasedClamping(Clamping):
    """Values cut at zero that still call themselves unbiased."""

    def __call__(self, release: Any) -> Any:
        """The bias is hidden."""
        adjusted = super().__call__(release)
        return adjusted.with_(tables=tuple(replace(table, is_unbiased=True) for table in adjusted.tables))


class SilentClamping(Clamping):
    """Values cut at zero without a word."""

    def __call__(self, release: Any) -> Any:
        """The record is left out."""
        return super().__call__(release).with_(adjustments=release.adjustments)


class RemeasuredClamping(Clamping):
    """Measured values are cut, too."""

    def __call__(self, release: Any) -> Any:
        """What was measured is lost."""
        return super().__call__(release).with_(blocks=())


@pytest.mark.parametrize(
    ("plant", "reason"),
    [
        (UnbiasedClamping, "unbiased; its mean error"),
        (SilentClamping, "is not recorded"),
        (RemeasuredClamping, "changed what was measured"),
    ],
)
def test_the_kit_of_adjustments_catches(plant: type, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        adjustment_kit.check(plant)


def _noise_free(release: Any, confidence: Any = 0.95) -> Estimate:
    """The first cell with the interval of a count without noise."""
    value = float(release.table.values[0])
    interval = Interval(lower=value, upper=value, confidence=0.95, kind=Kind.NOISE)
    return Estimate(name="first cell", value=value, std_error=0.0, interval=interval)


def _sure(release: Any) -> TestResult:
    """A test that always rejects but for equal counts."""
    values = release.table.values
    is_equal = bool((values == values[0]).all())
    return TestResult(name="sure", statistic=0.0, p_value=1.0 if is_equal else 0.0, method="none")


@pytest.mark.parametrize(
    ("plant", "reason"),
    [
        ({"ask": _noise_free}, "law that is withheld"),
        ({"ask": lambda release: observed(release) and _noise_free(release)}, "holds the truth"),
        ({"ask": lambda release: observed(release) and _sure(release)}, "rejects what is true"),
        ({"examples": ()}, "states no examples"),
        ({"assumes": ()}, "states no assumptions"),
    ],
)
def test_the_kit_of_inference_catches(plant: Any, reason: str) -> None:
    question = registry.get("inference.questions", "total")
    ask = plant.get("ask", question.ask)
    if "ask" in plant:
        ask = _documented(ask)
        plant = plant | {"ask": ask, "examples": ({},)}
    with pytest.raises(AssertionError, match=reason):
        inference_kit.check(replace(question, **plant))


def _halved(interval: Interval, value: float) -> Interval:
    """Both sides cut to half."""
    return replace(interval, lower=(interval.lower + value) / 2, upper=(interval.upper + value) / 2)


@pytest.mark.parametrize("name", ["difference", "odds_ratio", "proportion", "rate", "ratio", "total"])
def test_the_kit_of_inference_catches_an_interval_with_sampling_cut_to_half(name: str) -> None:
    question = registry.get("inference.questions", name)

    def asked(release: Any, **parameters: Any) -> Estimate:
        """The answer, with half of the interval where it is for sampling."""
        answer: Estimate = question.answer(release, **parameters)
        assert answer.interval is not None
        is_whole = answer.interval.kind is not Kind.NOISE_AND_SAMPLING
        return answer if is_whole else replace(answer, interval=_halved(answer.interval, answer.value))

    with pytest.raises(AssertionError, match="holds the truth"):
        inference_kit.check(_Asked(question, asked))


def test_the_kit_of_inference_catches_a_table_of_intervals_with_sampling_cut_to_half() -> None:
    question = registry.get("inference.questions", "interval")

    def asked(release: Any, **parameters: Any) -> Any:
        """The table, with half of each interval where they are for sampling."""
        answer = question.answer(release, **parameters)
        if answer.kind is not Kind.NOISE_AND_SAMPLING:
            return answer
        halves = {end: (getattr(answer, end) + answer.values) / 2 for end in ("lower", "upper")}
        return replace(answer, **halves)

    with pytest.raises(AssertionError, match=r"'parameter'.* holds the truth"):
        inference_kit.check(_Asked(question, asked))


class _Asked:
    """A question that is answered by another function."""

    def __init__(self, question: Any, answer: Any) -> None:
        self.question, self.answer = question, answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.question, name)


def _documented(ask: Any) -> Any:
    def asked(release: Any) -> Any:
        """A planted question."""
        return ask(release)

    return asked


def observed(release: Any) -> bool:
    """True, but for a law that is withheld, which is refused."""
    return observe(release) is not None


@pytest.mark.parametrize(
    ("plant", "reason"),
    [
        ({"write": lambda release, *table: ""}, "writes nothing"),
        ({"write": lambda release, *table: "value\n1\n"}, "leaves out"),
        ({"suffixes": ("csv",)}, "ending"),
        ({"media_type": "text"}, "media type"),
        ({"read": lambda content: None}, "does not read back"),
    ],
)
def test_the_kit_of_formats_catches(plant: Any, reason: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=reason):
        format_kit.check(replace(registry.get("publish", "to_csv"), **plant), tmp_path)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault("half of the loss", DiscreteLaplace, "profile", half), "claims .* at|divergence"),
        (
            Fault(
                "a law with more noise than is drawn",
                DiscreteLaplace,
                "log_pmf",
                lambda right: lambda self, k: right(DiscreteLaplace(self.rate / 2), k),
            ),
            "log_pmf",
        ),
        (
            Fault(
                "a variance of another rate",
                DiscreteLaplace,
                "variance",
                lambda right: property(lambda self: right.fget(self) / 2),
            ),
            "variance of",
        ),
        (
            Fault(
                "a family that is out of order",
                DiscreteLaplace,
                "family",
                lambda _: classmethod(lambda cls, size, budget: cls(rate=size / 8 if size == Fraction(1, 2) else size)),
            ),
            "falls along its family",
        ),
    ],
    ids=str,
)
def test_the_kit_of_mechanisms_catches(fault: Fault, reason: str) -> None:
    with fault.planted(), pytest.raises(AssertionError, match=reason):
        mechanism_kit.check(DiscreteLaplace)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (
            Fault("only the first step is judged", Pure, "fits", lambda right: lambda s, p, b: right(s, p[:1], b)),
            "mixes relations",
        ),
        (
            Fault("only the last step costs", Pure, "cost", lambda right: lambda s, p: right(s, p[-1:])),
            "charges by the order",
        ),
        (Fault("no guarantee in words", Pure, "sentence", lambda _: lambda s, b: "Safe."), "states no guarantee"),
    ],
    ids=str,
)
def test_the_kit_of_definitions_catches(fault: Fault, reason: str) -> None:
    with fault.planted(), pytest.raises(AssertionError, match=reason):
        definition_kit.check(Pure)
