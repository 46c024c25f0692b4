"""The page of the library has every public name, typed; search is tried where the browser is."""

import importlib.util
import inspect
from pathlib import Path
from types import ModuleType

import dalenius
from dalenius import inference

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
    calls = [
        dalenius.table,
        dalenius.save,
        dalenius.load,
        *(getattr(inference, n) for n in inference.__all__),
    ]
    for call in (c for c in calls if inspect.isfunction(c)):
        signature = inspect.signature(call)
        assert signature.return_annotation is not inspect.Signature.empty, call.__name__
        for parameter in signature.parameters.values():
            assert parameter.annotation is not inspect.Parameter.empty, f"{call.__name__}: {parameter.name}"
