"""Noise with stated parameters, and perturbation tables, asked for by a request document."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from dalenius.core.law import Additive, Kernel
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Release, Value
from dalenius.core.sealed import Sealed
from dalenius.curator.curator import Curator
from dalenius.errors import DaleniusError, DocumentError, NotAllowed, TooLarge, Unsupported
from dalenius.exact import perturbation
from dalenius.inference.cells import intervals
from dalenius.measurements.hellinger import Hellinger
from dalenius.measurements.perturbation_table import PerturbationTable
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace
from dalenius.mechanisms.truncated_normal import TruncatedNormal
from dalenius.publish.to_json import from_json, write_json
from dalenius.spec.canonical import canonical
from dalenius.spec.load import load_dataset, load_request
from dalenius.spec.request import RequestDocument
from dalenius.statistics.count import Count
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of
from dalenius_lab.attackers.exhaustive import RELATIONS, ROWS, tiny_domain, worst_ratio

TWO = {"definition": "approximate", "epsilon": "1.5", "delta": "1e-2"}
TABLE = perturbation.to_text(perturbation.kernel_of(TruncatedLaplace(Fraction(1), 6), 9, floor=0))
STATED: dict[str, dict[str, Any]] = {
    "laplace with a limit": TWO | {"mechanism": "truncated_laplace", "noise": {"limit": 9}},
    "laplace with limit and rate": TWO | {"mechanism": "truncated_laplace", "noise": {"limit": 12, "rate": "1/2"}},
    "normal with a limit": TWO | {"mechanism": "truncated_normal", "noise": {"limit": 12}},
    "normal of the paper": TWO | {"mechanism": "truncated_normal", "noise": {"limit": 12, "epsilon": "1/2"}},
    "normal by variance": TWO | {"mechanism": "truncated_normal", "noise": {"limit": 16, "sigma_squared": "16"}},
    "maximum entropy": TWO | {"mechanism": "max_entropy", "noise": {"limit": 16, "variance": "20"}},
    "losses": TWO | {"delta": "0.1", "mechanism": "custom_utility", "noise": {"losses": [16, 9, 4, 1, 0, 1, 4, 9, 16]}},
    "lopsided losses": TWO
    | {"delta": "0.2", "mechanism": "custom_utility", "noise": {"losses": [7, 5, 3, 0, 1, 2, 4], "rate": "1/4"}},
    "hellinger": {"definition": "pure", "epsilon": "4", "mechanism": "hellinger", "noise": {"largest": 4}},
    "imported": {
        "definition": "approximate",
        "epsilon": "4",
        "delta": "1e-1",
        "mechanism": "perturbation_table",
        "noise": {"table": TABLE},
    },
}


def request_of(privacy: dict[str, Any], **table: Any) -> dict[str, Any]:
    return {"table": {"rows": ["g"]} | table, "privacy": privacy}


@pytest.mark.parametrize("neighbours", RELATIONS[:2], ids=["add-remove", "replace"])
@pytest.mark.parametrize("name", STATED)
def test_no_neighbour_sees_more_than_guaranteed_and_charged(name: str, neighbours: Any) -> None:
    assert 0 < worst_ratio(request_of(STATED[name]), neighbours, most=2, rows=ROWS[1:]) <= 1 + 1e-7


@pytest.mark.parametrize("name", ["laplace with a limit", "hellinger", "imported"])
def test_persons_with_two_rows_are_covered(name: str) -> None:
    larger = {key: "0.2" if key == "delta" else value for key, value in STATED[name].items()}
    assert worst_ratio(request_of(larger), RELATIONS[2], most=1, rows=ROWS[:2]) <= 1 + 1e-7


@pytest.mark.parametrize("name", ["laplace with a limit", "normal with a limit", "maximum entropy", "losses"])
def test_a_replaced_row_that_is_priced_as_an_added_one_is_found(name: str) -> None:
    right = Count.sensitivity

    def wrong(self: Count, neighbours: Neighbours) -> Any:
        return right(self, replace(neighbours, relation=Relation.ADD_REMOVE))

    with patch.object(Count, "sensitivity", wrong):
        assert worst_ratio(request_of(STATED[name]), RELATIONS[1], most=2, rows=ROWS[1:]) > 1.2


def _half(right: Callable[..., Fraction]) -> Callable[..., Fraction]:
    return lambda *args: right(*args) / 2


def test_half_the_loss_of_the_hellinger_table_is_found() -> None:
    with patch.object(Hellinger, "unit_loss", _half(Hellinger.unit_loss)):
        assert worst_ratio(request_of(STATED["hellinger"]), RELATIONS[0], most=2) > 1.5


def test_half_the_delta_of_an_imported_table_is_found() -> None:
    exact = perturbation.table_delta(perturbation.from_text(TABLE), _one_cell(), Fraction(1))
    tight = STATED["imported"] | {"epsilon": "1", "delta": str(exact * 2 / 3)}
    with pytest.raises(NotAllowed):
        plan_of(tiny_domain(RELATIONS[0]), request_of(tight))
    with patch.object(perturbation, "table_delta", _half(perturbation.table_delta)):
        assert worst_ratio(request_of(tight), RELATIONS[0], most=2) > 1.4


def _one_cell() -> Any:
    from dalenius.core.sensitivity import Sensitivity

    return Sensitivity.of_patterns(((1,),))


@pytest.mark.parametrize("name", ["hellinger", "imported"])
def test_every_uniform_number_shows_what_the_published_table_says(name: str) -> None:
    """The ends of each piece of the unit interval: what is drawn follows p(a, b) to the last integer."""
    plan = plan_of(tiny_domain(RELATIONS[0]), request_of(STATED[name]))
    step: Any = plan.measurements[0]
    law = step.law
    for a in range(len(law.rows)):
        ends = np.concatenate([[0], np.cumsum(np.array(law.rows[a], dtype=object))])
        for k, weight in enumerate(law.rows[a]):
            if weight:
                for u in (int(ends[k]), int(ends[k + 1]) - 1):
                    exact = (Sealed(np.array([a, 0, 0], dtype=np.int64)),)
                    outcome = step.run(exact, np.array([u, 0, 0], dtype=np.int64), RecordedRandomness("u"))
                    assert isinstance(outcome, Value)
                    assert outcome.values[0] == law.firsts[a] + k


def _released(privacy: dict[str, Any], folder: Path) -> Release:
    document = {"table": {"rows": ["sex"], "columns": ["status"]}, "privacy": privacy}
    with Curator.open(
        rule_kit.DATASET,
        data=rule_kit.ROWS,
        ledger=folder / "ledger.sqlite",
        policy=rule_kit.policy_of(None),
        rng=RecordedRandomness("stated noise"),
    ) as curator:
        curator.register(by="custodian")
        return curator.release(document)


@pytest.mark.parametrize("name", STATED)
def test_a_release_carries_the_stated_law_and_reads_back(name: str, tmp_path: Path) -> None:
    release = _released(STATED[name], tmp_path)
    assert release.provenance.mechanism == STATED[name]["mechanism"]
    back = from_json(write_json(release))
    assert back.law == release.law
    assert release.provenance.request["noise"]
    kernel = release.law
    if isinstance(kernel, Kernel) and kernel.is_clamped:
        assert all(np.isnan(end).all() for end in (release.interval()[0][0], release.table.variance[:2]))
        with pytest.raises(Unsupported):
            intervals(release)
        return
    lower, upper = release.interval()
    table = intervals(release)
    assert np.array_equal(table.lower.reshape(lower.shape), lower)
    assert (lower <= upper).all()


def test_stated_parameters_are_the_ones_that_are_used() -> None:
    domain = tiny_domain(RELATIONS[0])
    laws = {name: plan_of(domain, request_of(privacy)).law for name, privacy in STATED.items()}
    assert laws["laplace with limit and rate"] == Additive(TruncatedLaplace(Fraction(1, 2), 12))
    assert laws["normal of the paper"] == Additive(TruncatedNormal.of_paper("1/2", 12))
    assert laws["normal by variance"] == Additive(TruncatedNormal.of_variance(16, 16))
    free = laws["laplace with a limit"]
    assert isinstance(free, Additive)
    assert free.noise.support == (-9, 9)
    assert Fraction(free.noise.parameters["rate"]) >= Fraction(3, 2)


def test_a_table_in_a_file_is_the_same_request_as_its_text(tmp_path: Path) -> None:
    (tmp_path / "ptable.csv").write_text(TABLE)
    (tmp_path / "request.toml").write_text(
        '[table]\nrows = ["g"]\n[privacy]\ndefinition = "approximate"\nepsilon = 4\ndelta = 0.1\n'
        'mechanism = "perturbation_table"\n[privacy.noise]\ntable_file = "ptable.csv"\n'
    )
    domain = tiny_domain(RELATIONS[0])
    from_file = load_request(tmp_path / "request.toml")
    from_text = RequestDocument.from_dict(request_of(STATED["imported"]))
    assert canonical(from_file, domain).digest == canonical(from_text, domain).digest


def test_text_that_somebody_sent_names_no_file_of_ours(tmp_path: Path) -> None:
    (tmp_path / "ptable.csv").write_text(TABLE)
    sent = request_of(STATED["imported"] | {"noise": {"table_file": str(tmp_path / "ptable.csv")}})
    with pytest.raises(DocumentError, match="table_file"):
        load_request(sent)


def test_another_table_is_another_request() -> None:
    domain = tiny_domain(RELATIONS[0])
    other = perturbation.to_text(perturbation.kernel_of(TruncatedLaplace(Fraction(1), 7), 9, floor=0))
    first, second = (
        canonical(RequestDocument.from_dict(request_of(STATED["imported"] | {"noise": {"table": text}})), domain).digest
        for text in (TABLE, other)
    )
    assert first != second


@pytest.mark.parametrize(
    ("privacy", "table", "words"),
    [
        (STATED["hellinger"] | {"noise": {}}, {}, "is described in"),
        (STATED["hellinger"], {"margins": "all"}, "plain table of counts"),
        (STATED["hellinger"] | {"noise": {"largest": 4000}}, {}, "entries"),
        (STATED["hellinger"] | {"noise": {"largest": 0}}, {}, "at least 1"),
        (TWO | {"noise": {"limit": 9}}, {}, "does not name"),
        (TWO | {"mechanism": "discrete_laplace", "noise": {"limit": 9}}, {}, "takes no parameters"),
        (TWO | {"mechanism": "truncated_laplace", "noise": {"limits": 9}}, {}, "limit"),
        (TWO | {"mechanism": "truncated_laplace", "noise": {"limit": 1}}, {}, "wider range"),
        (TWO | {"mechanism": "truncated_laplace", "noise": {"limit": 9, "rate": 3}}, {}, "does not fit"),
        (TWO | {"mechanism": "truncated_normal", "noise": {"limit": 9, "epsilon": 1, "sigma_squared": 1}}, {}, "or"),
        (TWO | {"mechanism": "custom_utility", "noise": {"losses": [1, 0]}}, {}, "odd number"),
        (STATED["imported"] | {"noise": {"table": "a,b\n"}}, {}, "columns i, j and p"),
        (STATED["imported"] | {"noise": {"table": "i,j,p\n0,0,2\n"}}, {}, "probability distribution"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_before_anything_is_spent(
    privacy: dict[str, Any], table: dict[str, Any], words: str
) -> None:
    with pytest.raises(DaleniusError, match=words):
        plan_of(tiny_domain(RELATIONS[0]), request_of(privacy, **table))


def test_a_long_table_is_refused_by_its_length() -> None:
    rows = "".join(f"{i},{j},{1 / 200}\n" for i in range(150) for j in range(i, i + 200))
    with pytest.raises(TooLarge):
        plan_of(tiny_domain(RELATIONS[0]), request_of(STATED["imported"] | {"noise": {"table": "i,j,p\n" + rows}}))


def test_the_policys_own_noise_is_not_replaced() -> None:
    with pytest.raises(Unsupported):
        plan_of(tiny_domain(RELATIONS[0]), request_of(STATED["imported"]), {"table": {"truncation": 40}})


def test_a_request_without_parameters_has_the_form_that_it_had() -> None:
    domain = load_dataset(rule_kit.DATASET).domain()
    plain = {"table": {"rows": ["sex"]}, "privacy": TWO | {"mechanism": "truncated_laplace"}}
    assert "noise" not in canonical(RequestDocument.from_dict(plain), domain).content


def test_intervals_of_a_perturbation_table_cover() -> None:
    """For every count up to twenty the probability that its interval holds it is at least the level."""
    kernel = perturbation.from_text(TABLE)
    for confidence in (0.8, 0.95):
        points = np.arange(-10, 40, dtype=np.float64)
        lower, upper = kernel.ends(points, confidence)
        for a in range(21):
            held = (lower <= a) & (a <= upper)
            assert float((kernel.pmf(a, points.astype(np.int64)) * held).sum()) >= confidence - 1e-12


def test_intervals_beyond_a_perturbation_table_are_those_of_its_last_row_however_large_the_count() -> None:
    kernel = perturbation.from_text(TABLE)
    near, far = (np.concatenate(kernel.ends(np.array([float(value)]), 0.95)) - value for value in (10**3, 10**12))
    assert near.tolist() == far.tolist()
    assert near[0] < 0 < near[1]


def test_the_error_of_a_perturbation_table_is_its_worst_row() -> None:
    kernel = Kernel("two rows", (0, 0), ((3, 1), (1, 2, 1)), 4)
    assert kernel.variance == 0.5
    assert kernel.half_width(0.95) == 1
    assert not kernel.is_unbiased
    assert Kernel("triangle", (-1,), ((1, 2, 1),), 4).is_unbiased
    assert PerturbationTable.Parameters is not Hellinger.Parameters
