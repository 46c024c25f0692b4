"""Charts: well-formed, escaped, free of styles and scripts, and drawn to scale."""

from xml.etree import ElementTree

from dalenius.shown.charts import Mark, bars, heat, ticks

SVG = "{http://www.w3.org/2000/svg}"


def marks() -> list[Mark]:
    return [
        Mark(group="<g>", label='"one" & <two>', value=50.0, lower=40.0, upper=60.0),
        Mark(group="<g>", label="half", value=25.0, lower=15.0, upper=35.0),
        Mark(group="", label="little", value=-3.0, lower=0.0, upper=7.0, is_unreliable=True),
        Mark(group="", label="none", value=None),
    ]


def test_bars_are_to_scale() -> None:
    drawn = bars(marks(), title="T <i>", description="D", show=str)
    tree = ElementTree.fromstring(drawn)
    lengths = [float(r.get("width", "0")) for r in tree.iter(f"{SVG}rect")]
    assert len(lengths) == 3
    assert abs(lengths[0] / lengths[1] - 2) < 0.01
    assert [r.get("class") for r in tree.iter(f"{SVG}rect")][2] == "bar unreliable"
    assert len(list(tree.iter(f"{SVG}path"))) == 3
    assert "‡" in drawn and "<i>" not in drawn and "style" not in drawn and "<script" not in drawn


def test_heat_tables_are_well_formed() -> None:
    lines = [marks()[:2], marks()[2:]]
    drawn = heat(["r & s", "t"], ["a column with a long name", "b"], lines, title="T", description="D", show=str)
    tree = ElementTree.fromstring(drawn)
    tiles = [float(r.get("fill-opacity", "0")) for r in tree.iter(f"{SVG}rect")]
    assert len(tiles) == 3 and tiles[0] > tiles[1] > tiles[2] > 0
    assert "style" not in drawn


def test_ticks_cover_the_values() -> None:
    for low, high in ((0.0, 1.0), (-5.0, 3.0), (0.0, 123456.0), (0.0, 0.0), (2.0, 2.0), (0.0, 1e-9)):
        found = ticks(low, high)
        assert found[0] <= low and found[-1] >= high and 2 <= len(found) <= 12
