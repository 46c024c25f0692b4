"""A table that stays in PostgreSQL. Run it: `python examples/postgresql_table.py postgresql://reader@host/office?table=census.jobs`.

The role may only read. A password comes from PGPASSWORD or a password file, never from the address.
"""

import sys
import tempfile
from pathlib import Path

from dalenius import Curator, Release


def release(source: str, folder: Path) -> Release:
    """Mean hours by kind of work; the server groups and sums, and noise is added here."""
    declaration = {
        "dataset": {"name": "jobs", "population": "workers", "source": source},
        "unit": {"id": "person", "max_rows": 2},
        "variables": {"work": {"categories": ["office", "farm"]}, "hours": {"bounds": [0, 60], "step": 1}},
    }
    with Curator.open(declaration, ledger=folder / "ledger.sqlite") as curator:
        curator.register(by="custodian")
        return curator.mean("hours", by="work", rho=0.1)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(release(sys.argv[1], Path(name)))
