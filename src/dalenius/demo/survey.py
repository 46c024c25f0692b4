"""The second demo: a synthetic labour force survey with numbers, regions, weights, several rows a person and two waves.

Its rows are made on first use from a seed, in seconds, and are shipped nowhere; its documents are built from the same
code lists. Nobody in it exists, so the truth may be printed beside a release; a real custodian must not.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from dalenius.demo import survey_rows
from dalenius.demo.files import csv_text, shipped, write_missing, write_parquet
from dalenius.demo.survey_rows import GROUPS, OCCUPATIONS, PERSONS, POLYGONS, WAVES, regions

POLICY = "policy.toml"
REQUESTS = ("jobs", "persons", "income", "hours", "earnings", "margins")


def dataset_name(wave: int) -> str:
    return f"survey-{wave}.toml"


def microdata_name(wave: int) -> str:
    return f"survey_{wave}.parquet"


def materialise(directory: str | Path, persons: int = PERSONS, *, ledger: str = "ledger.sqlite") -> tuple[Path, ...]:
    """Write rows, documents, code lists, polygons and requests, once; the dataset documents of the waves in order.

    What already exists is left alone, so that a folder keeps the custodian's edits. The documents name the ledger, from
    the folder.
    """
    folder = Path(directory)
    texts = {dataset_name(wave): _document(wave, ledger) for wave in WAVES}
    texts |= {POLICY: shipped("documents/survey_policy.toml")}
    texts |= {f"{name}.toml": shipped(f"documents/survey_{name}.toml") for name in REQUESTS}
    texts |= _code_lists() | {POLYGONS: shipped(f"data/{POLYGONS}")}
    write_missing(folder, texts)
    for wave in WAVES:
        if not (folder / microdata_name(wave)).exists():
            _write(folder / microdata_name(wave), wave, persons)
    return tuple(folder / dataset_name(wave) for wave in WAVES)


def _document(wave: int, ledger: str) -> str:
    return (
        shipped("documents/survey_dataset.toml").replace("@WAVE@", str(wave)).replace("@LEDGER@", ledger)
        + "\n[translations.de.labels.region]\n"
        + _pairs(pair for r in regions() for pair in (r.district, r.state))
        + "\n[translations.de.labels.occupation]\n"
        + _pairs([*GROUPS.values(), *((o.english, o.german) for o in OCCUPATIONS)])
    )


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    """Lines of a TOML table, each key once."""
    return "".join(
        f"{json.dumps(english)} = {json.dumps(german, ensure_ascii=False)}\n"
        for english, german in dict.fromkeys(pairs)
    )


def _code_lists() -> dict[str, str]:
    levels = [(r.code, r.district[0], r.state[0]) for r in regions()]
    return {
        "regions.csv": csv_text(("code", "label"), [(r.code, r.name) for r in regions()]),
        "region_levels.csv": csv_text(("code", "district", "state"), levels),
        "occupations.csv": csv_text(("code", "label"), [(o.code, o.english) for o in OCCUPATIONS]),
        "occupation_levels.csv": csv_text(("code", "group"), [(o.code, o.group) for o in OCCUPATIONS]),
    }


def _write(path: Path, wave: int, persons: int) -> None:
    import pyarrow as pa

    columns = {}
    for name, values in survey_rows.rows(wave, persons).items():
        array = pa.array(np.ma.getdata(values), mask=np.ma.getmaskarray(values))
        columns[name] = array.dictionary_encode() if pa.types.is_string(array.type) else array
    write_parquet(path, columns)
