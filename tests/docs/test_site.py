"""The page of the library has every public name, typed; search is tried where the browser is."""

import importlib.util
import inspect
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
        assert name.startswith("__") or f"## {name}\n" in page or f"## dalenius.{name}\n" in page, name
    for name in inference.__all__:
        assert f"### inference.{name}\n" in page
        assert inspect.getdoc(getattr(inference, name)), f"{name} says nothing"
    assert "0x" not in page, "an address of this machine"


def test_names_that_are_typed_by_people_have_typed_parameters_and_results() -> None:
    calls = [dalenius.table, dalenius.save, dalenius.load, *(getattr(inference, n) for n in inference.__all__)]
    for call in (c for c in calls if inspect.isfunction(c)):
        signature = inspect.signature(call)
        assert signature.return_annotation is not inspect.Signature.empty, call.__name__
        for parameter in signature.parameters.values():
            assert parameter.annotation is not inspect.Parameter.empty, f"{call.__name__}: {parameter.name}"


def test_a_dead_link_is_found_to_a_page_a_heading_and_a_picture(tmp_path: Path) -> None:
    docs = tool("docs")
    text = "# Here it is\n\n[a](#here-it-is) [b](#gone) [c](other.md) [d](https://example.org/x)\n\n![e](x.png)\n"
    page = docs.rendered(docs.MarkdownIt("commonmark"), text + "\n```toml request.toml\na = 1\n```\n")
    assert '<p class="file">request.toml</p><pre>' in page
    (tmp_path / "page.html").write_text(page)
    assert docs.dead_links(tmp_path) == ["page.html: #gone", "page.html: other.html", "page.html: x.png"]


def test_the_page_of_extension_points_is_made_from_the_contracts() -> None:
    """If this fails, a contract changed: python tools/extension_page.py > docs/reference/extension-points.md"""
    page = (TOOLS.parent / "docs" / "reference" / "extension-points.md").read_text(encoding="utf-8")
    assert page == tool("extension_page").made()
    for package in registry.PACKAGES:
        assert f"## dalenius.{package}\n" in page
        assert all(
            f"| `{part}` |" in page for contract in registry.contracts(package) for part in registry.parts(contract)
        )
