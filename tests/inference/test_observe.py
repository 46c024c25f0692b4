"""What may be analysed: the right values under the right law, or a refusal that says why."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius.core import registry
from dalenius.core.law import Additive, Kernel, Withheld
from dalenius.errors import ParameterError, UnknownName, Unsupported
from dalenius.inference import difference, from_values, independence, intervals, observe, proportion, rate, ratio, total
from dalenius.inference.channel import Kernelled, Shifted
from dalenius.inference.noise import Noise

TABLE = np.arange(24).reshape(2, 3, 4) * 10


def test_a_table_its_margins_and_their_order(laplace, make_release) -> None:
    release = make_release(TABLE, laplace("1"))
    whole = observe(release)
    assert whole.names == ("A", "B", "C") and np.array_equal(whole.values, TABLE)
    margin = observe(release, "C", "A")
    assert margin.names == ("C", "A") and np.array_equal(margin.values, TABLE.sum(1).T)
    assert isinstance(margin.channel, Shifted)
    assert margin.channel.noise.variance == pytest.approx(3 * laplace("1").variance)
    grand = observe(make_release([5, 6], laplace("1")), "A")
    assert grand.shape == (2,)


def test_clipped_tables_are_read_from_the_measured_block(laplace, make_release) -> None:
    measured = np.array([[-3, 4], [7, 9]])
    clipped = make_release(
        measured, laplace("1"), shown=np.maximum(measured, 0), adjustments=({"name": "nonnegative"},)
    )
    seen = observe(clipped)
    assert seen.values[0, 0] == -3
    assert "nonnegative" in seen.notes[0] and "measured values" in seen.notes[0]
    assert any("nonnegative" in a for a in independence(clipped, replicates=19).assumptions)


def test_withheld_laws_are_refused_everywhere(make_release) -> None:
    release = make_release([[1, 2], [3, 4]], Withheld("the scale depends on the data"))
    for analysis in (observe, intervals, independence):
        with pytest.raises(Unsupported, match="withheld"):
            analysis(release)


def test_totals_have_population_intervals_only(make_release) -> None:
    law = Additive(registry.get("mechanisms", "discrete_laplace")(rate=Fraction(1)), Fraction(1, 2))
    release = make_release([10, -4], law, measure="total")
    found = intervals(release)
    assert found["a0"].lower == pytest.approx(3.5) and found["a0"].upper == pytest.approx(6.5)
    assert found["a1"].lower == pytest.approx(-3.5)
    with pytest.raises(Unsupported, match="error of sampling was not measured"):
        intervals(release, kind="parameter")
    with pytest.raises(Unsupported, match="counts"):
        independence(release)


def test_kernels_are_analysed_whole(make_release) -> None:
    kernel = Kernel(name="toy", firsts=(0, 0, 1), rows=((3, 1), (1, 2, 1), (1, 2, 1)), scale=4)
    release = make_release([[20, 31], [28, 22]], kernel)
    assert isinstance(observe(release).channel, Kernelled)
    assert independence(release, replicates=99).p_value < 0.2
    found = intervals(release, confidence=0.9)
    assert (found["a0", "b0"].lower, found["a0", "b0"].upper) == (19, 21)
    with pytest.raises(Unsupported, match="margin"):
        observe(release, "A")
    with pytest.raises(Unsupported):
        intervals(release, kind="parameter")


def test_structural_zeros(laplace, make_release) -> None:
    release = make_release([[0, 5], [6, 7]], laplace("1"), zeros=frozenset({(0, 0)}))
    seen = observe(release)
    assert not seen.possible[0, 0] and seen.variance(np.ones((2, 2)))[0, 0] == 0
    assert intervals(release)["a0", "b0"].upper == 0


def test_margins_around_structural_zeros_have_their_own_noise(laplace, make_release) -> None:
    table = np.array([[[0, 0], [5, 9]], [[6, 8], [7, 3]], [[4, 12], [20, 9]]])
    release = make_release(table, laplace("1"), zeros=frozenset({(0, 0, 0), (0, 0, 1), (1, 0, 0)}))
    seen = observe(release, "C", "A")
    assert seen.released.tolist() == table.sum(1).T.tolist()
    one = laplace("1").variance
    assert seen.variance(np.ones((2, 3))) == pytest.approx(one * np.array([[1, 1, 2], [1, 2, 2]]))
    cells = intervals(release, "C", "A")
    assert cells["c0", "a0"].width < cells["c0", "a2"].upper - cells["c0", "a2"].lower
    assert intervals(release, "C", "A", kind="parameter")["c1", "a2"].lower > 5
    # The same answer as from the cells themselves.
    both = total(seen, {"A": "a2"})
    assert both.interval == total(release, {"A": "a2"}).interval
    test = independence(release, "C", "A", replicates=199)
    assert test.degrees_of_freedom == 2
    drawn = seen.simulate(np.full((2, 3), 50.0), 4000, np.random.default_rng(1))
    spread = (drawn[..., 0] - 50).var(0)
    assert spread == pytest.approx(50 + seen.variance(np.ones((2, 3))), rel=0.12)
    gone = observe(release, "A", "B")
    assert not gone.possible[0, 0] and gone.released[0, 0] == 0
    assert independence(release, "A", "B", replicates=19).details["fitted"][0, 0] == 0
    with pytest.raises(Unsupported, match="not combined"):
        observe([release, release.with_()], "C", "A")


def test_names(laplace, make_release) -> None:
    release = make_release(TABLE, laplace("1"))
    with pytest.raises(UnknownName):
        observe(release, "Z")
    with pytest.raises(ParameterError, match="fractions"):
        from_values([1.5, 2.0], laplace("1"))
    with pytest.raises(ParameterError, match="names"):
        from_values([1, 2], laplace("1"), axes=["A", "B"])
    assert from_values([1.0, 2.0], laplace("1")).values.dtype == np.int64


def test_interval_tables(laplace, make_release, tmp_path) -> None:
    release = make_release([[3, 40], [0, 12]], laplace("1"))
    one, every = intervals(release), intervals(release, is_simultaneous=True)
    assert (one["a0", "b1"].lower, one["a0", "b1"].upper) == (37, 43)
    assert every["a0", "b1"].width > one["a0", "b1"].width
    model = intervals(release, kind="parameter")
    assert model.kind != one.kind and model["a0", "b1"].width > one["a0", "b1"].width
    assert "privacy noise only" in str(one) and "noise and sampling" in str(model)
    assert len(one.to_dict()["cells"]) == 4
    one.plot(tmp_path / "cells.png")
    assert (tmp_path / "cells.png").exists()
    with pytest.raises(ParameterError):
        intervals(release, kind="truth")
    with pytest.raises(ParameterError):
        one["a9", "b0"]


def test_sums_differences_and_rates(laplace, make_release) -> None:
    release = make_release(TABLE, laplace("1"))
    found = total(release, {"A": "a0", "B": ["b0", "b1"]})
    assert found.value == TABLE[0, :2].sum()
    noise = Noise.of(laplace("1")).times(8)
    assert found.interval is not None and found.interval.width == 2 * noise.half_width(0.95)
    assert found.std_error == pytest.approx(np.sqrt(noise.variance))
    gap = difference(release, {"A": "a0"}, {"A": "a1", "B": "b0"})
    assert gap.value == TABLE[0].sum() - TABLE[1, 0].sum()
    assert gap.std_error == pytest.approx(np.sqrt(16 * laplace("1").variance))
    # Common cells cancel, noise included.
    same = difference(release, {"A": "a0"}, {"A": "a0"})
    assert same.value == 0 and same.std_error == 0
    assert same.interval is not None and same.interval.width == 0
    per = rate(release, {"A": "a0"}, 1000.0)
    assert per.value == pytest.approx(TABLE[0].sum() / 1000)
    assert per.interval is not None and "sampling" in per.interval.kind
    with pytest.raises(ParameterError):
        rate(release, {"A": "a0"}, 0)
    with pytest.raises(UnknownName):
        total(release, {"A": "a7"})


@pytest.mark.statistical
def test_ratios_and_proportions_cover(laplace) -> None:
    """By enumeration of the noise of two cells: population intervals of ratios cover at least 95 %."""
    noise = Noise.of(laplace("1", 6))
    truth = np.array([12, 30])
    inside = {"ratio": 0.0, "share": 0.0}
    for i, p in zip(noise.points, noise.pmf, strict=True):
        for j, q in zip(noise.points, noise.pmf, strict=True):
            seen = from_values(truth + np.array([i, j]), noise)
            found = ratio(seen, {"A": "1"}, {"A": "2"})
            share = proportion(seen, {"A": "1"})
            assert found.interval is not None and share.interval is not None
            inside["ratio"] += p * q * (found.interval.lower - 1e-9 <= 0.4 <= found.interval.upper + 1e-9)
            inside["share"] += p * q * (share.interval.lower - 1e-9 <= 12 / 42 <= share.interval.upper + 1e-9)
    assert 0.95 <= inside["ratio"] <= 0.985
    assert 0.95 <= inside["share"] <= 0.985


def test_ratio_edges(laplace) -> None:
    seen = from_values([[10, 0], [200, 3]], laplace("1"))
    open_end = ratio(seen, {"A": "1", "B": "1"}, {"A": "1", "B": "2"})
    assert open_end.interval is not None and open_end.interval.upper == float("inf")
    share = proportion(seen, {"A": "1"}, kind="parameter")
    assert share.interval is not None and 10 / 213 in share.interval
    with pytest.raises(ParameterError, match="inside"):
        proportion(seen, {"A": "1"}, {"B": "1"})
    with pytest.raises(ParameterError):
        ratio(seen, {"A": "1"}, {"A": "1"}, kind="both")


def test_intervals_of_totals_are_summed_over_the_axes_left_out(laplace, make_release) -> None:
    values = np.arange(24).reshape(2, 3, 4)
    law = laplace("1")
    release = make_release(values, law, zeros=frozenset({(0, 0, 0)}), measure="total")
    whole = intervals(release)
    assert len(whole) == 24 and whole.structural_zeros == {0} and whole.upper[0] == 0
    swapped = intervals(release, "C", "A")
    assert [axis.name for axis in swapped.axes] == ["C", "A"]
    assert swapped.values == pytest.approx(values.sum(1).T.reshape(-1))
    reach = swapped.upper - swapped.values
    assert reach[0] == Noise.of(law).times(2).half_width(0.95)
    assert set(reach[1:]) == {Noise.of(law).times(3).half_width(0.95)}
    three = intervals(release, "B", "C", "A")
    assert three.values == pytest.approx(values.transpose(1, 2, 0).reshape(-1))
