"""An invented country: 400 municipalities in 40 districts of 8 states, with polygons. The names mean no real place."""

import json
from dataclasses import dataclass
from functools import cache

from dalenius.demo.files import shipped

POLYGONS = "regions.geojson"


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """One municipality, with the English and German names of its levels and its share of the people."""

    code: str
    name: str
    district: tuple[str, str]
    state: tuple[str, str]
    share: float


@cache
def regions() -> tuple[Region, ...]:
    """All municipalities in the order of their codes (state, district, number)."""
    features = json.loads(shipped(f"data/{POLYGONS}"))["features"]
    return tuple(
        Region(
            code=about["code"],
            name=about["name"],
            district=(about["district"], about["district_de"]),
            state=(about["state"], about["state_de"]),
            share=about["share"],
        )
        for about in (feature["properties"] for feature in features)
    )
