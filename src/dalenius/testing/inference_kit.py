"""The kit that every inference question must pass: it declares itself, refuses a withheld law, and its answers hold.

Noise is drawn anew many times, and counts too where an answer claims to hold for sampling. Intervals hold what is
answered without either as often as they say; p-values of true hypotheses are small no more often than they say. Both
are judged at four standard errors.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.estimate import Estimate, Kind, TestResult
from dalenius.core.law import Additive, Law, Withheld
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Block, Provenance, Release, Table
from dalenius.errors import DaleniusError
from dalenius.exact.sampling import sample
from dalenius.inference.interval_table import IntervalTable
from dalenius.inference.question import Hint, InferenceQuestion
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

COUNTS = np.array([[[60, 40], [31, 44]], [[45, 33], [32, 70]]])
UNIFORM = np.full((2, 2, 2), 50)
NOISE = Additive(DiscreteLaplace(Fraction(1, 2)))
SILENCE = Additive(DiscreteLaplace(Fraction(30)))
DRAWS, SAMPLES, FEW_DRAWS = 40, 80, 16
LEVEL = 0.2
Counts = NDArray[np.int64]
Judged = Estimate | IntervalTable | TestResult


def check(question: InferenceQuestion) -> int:
    """Declaration, refusal and every example; returns how many answers were judged."""
    check_declaration(question)
    judged = 0
    for example in asked(question):
        hidden = release_of(COUNTS, Withheld("The scale follows the data."))
        assert _is_refused(question, hidden, example), f"{question.name} answers for a law that is withheld"
        judged += _check_coverage(question, example) + _check_level(question, example)
    answer = _ask(question, release_of(COUNTS, SILENCE), question.examples[0])
    assert judged or not isinstance(answer, Judged), f"{question.name} has no example that can be judged"
    return judged


def asked(question: InferenceQuestion) -> Iterator[Mapping[str, Any]]:
    """Every example, and of a question with a `kind` also for the parameter of the process."""
    for example in question.examples:
        yield example
        if "kind" not in example and any(parameter.name == "kind" for parameter in question.parameters):
            yield {**example, "kind": "parameter"}


def check_declaration(question: InferenceQuestion) -> None:
    assert question.examples, f"{question.name} states no examples"
    assert question.assumes, f"{question.name} states no assumptions"
    assert question.help.endswith("."), f"{question.name} has no line of help"
    for parameter in question.parameters:
        assert isinstance(parameter.hint, Hint) and parameter.hint.help, (question.name, parameter.name)


def release_of(counts: Any, law: Law) -> Release:
    """A release of a table over A, B and C, made by hand."""
    axes = tuple(
        Axis(variable=name, labels=tuple(f"{name.lower()}{k}" for k in range(width)))
        for name, width in zip("ABC", counts.shape, strict=True)
    )
    space, flat = CellSpace(axes), np.asarray(counts, dtype=np.int64).reshape(-1)
    variance = np.full(len(flat), law.variance if isinstance(law, Additive) else np.nan)
    table = Table(name="counts", space=space, values=flat.astype(np.float64), variance=variance)
    block = Block(name="counts", space=space, values=flat, law=law)
    provenance = Provenance(
        dataset="kit", population="kit", version="1", definition="pure", budget={}, neighbours={}, cost={},
        mechanism="", strategy="", evidence={}, software="kit", request={}, digest="0" * 64, is_tainted=True,
    )  # fmt: skip
    return Release(blocks=(block,), tables=(table,), law=law, provenance=provenance)


def _ask(question: InferenceQuestion, release: Release, example: Mapping[str, Any]) -> Any:
    """The answer about one release, or about two of the same table where a question takes several."""
    try:
        return question.answer(release, **example)
    except DaleniusError:
        other = release_of((release.blocks[0].values + 1).reshape(COUNTS.shape), release.law)
        return question.answer([release, other], **example)


def _is_refused(question: InferenceQuestion, release: Release, example: Mapping[str, Any]) -> bool:
    try:
        _ask(question, release, example)
    except DaleniusError:
        return True
    return False


def _answers(question: InferenceQuestion, example: Mapping[str, Any], tables: Sequence[Counts]) -> list[Any]:
    """Answers to the same question about tables that are seen through noise."""
    rng = RecordedRandomness("the noise of the kit")
    noisy = (counts + sample(NOISE.noise, counts.size, rng).reshape(counts.shape) for counts in tables)
    return [_ask(question, release_of(counts, NOISE), example) for counts in noisy]


def _check_coverage(question: InferenceQuestion, example: Mapping[str, Any]) -> int:
    """Whether the answer has intervals; if so, they hold what is answered without noise."""
    truth: Any = _ask(question, release_of(COUNTS, SILENCE), example)
    assert str(truth) and truth.to_dict()
    if isinstance(truth, Estimate) and truth.interval is not None:
        answers = _answers(question, example, _tables(truth.interval.kind))
        held = np.array([a.interval is not None and truth.value in a.interval for a in answers])
        level = truth.interval.confidence
    elif isinstance(truth, IntervalTable):
        answers = _answers(question, example, _tables(truth.kind))
        held = np.array([(a.lower <= truth.values) & (truth.values <= a.upper) for a in answers]).mean(axis=1)
        level = truth.confidence
    else:
        return 0
    least = level - 4 * np.sqrt(level * (1 - level) / len(answers))
    assert held.mean() >= least, (
        f"{question.name} {dict(example)} holds the truth in {held.mean():.2f} of its intervals"
    )
    return 1


def _tables(kind: Kind) -> list[Counts]:
    """The same counts again and again, or samples of a process that has them on average."""
    if kind is not Kind.NOISE_AND_SAMPLING:
        return [COUNTS] * DRAWS
    rng = np.random.default_rng(25)
    return [rng.poisson(COUNTS) for _ in range(SAMPLES)]


def _check_level(question: InferenceQuestion, example: Mapping[str, Any]) -> int:
    """Whether the answer is a test of something that holds for equal counts; if so, it rejects as seldom as it says."""
    plain: Any = _ask(question, release_of(UNIFORM, SILENCE), example)
    if not isinstance(plain, TestResult) or plain.p_value < 0.5:
        return 0
    rng = np.random.default_rng(7)
    tables = [rng.multinomial(UNIFORM.sum(), [1 / 8] * 8).reshape(2, 2, 2) for _ in range(FEW_DRAWS)]
    values = np.array([answer.p_value for answer in _answers(question, example, tables)])
    assert ((values >= 0) & (values <= 1)).all()
    most = LEVEL + 4 * np.sqrt(LEVEL * (1 - LEVEL) / FEW_DRAWS)
    rejected = (values <= LEVEL).mean()
    assert rejected <= most, f"{question.name} rejects what is true in {rejected:.2f} of the cases"
    return 1
