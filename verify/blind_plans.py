"""Plans look at documents alone: requests of the whole grammar on the data, an empty file, a hostile one, and after other releases.

Claim, fixed before the run: of at least 6,000 requests by the library, and some by the verb and by previews of a server, everything that is
said before a release (plan, price, errors, guarantee, refusal; what is left of a budget apart) is the same text on all four; and each
planted plan that looks at more than documents is found.

Each declaration is a part that is kept: a run that was ended goes on where it was (`verify/_resumed.py`). All take some 1,000 s of processor time.
"""

import tempfile
from pathlib import Path
from typing import Any

from dalenius_lab.attackers import blind_plans
from dalenius_lab.attackers.planted import PEEKING
from verify._resumed import judged

SEED, DECLARATIONS, REQUESTS, SITES, LEAST = 20_26, 240, 20, 30, 6000
FAULTS = {fault.name: fault for fault in PEEKING}


def _judge(part: str) -> dict[str, Any]:
    """By the library, by verb and previews, or with a fault that must be found."""
    way, _, name = part.partition(" ")
    with tempfile.TemporaryDirectory() as folder:
        if way == "fault":
            with FAULTS[name].planted():
                found = blind_plans.fuzz(SEED, 12, 4, Path(folder), is_ended_by_fault=True)
        elif way == "site":
            found = blind_plans.routes(SEED + int(name), 10, Path(folder))
        else:
            found = blind_plans.fuzz(SEED + int(name), 1, REQUESTS, Path(folder))
    broken = [f"{content}: {request}" for content, request in found.broken]
    kinds = [" / ".join(kind) for kind in sorted(found.kinds)]
    return {
        "asked": found.asked,
        "planned": found.planned,
        "released": found.released,
        "kinds": kinds,
        "broken": broken[:1] if way == "fault" else broken,
    }


def run(quick: bool = False) -> dict[str, Any]:
    """Every declaration, site and fault."""
    share = 20 if quick else 1
    many = {"declaration": DECLARATIONS // share, "site": SITES // share}
    parts = [f"{way} {number}" for way in many for number in range(many[way])] + [f"fault {name}" for name in FAULTS]
    found = judged("blind_plans", parts, _judge, is_kept=not quick)
    missed = [name for name in FAULTS if not found[f"fault {name}"]["broken"]]
    honest = {part: each for part, each in found.items() if not part.startswith("fault ")}

    def total(key: str, way: str = "") -> int:
        return sum(each[key] for part, each in honest.items() if part.startswith(way))

    said_otherwise = [broken for each in honest.values() for broken in each["broken"]]
    by_library = total("asked", "declaration")
    return {
        "ok": not said_otherwise and not missed and (quick or by_library >= LEAST),
        "requests_by_the_library": by_library,
        "requests_by_verb_and_previews": total("asked", "site"),
        "planned": total("planned"),
        "released_in_between": total("released"),
        "kinds_planned": len({kind for each in honest.values() for kind in each["kinds"]}),
        "said_otherwise": said_otherwise,
        "planted": len(FAULTS),
        "missed": missed,
    }
