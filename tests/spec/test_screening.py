"""Documents that strangers send are bounded before they are parsed, and whatever they hold is read or refused quickly."""

import json
import random
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
from verify._usage import usage_of

from dalenius.core import registry
from dalenius.errors import DaleniusError, DocumentLimit
from dalenius.limits import LOCAL, NETWORK_JSON, NETWORK_TOML
from dalenius.spec.load import load_asked, parse, read_mapping

PRIVACY = 'privacy = { definition = "pure", epsilon = 1 }\n'
ASKED = {"table": {"rows": ["town"]}, "privacy": {"definition": "pure", "epsilon": 1}}


def filled(number: str) -> str:
    return '{"table": {"rows": ["town"]}, "privacy": {"definition": "pure", "epsilon": ' + number + "}}"


HOSTILE: dict[str, Callable[[], str]] = {
    "a dotted key": lambda: ".".join(["a"] * 30_000) + " = 1\n",
    "a dotted key with blanks": lambda: " \t. ".join(["a"] * 12_000) + " = 1\n",
    "a dotted key of quoted parts": lambda: ".".join(['"a.b"'] * 9_000) + " = 1\n",
    "a dotted key behind a string that ends in quotes": lambda: (
        'x = { a = """a"""", ' + ".".join(["a"] * 30_000) + ' = "y" }\n'
    ),
    "a dotted key behind a comment with a quote": lambda: '# "\n' + ".".join(["a"] * 30_000) + " = 1\n",
    "a dotted header": lambda: "[" + ".".join(["a"] * 30_000) + "]\n",
    "a dotted header of a list": lambda: "[[" + ".".join(["a"] * 30_000) + "]]\n",
    "many dotted keys": lambda: "".join(f"k{i}{'.a' * 19} = 1\n" for i in range(1200)),
    "nested lists in TOML": lambda: "x = " + "[" * 30_000 + "]" * 30_000 + "\n",
    "nested tables in TOML": lambda: "x = " + "{a = " * 12_000 + "1" + "}" * 12_000 + "\n",
    "many open strings": lambda: 'x = """' * 9_000,
    "many escapes": lambda: 'x = "' + "\\\\" * 30_000 + '"\n',
    "a long hexadecimal number": lambda: "x = 0x" + "f" * 60_000 + "\n",
    "a hexadecimal amount": lambda: (
        'table = { rows = ["town"] }\nprivacy = { definition = "pure", epsilon = 0x' + "f" * 60_000 + " }\n"
    ),
    "a long decimal number": lambda: "x = 1." + "1" * 60_000 + "\n",
    "many tables": lambda: "".join(f"[t{i}]\n" for i in range(9_000)),
    "one table again and again": lambda: "[[t]]\n" * 10_000,
    "a list of many numbers in TOML": lambda: "x = [" + "1," * 30_000 + "]\n",
    "nested lists": lambda: '{"a": ' + "[" * 400_000,
    "nested tables": lambda: '{"a":' * 150_000 + "1" + "}" * 150_000,
    "a list of many numbers": lambda: '{"table": {"rows": [' + "1," * 490_000 + "1]}}",
    "many lists": lambda: '{"table": {"rows": [' + ",".join(["[1,1]"] * 160_000) + "]}}",
    "a table of many keys": lambda: json.dumps({"table": {str(i): 1 for i in range(90_000)}}),
    "a long key": lambda: json.dumps({"k" * 990_000: 1}),
    "a long key that is nearly known": lambda: json.dumps(
        {**ASKED, "table": {"rows": [], "measur" + "e" * 900_000: 1}}
    ),
    "a long name": lambda: json.dumps({**ASKED, "table": {"rows": ["town" * 200_000]}}),
    "a key twice": lambda: '{"table": {}, "table": {}}',
    "a long whole number": lambda: filled("9" * 900_000),
    "a whole number just short enough": lambda: filled("9" * 4_000),
    "a large exponent": lambda: filled("1e999999999"),
    "a small exponent": lambda: filled("1e-999999999"),
    "a large exponent in text": lambda: filled('"1e999999999"'),
    "a long decimal": lambda: filled("0." + "1" * 900_000),
    "a long exponent": lambda: filled("1e" + "9" * 900_000),
    "signs beyond the first plane": lambda: json.dumps({**ASKED, "title": "\U0001f600" * 240_000}, ensure_ascii=False),
    "half of a pair": lambda: json.dumps({**ASKED, "title": "\ud800" * 100_000}),
    "right-to-left marks": lambda: json.dumps({**ASKED, "table": {"rows": ["\u202e" * 150_000]}}),
    "combining marks": lambda: json.dumps({**ASKED, "table": {"rows": ["a" + "\u0301" * 150_000]}}),
}


