"""A folder of Parquet files, counted by Spark. Run it: `python examples/spark_folder.py [spark://master:7077]`."""

import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dalenius import Curator, Release


def write(folder: Path) -> None:
    """A thousand jobs of four hundred persons, in four parts."""
    folder.mkdir()
    for part in range(4):
        numbers = range(part * 250, part * 250 + 250)
        columns = {
            "person": [k % 400 for k in numbers],
            "work": ["office" if k % 3 else "farm" for k in numbers],
            "hours": [k % 40 for k in numbers],
        }
        pq.write_table(pa.table(columns), folder / f"part-{part}.parquet")


def release(cluster: str, folder: Path) -> Release:
    """Mean hours by kind of work; workers group and sum, and noise is added here."""
    write(folder / "jobs")
    declaration = {
        "dataset": {"name": "jobs", "population": "workers", "source": f"{cluster}?path={folder / 'jobs'}"},
        "unit": {"id": "person", "max_rows": 2},
        "variables": {"work": {"categories": ["office", "farm"]}, "hours": {"bounds": [0, 60], "step": 1}},
    }
    with Curator.open(declaration, ledger=folder / "ledger.sqlite") as curator:
        curator.register(by="custodian")
        return curator.mean("hours", by="work", rho=0.1)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(release(sys.argv[1] if len(sys.argv) > 1 else "spark://local", Path(name)))
