"""`make sbom`: the packages of this installation as a CycloneDX document, with versions, licences, and the hashes of the lock."""

import json
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def locked(text: str) -> dict[tuple[str, str], list[str]]:
    """Hashes by name and version."""
    entries = re.split(r"^(?=\S+==)", text, flags=re.MULTILINE)
    found = {}
    for entry in entries:
        if head := re.match(r"([\w.\-\[\]]+)==([^\s;\\]+)", entry):
            name = re.sub(r"[-_.]+", "-", head[1].partition("[")[0]).lower()
            found[name, head[2]] = re.findall(r"sha256:([0-9a-f]{64})", entry)
    return found


def licence(package: metadata.PackageMetadata) -> str:
    """As the package states it: an expression, a classifier, or nothing."""
    classifiers = [c.rpartition(" :: ")[2] for c in package.get_all("Classifier") or [] if c.startswith("License ::")]
    return package.get("License-Expression") or ", ".join(classifiers) or "not stated"


def document() -> dict[str, Any]:
    """The whole document, packages in the order of their names."""
    hashes = locked("\n".join(path.read_text() for path in sorted(ROOT.glob("requirements*.lock"))))
    components = []
    for installed in metadata.distributions():
        name, version = re.sub(r"[-_.]+", "-", installed.metadata["Name"]).lower(), installed.version
        components.append(
            {
                "type": "library",
                "name": name,
                "version": version,
                "purl": f"pkg:pypi/{name}@{version}",
                "licenses": [{"license": {"name": licence(installed.metadata)}}],
                # The lock allows several files of a version, one for each platform.
                "properties": [{"name": "sha256", "value": one} for one in hashes.get((name, version), [])],
            }
        )
    components.sort(key=lambda part: str(part["name"]))
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": components}


if __name__ == "__main__":
    json.dump(document(), sys.stdout, indent=2)
    sys.stdout.write("\n")
