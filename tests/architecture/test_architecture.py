"""The rules of the house that a machine can hold."""

import ast
import importlib
import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dalenius
from dalenius.core import registry

ROOT = Path(dalenius.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
REPOSITORY = Path(__file__).parents[2]


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return found


def in_folder(path: Path, *folders: str) -> bool:
    return path.relative_to(ROOT).parts[0] in folders


def test_public_names_are_pinned() -> None:
    flow = [
        "table",
        "batch",
        "Request",
        "Curator",
        "Ledger",
        "Release",
        "Estimate",
        "save",
        "load",
        "inference",
        "errors",
    ]
    assert dalenius.__all__ == [*flow, "__version__"]
    assert dir(dalenius) == sorted(dalenius.__all__)
    for name in dalenius.__all__:
        assert getattr(dalenius, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'tables'"):
        _ = dalenius.tables


def test_importing_the_library_imports_nothing_else() -> None:
    code = "import sys, dalenius; print(sorted(m for m in sys.modules if m.startswith(('dalenius.', 'numpy', 'pydantic'))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['dalenius.version']"


def test_the_examples_are_type_checked_as_strictly_as_the_library() -> None:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["mypy"]
    assert settings["strict"] is True
    assert "examples" in settings["files"]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_randomness_of_released_values_has_one_home(path: Path) -> None:
    # Simulations that post-process releases, reproductions and audits may use NumPy's generators.
    # The ledger draws leases and secrets, which are no released values.
    free = in_folder(path, "ledger", "inference", "reproduce", "audit", "testing", "demo", "server", "cli")
    names = imports(path)
    if path.relative_to(ROOT) != Path("core/randomness.py") and not free:
        for banned in ("random", "secrets", "numpy.random"):
            assert banned not in names, f"{path} reaches for {banned}"
    # linear/joint.py re-simulates published measurements for inference, with a generator that it is given.
    if not free and path.relative_to(ROOT) != Path("linear/joint.py"):
        assert "np.random" not in path.read_text()


CORE_ALLOWED = {"numpy", "dalenius", *sys.stdlib_module_names}


@pytest.mark.parametrize(
    "path", [p for p in MODULES if in_folder(p, "core")], ids=lambda p: str(p.relative_to(ROOT))
)
def test_core_needs_numpy_and_the_standard_library_only(path: Path) -> None:
    tree = ast.parse(path.read_text())
    top_level = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    for node in top_level:
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else [str(node.module)]
        for name in names:
            assert name.split(".")[0] in CORE_ALLOWED, f"{path} imports {name}"


@pytest.mark.parametrize("package", registry.PACKAGES)
def test_every_extension_has_a_public_object_a_test_and_no_siblings(package: str) -> None:
    folder = Path(*package.split("."))
    for name in registry.names(package):
        assert registry.get(package, name) is not None
        path = ROOT / folder / f"{name}.py"
        siblings = {f"dalenius.{package}.{other}" for other in registry.names(package)} - {
            f"dalenius.{package}.{name}"
        }
        assert not imports(path) & siblings, f"{path} imports a sibling"
        tests = list((REPOSITORY / "tests" / folder).glob(f"test_{name}*.py"))
        tests += [
            t for t in (REPOSITORY / "tests").rglob("*.py") if f"dalenius.{package}.{name}" in t.read_text()
        ]
        assert tests, f"nothing tests {package}/{name}.py"
        page = REPOSITORY / "docs" / "reference" / folder / f"{name}.md"
        assert page.is_file(), f"no reference page for {package}/{name}.py"


def test_help_is_fast_because_slow_packages_stay_out() -> None:
    code = (
        "import sys, dalenius.cli.main; "
        "slow = {'scipy', 'duckdb', 'pandas', 'pyarrow', 'matplotlib', 'fastapi', 'dp_accounting', 'pydantic'}; "
        "print(sorted(slow & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_error_has_a_stable_code() -> None:
    errors = importlib.import_module("dalenius.errors")
    classes = [
        c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.DaleniusError)
    ]
    codes = [c.code for c in classes]
    assert len(set(codes)) == len(codes)
    for error in classes:
        assert error.exit_code in (1, 2, 3, 4, 5, 70, 130)
        assert error.__name__ in (errors.__doc__ or "")


def test_every_module_says_what_it_is_for() -> None:
    for module in pkgutil.walk_packages(dalenius.__path__, "dalenius."):
        path = ROOT / Path(*module.name.split(".")[1:])
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        assert ast.get_docstring(ast.parse(file.read_text())), f"{file} has no docstring"
