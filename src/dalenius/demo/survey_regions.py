"""An invented country: 400 municipalities in 40 districts of 8 states, with polygons.

Everything follows from one seed. Municipalities are the Voronoi cells of seeded points, denser around a few towns,
clipped to the country's outline; districts and states gather neighbours. The names are made of syllables and mean no
real place.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

MUNICIPALITIES, DISTRICTS, STATES = 400, 40, 8
_SEED = 20_230_401
_CENTRE = (14.0, 51.0)
Points = NDArray[np.float64]
_STATES = (
    ("North Marches", "Nordmark"),
    ("Lake Country", "Seenland"),
    ("Coast", "Küstenland"),
    ("Westvale", "Westental"),
    ("Middle Plains", "Mittelfeld"),
    ("Eastwood", "Ostwald"),
    ("Highlands", "Hochland"),
    ("South Downs", "Südhügel"),
)
_FIRST = ("Al", "Bren", "Cor", "Del", "Ell", "Far", "Gar", "Hal", "Isen", "Kel", "Lor", "Mar", "Nor", "Ost")
_MIDDLE = ("an", "e", "en", "i", "ing", "o", "ol", "u", "wen", "")
_LAST = ("bach", "berg", "by", "dorf", "feld", "ford", "ham", "hof", "mont", "stad", "tal", "ton", "vik")


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """One municipality, with its ring of corners and its share of the people."""

    code: str
    name: str
    district: tuple[str, str]
    state: tuple[str, str]
    ring: tuple[tuple[float, float], ...]
    share: float


@cache
def regions() -> tuple[Region, ...]:
    """All municipalities in the order of their codes (state, district, number)."""
    rng = np.random.default_rng(_SEED)
    outline = _outline()
    points = _points(rng, outline)
    district = _gather(points, DISTRICTS, rng)
    centres = np.array([points[district == d].mean(axis=0) for d in range(DISTRICTS)])
    state = _by_latitude(_gather(centres, STATES, rng), centres)
    names = _names(rng)
    shares = rng.lognormal(0.0, 1.0, MUNICIPALITIES)
    shares[rng.choice(MUNICIPALITIES, 6, replace=False)] *= 12
    shares /= shares.sum()
    rings = _cells(points, outline)
    order = np.lexsort((-shares, district, state[district]))
    numbers: dict[int, int] = {}
    places = {int(d): i + 1 for i, d in enumerate(dict.fromkeys(district[order].tolist()))}
    polygons = []
    for i in order.tolist():
        d = int(district[i])
        numbers[d] = numbers.get(d, 0) + 1
        town = names[MUNICIPALITIES + d]
        polygons.append(
            Region(
                code=f"{int(state[d]) + 1}{places[d]:02d}{numbers[d]:02d}",
                name=names[i],
                district=(f"District of {town}", f"Kreis {town}"),
                state=_STATES[int(state[d])],
                ring=rings[i],
                share=float(shares[i]),
            )
        )
    return tuple(polygons)


def geojson() -> dict[str, Any]:
    """The polygons as a GeoJSON feature collection, with code, names and levels as properties."""
    features = []
    for region in regions():
        properties = {
            "code": region.code,
            "name": region.name,
            "district": region.district[0],
            "state": region.state[0],
        }
        ring = [list(corner) for corner in (*region.ring, region.ring[0])]
        geometry = {"type": "Polygon", "coordinates": [ring]}
        features.append({"type": "Feature", "id": region.code, "properties": properties, "geometry": geometry})
    return {"type": "FeatureCollection", "name": "Synthetic regions", "features": features}


def _outline() -> Points:
    """The country: a smooth closed curve around its centre, counter-clockwise."""
    angle = np.linspace(0, 2 * np.pi, 120, endpoint=False)
    radius = 1 + 0.12 * np.cos(2 * angle + 0.6) + 0.07 * np.sin(3 * angle) + 0.03 * np.cos(5 * angle + 1)
    return np.column_stack((_CENTRE[0] + 3.2 * radius * np.cos(angle), _CENTRE[1] + 2.2 * radius * np.sin(angle)))


def _points(rng: np.random.Generator, outline: Points) -> Points:
    """Points inside, denser around towns, moved apart once so that no cell is a splinter."""
    towns = _inside(rng.normal(_CENTRE, (1.6, 1.1), (400, 2)), outline)[:12]
    rural = rng.uniform(outline.min(axis=0), outline.max(axis=0), (4000, 2))
    urban = towns[rng.integers(0, len(towns), 4000)] + rng.normal(0, (0.45, 0.32), (4000, 2))
    mixed = np.where(rng.random((4000, 1)) < 0.45, urban, rural)
    points = _inside(mixed, outline)[:MUNICIPALITIES]
    for _ in range(3):
        points = np.array([np.mean(ring, axis=0) for ring in _cells(points, outline)])
    return points


def _inside(points: Points, outline: Points) -> Points:
    """The points well inside the outline, by their distance from the centre along their direction."""
    angle = np.arctan2((points[:, 1] - _CENTRE[1]) / 2.2, (points[:, 0] - _CENTRE[0]) / 3.2) % (2 * np.pi)
    reach = np.hypot((outline[:, 0] - _CENTRE[0]) / 3.2, (outline[:, 1] - _CENTRE[1]) / 2.2)
    far = np.hypot((points[:, 0] - _CENTRE[0]) / 3.2, (points[:, 1] - _CENTRE[1]) / 2.2)
    limit = np.interp(angle, np.linspace(0, 2 * np.pi, len(reach), endpoint=False), reach, period=2 * np.pi)
    return points[far < 0.97 * limit]


def _gather(points: Points, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Groups of neighbours: the nearest of `count` centres after some rounds of moving each to its middle."""
    centres = points[rng.choice(len(points), count, replace=False)]
    for _ in range(20):
        nearest = _nearest(points, centres)
        centres = np.array([points[nearest == k].mean(axis=0) for k in range(count)])
    return _nearest(points, centres)


