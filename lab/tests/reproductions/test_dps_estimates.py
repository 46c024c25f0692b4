"""Differential privacy for statistics: what its methods give beside what it claims."""

from dalenius_lab.reproductions.items import run


def test_the_predicted_number_of_blocks_is_better_and_projection_is_needed() -> None:
    *rows, lemma = run("dps.algorithm1")
    for row in rows:
        assert isinstance(row.ours, float) and isinstance(row.corrected, float)
        assert row.corrected < row.ours
    assert isinstance(lemma.ours, float) and lemma.ours > 200 and lemma.corrected == 1


def test_a_reply_after_a_test_is_farther_off_than_one_by_smooth_noise_or_selection() -> None:
    tested = {row.name: row.ours for row in run("dps.ptr")}
    errors = [
        value
        for name, value in tested.items()
        if name.startswith("median") and "error" in name and "bounds" not in name
    ]
    silences = [value for name, value in tested.items() if "P(no reply)" in name]
    assert all(isinstance(value, float) and value < 0.05 for value in silences)
    for error, row in zip(errors, run("dps.smooth"), strict=True):
        assert isinstance(error, float) and isinstance(row.ours, float) and isinstance(row.corrected, float)
        assert error > row.ours and error > row.corrected
    cascades = [row for row in run("dps.ptr") if "bounds" in row.name and row.corrected is not None]
    assert len(cascades) == 3
    for row in cascades:
        assert isinstance(row.ours, float) and isinstance(row.corrected, float) and row.ours > row.corrected
