"""Rows of the synthetic survey: a panel of persons with jobs, drawn from a seed; nobody in it exists.

One row is one job of a person in a year, or the one row of a person without a job; a person has at most four rows. Four
fifths of the persons of the second wave were in the first. Traits that a person keeps come from one stream of random
numbers, what happens in a year from another, so that the waves agree about a person. Income is heavy-tailed, with many
zeros; income, hours, education and occupation have missing values; weights vary by region, age and sex and are fixed by
design.
"""

import csv
import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.demo.files import shipped


def _lines(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(shipped(f"data/{name}.csv").splitlines()))


GROUPS = {line["code"]: (line["english"], line["german"]) for line in _lines("occupation_groups")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupation:
    """One occupation in the manner of the international standard classification; the numbers behind it are invented.

    Its code begins with the code of its major group. It has a typical level of education (0 to 4), a lean towards one
    sex (positive: women), a size, and a typical yearly income in thousands.
    """

    code: str
    english: str
    german: str
    education: float
    lean: float
    size: float
    pay: float

    @property
    def group(self) -> str:
        return GROUPS[self.code[0]][0]


def _read(line: dict[str, str]) -> Occupation:
    values: dict[str, Any] = line | {name: float(line[name]) for name in ("education", "lean", "size", "pay")}
    return Occupation(**values)


OCCUPATIONS = tuple(_read(line) for line in _lines("occupations"))


POLYGONS = "regions.geojson"


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """One municipality of an invented country: names of its levels in English and German, and its share of people."""

    code: str
    name: str
    district: tuple[str, str]
    state: tuple[str, str]
    share: float


@cache
def regions() -> tuple[Region, ...]:
    """All municipalities in the order of their codes (state, district, number)."""

    def region(about: dict[str, Any]) -> Region:
        district, state = ((about[level], about[f"{level}_de"]) for level in ("district", "state"))
        return Region(code=about["code"], name=about["name"], district=district, state=state, share=about["share"])

    return tuple(region(each["properties"]) for each in json.loads(shipped(f"data/{POLYGONS}"))["features"])


WAVES = (2023, 2024)
PERSONS = 200_000
MOST_JOBS = 4
STATUSES = ("employee", "self-employed", "unemployed", "student", "retired", "other")
_SEED = 19_770_901
_RENEWED = 5
Array = NDArray[Any]


def rows(wave: int, persons: int = PERSONS) -> dict[str, Array]:
    """Columns of one wave; NULL is a masked value."""
    first = (wave - WAVES[0]) * (persons // _RENEWED)
    panel = _panel(persons + persons // _RENEWED * (len(WAVES) - 1))
    person = {name: column[first : first + persons] for name, column in panel.items()}
    rng = np.random.default_rng((_SEED, wave))
    age = wave - person["born"]
    status = _status(rng, age, person["education"], person["sex"])
    works = status < 2
    jobs = np.where(works, 1 + rng.choice(MOST_JOBS, len(age), p=(0.86, 0.10, 0.03, 0.01)), 1)
    owner = np.repeat(np.arange(len(age)), jobs)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(jobs) - jobs, jobs) + 1
    working = works[owner]
    occupation = _occupation(rng, person["education"][owner], person["sex"][owner])
    hours = _hours(rng, number, person["sex"][owner]) * working
    income = _income(rng, occupation, hours, age[owner], person["ability"][owner]) * working
    education = person["education"][owner]
    return {
        "person": person["number"][owner],
        "job": number,
        "wave": np.full(len(owner), wave),
        "sex": np.array(("f", "m"))[person["sex"][owner]],
        "age": age[owner],
        "education": _missing(education + 1, person["is_silent"][owner]),
        "region": np.array([region.code for region in regions()])[person["region"][owner]],
        "status": np.array(STATUSES)[status[owner]],
        "occupation": _missing(
            np.array([o.code for o in OCCUPATIONS])[occupation], ~working | (rng.random(len(owner)) < 0.03)
        ),
        "hours": _missing(hours, rng.random(len(owner)) < 0.05),
        "income": _missing(income, rng.random(len(owner)) < np.where(income > 80_000, 0.18, 0.07)),
        "weight": person["weight"][owner],
    }


def _missing(values: Array, where: Array) -> Array:
    masked: Array = np.ma.array(values, mask=where)
    return masked


@cache
def _panel(persons: int) -> dict[str, Array]:
    """What persons keep: birth, sex, education, region, ability, weight, and whether they tell their education."""
    rng = np.random.default_rng(_SEED)
    share = np.array([region.share for region in regions()])
    # Small regions are sampled more densely, and their weights are smaller for it.
    density = share**-0.25
    density /= (share * density).sum()
    region = rng.choice(len(share), persons, p=share * density)
    sex = (rng.random(persons) < 0.49).astype(np.int64)
    born = WAVES[0] - (16 + rng.beta(1.25, 1.7, persons) * 75).astype(np.int64)
    ability = rng.normal(0, 1, persons)
    later = (born - 1965) / 20
    score = 1.6 + 0.35 * later - 0.05 * later**2 + 0.12 * (sex == 0) * later + 0.55 * ability
    education = np.clip(np.rint(score + rng.normal(0, 0.75, persons)), 0, 4).astype(np.int64)
    response = 0.85 + 0.25 * (sex == 1) + 0.3 * (WAVES[0] - born < 35)
    weight = 40 / density[region] * response * rng.gamma(25, 1 / 25, persons)
    return {
        "number": 100_000 + rng.permutation(persons),
        "sex": sex,
        "born": born,
        "education": education,
        "region": region,
        "ability": ability,
        "weight": np.round(np.clip(weight, 1, 200), 1),
        "is_silent": rng.random(persons) < 0.02,
    }


def _status(rng: np.random.Generator, age: Array, education: Array, sex: Array) -> Array:
    """What persons do: work at 20 to 65 mostly, more with more education; study before, retire after."""
    works = 0.60 + 0.07 * education + 0.05 * (sex == 1)
    works = np.select([age < 20, age < 26, age < 60, age < 66], [0.15, 0.55, 1.0, 0.6], 0.05) * works
    draw = rng.random(len(age))
    status = np.where(age >= 62, 4, np.where(age < 26, 3, np.where(rng.random(len(age)) < 0.35, 2, 5)))
    return np.where(draw < works * 0.9, 0, np.where(draw < works, 1, status))


def _occupation(rng: np.random.Generator, education: Array, sex: Array) -> Array:
    """Positions in the list of occupations: near one's education, and leaning by sex."""
    typical, lean, size = (np.array([getattr(o, name) for o in OCCUPATIONS]) for name in ("education", "lean", "size"))
    occupations = np.empty(len(education), dtype=np.int64)
    for level in range(5):
        for side in (0, 1):
            where = np.flatnonzero((education == level) & (sex == side))
            weight = size * np.exp(-((typical - 0.9 * level) ** 2) / 1.1 + lean * (0.6 if side == 0 else -0.6))
            occupations[where] = rng.choice(len(size), len(where), p=weight / weight.sum())
    return occupations


def _hours(rng: np.random.Generator, number: Array, sex: Array) -> Array:
    """Usual hours a week: full time or part time in the main job, few in the others; 0 to 80."""
    is_part = rng.random(len(number)) < np.where(sex == 0, 0.42, 0.12)
    main = np.where(is_part, rng.normal(22, 6, len(number)), rng.normal(39.5, 5, len(number)))
    side = rng.gamma(2.0, 4.5, len(number))
    return np.clip(np.rint(np.where(number == 1, main, side)), 0, 80).astype(np.int64)


def _income(rng: np.random.Generator, occupation: Array, hours: Array, age: Array, ability: Array) -> Array:
    """Yearly income from the job in whole units: log-normal around the occupation's, with a heavy upper tail."""
    pay = np.array([o.pay for o in OCCUPATIONS])[occupation] * 1000
    grown = np.clip((age - 18) / 30, 0, 1)
    spread = np.exp(
        0.18 * ability + 0.28 * rng.normal(0, 1, len(pay)) + 0.35 * grown - 0.2 - 0.1 * rng.random(len(pay))
    )
    tail = np.where(rng.random(len(pay)) < 0.02, 1 + rng.pareto(1.8, len(pay)), 1.0)
    unpaid = rng.random(len(pay)) < 0.03
    income = np.where(unpaid, 0, pay * spread * tail * hours / 39)
    return np.rint(np.minimum(income, 5e6)).astype(np.int64)