@pytest.fixture(scope="module", autouse=True)
def methods() -> None:
    """Modules are imported once, and not in every process that is measured."""
    registry.every("methods")


def read(text: str) -> None:
    is_json = text.lstrip().startswith("{")
    limits = NETWORK_JSON if is_json else NETWORK_TOML
    load_asked(parse(text, "request document", limits, is_json=is_json))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_read_or_refused_quickly(name: str) -> None:
    text = HOSTILE[name]()
    usage = usage_of(lambda: read(text), most_megabytes=1000)
    assert usage.seconds < 1 and usage.megabytes < 256, usage
    assert usage.refusal.islower(), usage


@pytest.mark.parametrize("name", [n for n in HOSTILE if "dotted" in n])
def test_a_dotted_key_is_refused_in_a_file_too(name: str, tmp_path: Any) -> None:
    path = tmp_path / "request.toml"
    path.write_text(HOSTILE[name]())
    usage = usage_of(lambda: read_mapping(path), most_megabytes=1000)
    assert usage.seconds < 1 and usage.megabytes < 256, usage


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("x" + ".a" * 21 + " = 1\n", "dots"),
        ("x = " + "[" * 13 + "]" * 13 + "\n", "depth"),
        ('{"a": ' * 13 + "1" + "}" * 13, "depth"),
        ('{"a": [' + ",".join(["1"] * 20_001) + "]}", "items"),
        ("{" + ",".join(['"a": [' + ",".join(["1"] * 19_000) + "]"] * 6) + "}", "values"),
        ("x = '" + "a" * 64_000 + "'\n", "size"),
        ('{"x": "' + "a" * 1_000_000 + '"}', "size"),
    ],
)
def test_a_refusal_says_which_limit_holds(text: str, limit: str) -> None:
    with pytest.raises(DocumentLimit) as refused:
        read(text)
    assert refused.value.detail["limit"] == limit
    assert refused.value.http_status == (413 if limit == "size" else 422)
    assert f"{refused.value.detail['most']:,}" in refused.value.message


def test_eight_thousand_regions_fit() -> None:
    codes = [f"{number:08}" for number in range(8000)]
    asked = {
        "table": {"rows": [{"variable": "town", "categories": codes}], "where": {"region": codes}},
        "privacy": {"definition": "pure", "epsilon": 1},
    }
    for indent in (None, 2):
        assert load_asked(parse(json.dumps(asked, indent=indent), "request", NETWORK_JSON, is_json=True))


def test_within_the_limits_everything_is_read_as_the_parsers_read_it() -> None:
    """Strings, comments and numbers may hold any number of dots, brackets and commas."""
    dots = ".".join("abcdefghijklmnopqrstuvwxyz")
    texts = [
        f'a = "{dots}" # {dots}\n',
        f"a = '{dots}'\n",
        f'a = """\n{dots}\n"{dots}""{dots}\\"""""\n',
        f"a = '''{dots}'''''\n",
        'a = "' + '\\"[' * 30 + '"\n',
        f'"{dots}" = 1\n',
        "a = [" + ", ".join(["1.5"] * 100) + "]\n",
        "a" + ".b" * 20 + " = 1\n",
        "x = " + "[" * 12 + "]" * 12 + "\n",
        "[a.b]\nx = 1979-05-27T07:32:00.999999Z\n[[c.d]]\n",
    ]
    for text in texts:
        assert parse(text, "document", NETWORK_TOML, is_json=False) == tomllib.loads(text, parse_float=_decimal)
    held = {"a": [dots, '"[{,', "\\", {"b": [[]] * 50}], "c": "]" * 40}
    assert parse(json.dumps(held), "document", NETWORK_JSON, is_json=True) == held


def _decimal(text: str) -> Any:
    from decimal import Decimal

    return Decimal(text)


SIGNS = ['"', "'", '"""', "'''", "\\", "\n", "#", ".", "a", "=", "[", "]", "{", "}", ",", " ", "1", "é", "\r\n"]


def test_the_screen_and_the_parser_agree_on_short_texts() -> None:
    """What tomllib reads is never refused but for its dots and depth, and a long key is never let through."""
    chance = random.Random(5)
    was_read = 0
    for _ in range(20_000):
        prefix = "".join(chance.choices(SIGNS, k=chance.randrange(1, 12)))
        long = prefix + ".".join(["k"] * 30) + " = 1" + "".join(chance.choices(SIGNS, k=3))
        for text in (prefix, long):
            try:
                content = tomllib.loads(text)
            except tomllib.TOMLDecodeError:
                continue
            was_read += 1
            is_deep = _depth(content) > 25
            try:
                parse(text, "document", LOCAL, is_json=False)
            except DocumentLimit:
                assert is_deep, text
            except DaleniusError as error:
                raise AssertionError(text) from error
            else:
                assert not is_deep, text
    assert was_read > 200


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0
