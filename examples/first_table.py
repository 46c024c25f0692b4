"""A first protected table from rows in memory: declare, plan, release, read. Run it: `python examples/first_table.py`."""

import tempfile

import dalenius

rows = {"city": ["Aarhus"] * 900 + ["Odense"] * 450 + ["Ribe"] * 12}
declaration = {
    "dataset": {"name": "movers", "population": "movers-2024"},
    "variables": {"city": {"categories": ["Aarhus", "Odense", "Ribe", "Skagen"]}},
}
request = dalenius.table(rows="city", epsilon=1)
with (
    tempfile.TemporaryDirectory() as folder,
    dalenius.Curator.open(
        rows, declaration, ledger=f"{folder}/ledger.sqlite", policy={"budget": {"rho": 1}}
    ) as curator,
):
    curator.register()
    print(f"Each cell will be off by at most ± {curator.plan(request).error:g}, 95 times in 100.")
    print(curator.release(request).to_frame())
    print(f"Left for ever: {curator.left}")