def _nearest(points: Points, centres: Points) -> NDArray[np.int64]:
    distance = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    # Each centre keeps the point that is nearest to it, so that no group is empty.
    nearest: NDArray[np.int64] = distance.argmin(axis=1).astype(np.int64)
    for k in np.setdiff1d(np.arange(len(centres)), nearest):
        nearest[distance[:, k].argmin()] = k
    return nearest


def _by_latitude(group: NDArray[np.int64], centres: Points) -> NDArray[np.int64]:
    """Groups numbered from north to south."""
    south = [-centres[group == k, 1].mean() for k in range(int(group.max()) + 1)]
    return np.argsort(np.argsort(south))[group]


def _names(rng: np.random.Generator) -> list[str]:
    every = [first + middle + last for first in _FIRST for middle in _MIDDLE for last in _LAST]
    return [every[i] for i in rng.permutation(len(every))[: MUNICIPALITIES + DISTRICTS]]


def _cells(points: Points, outline: Points) -> list[tuple[tuple[float, float], ...]]:
    """Voronoi cells clipped to the outline. Points far away close the cells at the border."""
    from scipy.spatial import Voronoi

    far = 100.0
    x, y = _CENTRE
    closed = np.vstack((points, [(x - far, y), (x + far, y), (x, y - far), (x, y + far)]))
    diagram = Voronoi(closed)
    rings = []
    for number in range(len(points)):
        corners = diagram.vertices[diagram.regions[diagram.point_region[number]]]
        middle = corners.mean(axis=0)
        turn = np.argsort(np.arctan2(corners[:, 1] - middle[1], corners[:, 0] - middle[0]))
        rings.append(tuple(_rounded(_clip(outline, corners[turn]))))
    return rings


def _clip(subject: Points, convex: Points) -> list[tuple[float, float]]:
    """The part of a polygon inside a convex one (Sutherland and Hodgman), both counter-clockwise."""
    ring = [(float(x), float(y)) for x, y in subject]
    for (ax, ay), (bx, by) in zip(convex, np.roll(convex, -1, axis=0), strict=True):
        side = [(bx - ax) * (y - ay) - (by - ay) * (x - ax) for x, y in ring]
        kept: list[tuple[float, float]] = []
        for i, corner in enumerate(ring):
            before = ring[i - 1]
            if (side[i] >= 0) != (side[i - 1] >= 0):
                share = side[i - 1] / (side[i - 1] - side[i])
                x, y = (b + share * (c - b) for b, c in zip(before, corner, strict=True))
                kept.append((float(x), float(y)))
            if side[i] >= 0:
                kept.append(corner)
        ring = kept
    return ring


def _rounded(ring: list[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Corners to a ten-thousandth of a degree (about 10 m), without repetitions."""
    last: tuple[float, float] | None = None
    rounded = [(round(x, 4), round(y, 4)) for x, y in ring]
    for corner in rounded:
        if corner != last and not (last is not None and corner == rounded[0]):
            yield corner
        last = corner
