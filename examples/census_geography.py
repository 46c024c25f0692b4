"""A full count for towns, districts and the country, with sums that agree. Run it: `python examples/census_geography.py`."""

import random
import tempfile
from pathlib import Path

import dalenius
from dalenius import Curator, inference

DISTRICTS = {"North": 4, "Middle": 6, "South": 5}
DECLARATION = {
    "dataset": {"name": "census", "population": "residents"},
    "variables": {
        "town": {
            "label": "Town",
            "categories": [f"{d} {k}" for d, size in DISTRICTS.items() for k in range(1, size + 1)],
            "hierarchies": {"district": {d: [f"{d} {k}" for k in range(1, size + 1)] for d, size in DISTRICTS.items()}},
        },
        "sex": {"label": "Sex", "categories": ["female", "male"]},
        "age": {"label": "Age group", "categories": ["0-14", "15-64", "65+"]},
    },
}


def rows() -> dict[str, list[str]]:
    """Thirty thousand residents in towns of very different sizes."""
    draw = random.Random(2)
    towns = [f"{d} {k}" for d, size in DISTRICTS.items() for k in range(1, size + 1)]
    chosen = draw.choices(towns, weights=[1 / (k + 1) for k in range(len(towns))], k=30_000)
    sexes = draw.choices(["female", "male"], k=len(chosen))
    return {"town": chosen, "sex": sexes, "age": draw.choices(["0-14", "15-64", "65+"], [1, 4, 1], k=len(chosen))}


def main() -> None:
    """One request for all levels; then sums, shares and an adjustment for readers."""
    request = dalenius.table(
        rows="town",
        columns=["sex", "age"],
        margins=[["town", "sex", "age"], ["town"], ["town.district", "sex"], ["town.district"], []],
        epsilon=1,
    )
    with tempfile.TemporaryDirectory() as name:
        with Curator.open(rows(), DECLARATION, ledger=Path(name) / "ledger.sqlite") as curator:
            curator.register(by="custodian")
            print(curator.plan(request))
            release = curator.release(request)
        towns, districts = release.find("town"), release.find("town.district")
        print(districts.to_frame())
        assert abs(towns.values.sum() - districts.values.sum()) < 1e-6, "districts are sums of their towns"
        print(inference.intervals(release, "town"))


if __name__ == "__main__":
    main()
