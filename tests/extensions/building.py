"""Distributions of other people, really built and really installed, each into a folder of its own that is removed again."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

from dalenius.core import registry

SAMPLE = Path(__file__).parents[2] / "examples" / "office-statistics"
UV = Path(sys.executable).with_name("uv")


def uv(*words: str | Path) -> None:
    """Run the installer of the environment, without a network and without a store of its own."""
    done = subprocess.run([UV, *words, "--offline", "--no-cache"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def build(source: Path, folder: Path) -> Path:
    """Build the wheel of a source tree."""
    before = set(folder.glob("*.whl"))
    uv("build", "--wheel", "--no-config", "--out-dir", folder, "--python", sys.executable, source)
    (wheel,) = set(folder.glob("*.whl")) - before
    return wheel


def write(
    folder: Path, name: str, version: str, points: Mapping[str, Mapping[str, str]], modules: Mapping[str, str]
) -> Path:
    """Write the source tree of a distribution: entry points by package, and modules with their text."""
    root, package = folder / f"{name}-{version}", name.replace("-", "_")
    (root / "src" / package).mkdir(parents=True)
    for module, text in ({"__init__": ""} | dict(modules)).items():
        (root / "src" / package / f"{module}.py").write_text(dedent(text), encoding="utf-8")
    groups = "".join(
        f'[project.entry-points."dalenius.{group}"]\n' + "".join(f'"{key}" = "{value}"\n' for key, value in own.items())
        for group, own in points.items()
    )
    (root / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["uv_build"]\nbuild-backend = "uv_build"\n'
        f'[project]\nname = "{name}"\nversion = "{version}"\n{groups}'
    )
    return root


def install(wheel: Path, target: Path) -> None:
    uv("pip", "install", "--no-deps", "--target", target, "--python", sys.executable, wheel)


def uninstall(name: str, target: Path) -> None:
    uv("pip", "uninstall", "--target", target, "--python", sys.executable, name)


@contextmanager
def importable(target: Path) -> Iterator[None]:
    """Inside, what is installed in a folder can be imported; afterwards the process knows nothing of it."""
    before = set(sys.modules)
    sys.path.append(str(target))
    registry.forget()
    try:
        yield
    finally:
        sys.path.remove(str(target))
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(target)):
                del sys.modules[name]
        sys.path_importer_cache.pop(str(target), None)
        registry.forget()
