"""The page of the library has every public name, typed."""

import importlib.metadata
import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType

import dalenius
from dalenius import inference
from dalenius.core import registry

TOOLS = Path(__file__).parents[2] / "tools"


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tools_{name}", TOOLS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_stands_on_the_library_page() -> None:
    page = tool("library_page").made()
    for name in dalenius.__all__:
        assert name.startswith("__") or f"heading: {name}\n" in page or f"## dalenius.{name}\n" in page, name
    for name in inference.__all__:
        assert f"heading: inference.{name}\n" in page
        assert inspect.getdoc(getattr(inference, name)), f"{name} says nothing"


def test_names_that_are_typed_by_people_have_typed_parameters_and_results() -> None:
    calls = [dalenius.table, dalenius.save, dalenius.load, *(getattr(inference, n) for n in inference.__all__)]
    for call in (c for c in calls if inspect.isfunction(c)):
        signature = inspect.signature(call)
        assert signature.return_annotation is not inspect.Signature.empty, call.__name__
        for parameter in signature.parameters.values():
            assert parameter.annotation is not inspect.Parameter.empty, f"{call.__name__}: {parameter.name}"


def test_the_page_of_extension_points_is_made_from_the_contracts() -> None:
    """If this fails, a contract changed: python tools/extension_page.py > docs/reference/extension-points.md"""
    page = (TOOLS.parent / "docs" / "reference" / "extension-points.md").read_text(encoding="utf-8")
    assert page == tool("extension_page").made()
    for package in registry.PACKAGES:
        assert f"## dalenius.{package}\n" in page
        assert all(
            f"| `{part}` |" in page for contract in registry.contracts(package) for part in registry.parts(contract)
        )


def test_the_bill_of_materials_names_what_is_installed_with_its_hashes() -> None:
    parts = {part["name"]: part for part in tool("sbom").document()["components"]}
    for name in ("dalenius", "numpy", "duckdb"):
        assert parts[name]["version"] == importlib.metadata.version(name)
    assert parts["numpy"]["properties"] and len(parts["numpy"]["properties"][0]["value"]) == 64
    assert parts["numpy"]["licenses"][0]["license"]["name"].startswith("BSD")


def test_the_page_of_error_codes_is_made_from_the_classes_and_every_code_has_a_remedy() -> None:
    tool_page = tool("errors_page")
    assert tool_page.PLACE.read_text(encoding="utf-8") == tool_page.page(), "run python tools/errors_page.py"
    codes = [kind.code for kind in tool_page.kinds()]
    assert len(codes) == len(set(codes)) >= 30 and set(codes) == set(tool_page.REMEDIES)


def test_every_picture_is_made_by_a_script_and_shown_on_a_page() -> None:
    docs = TOOLS.parent / "docs"
    scripts = (TOOLS / "lesson_pictures.py", TOOLS.parent / "tests/server/browser/pictures.py")
    made, pages = "".join(script.read_text() for script in scripts), "".join(p.read_text() for p in docs.rglob("*.md"))
    for picture in (docs / "images").iterdir():
        assert picture.suffix == ".png" and re.search(rf'"{picture.stem}(\.png)?"', made), picture.name
        assert f"images/{picture.name})" in pages, f"{picture.name} is on no page"
