"""Individual-privacy paper: printed numbers, tight constants, and what the clamp gives away."""

import pytest

from dalenius_lab.reproductions import idp, items


def test_table1():
    rows = idp.table1()
    assert [r.paper for r in rows] == [3.0, 101.7, 34.2]
    assert [r.ours for r in rows] == pytest.approx([2.9957, 101.6496, 34.2179], abs=1e-3)
    assert rows[1].corrected == pytest.approx(12.19, abs=0.01)
    assert rows[2].corrected < rows[2].ours / 2
    assert [r.verdict for r in rows] == ["rounding", "misprint", "rounding"]


def test_table2():
    rows = idp.table2()
    assert len(rows) == 10
    assert all(r.verdict in ("equal", "rounding") for r in rows)


def test_figures():
    assert sum(idp.error_law(1.0, is_clamped=True).values()) == pytest.approx(1)
    assert sum(idp.error_law(1.0, is_clamped=False).values()) == pytest.approx(1, abs=0.003)
    assert len(items.run("idp.figure1")) == 18
    assert len(items.run("idp.figure2")) == 16


def test_admissible_noise():
    """Private but loose for small gamma, not private from 9 on; the corrected constants never exceed epsilon."""
    rows = {r.name: r for r in idp.admissible()}
    expected = {2: 0.51, 3: 0.70, 4: 0.81, 6: 0.93, 8: 0.996, 9: 1.019, 10: 1.04, 20: 1.13}
    for gamma, value in expected.items():
        found = rows[f"loss, gamma = {gamma}"]
        assert found.ours == pytest.approx(value, abs=0.01)
        assert found.corrected <= 1 + 1e-9
        assert (found.verdict == "corrected") == (gamma >= 9)


def test_figures_can_be_drawn(tmp_path):
    for name in idp.PLOTS:
        assert idp.PLOTS[name](tmp_path, False).stat().st_size > 5000
