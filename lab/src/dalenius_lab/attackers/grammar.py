"""Random requests over everything that can be asked: methods and definitions from the registry, each with any of its
keys.
"""

import random
from fractions import Fraction
from typing import Any

from dalenius.core import registry
from dalenius.core.neighbours import Scope
from dalenius.exact.perturbation import kernel_of, to_text
from dalenius.measurements.blocks.models import MODELS
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace
from dalenius.plans.block_design import FUNCTION
from dalenius.plans.counts.ranges import STRATEGIES
from dalenius.plans.modifier import modifiers
from dalenius.spec.load import load_policy
from dalenius.testing.combinations import GROUP

Document = dict[str, Any]

POLICY = load_policy(
    {
        "allow": {
            "acknowledge": ["fixed_weights", "individual", "bootstrap", "public_membership", "public_attributes"],
            "evidence": ["proved", "enumerated", "computational", "audited", "search", "none"],
        },
        "floors": {"bootstrap": 1, "individual": 1},
    }
)
PER_CELL = load_policy(
    {
        "allow": {
            "acknowledge": ["bootstrap", "public_membership", "bootstrap_per_cell"],
            "evidence": ["proved", "enumerated", "computational", "audited", "search", "none"],
        },
        "floors": {"bootstrap": 1},
    }
)
# What modifiers are asked for with, where the bounds of every kit are too wide for worlds that can be listed.
SMALL: Document = {"clip": [0, 1], "replicates": 2}
REGULARISED: tuple[Document, ...] = ({"regularise": "1/2"}, {"regularise": "1/3", "common_weight": "3/2"})
# Methods whose answers are for the cells of a table: always, or as often as not.
BY_CELL = (
    "count",
    "total",
    "mean",
    "dominance",
    "largest_total",
    "median",
    "quantile",
    "mode",
    "best",
    "clipped_count",
    "clipped_total",
)
CLIPS: tuple[Document, ...] = (
    {"clip": 1},
    {"clip": 2, "norm": "l2"},
    {"clip": [1, 2], "expected_persons": {"1": 3, "3": 1}},
    {"clip": [1, 2], "learn": "1/4"},
    {"clip": [1, 2, 4], "learn": "1/2", "beyond": "1/2", "norm": "l2"},
)
ALSO_BY_CELL = (
    "quantiles",
    "ratio",
    "covariance",
    "correlation",
    "proportion",
    "variance",
    "standard_deviation",
    "persons",
    "distribution",
)
# Whose noise at the data knows groups.
GROUPED = ("median", "quantile", "maximum", "minimum", "second_maximum", "interquartile", "range")
ORDER_STATISTICS = ("median", "quantile", "maximum", "minimum", "second_maximum")
SMOOTH: tuple[Document, ...] = (
    {"method": "cauchy"},
    {"method": "lomax"},
    {"method": "lomax", "noise": {"beta": "1/20"}},
    {"method": "student"},
    {"method": "polynomial", "noise": {"shape": "5/2"}},
    {"method": "laplace_log_normal"},
)
# Noise that is described by its parameters; without them a mechanism is fitted to the budget.
STATED: tuple[Document, ...] = (
    {"mechanism": "truncated_laplace", "noise": {"limit": 9}},
    {"mechanism": "truncated_normal", "noise": {"limit": 12}},
    {"mechanism": "max_entropy", "noise": {"limit": 16, "variance": "20"}},
    {"mechanism": "custom_utility", "noise": {"losses": [16, 9, 4, 1, 0, 1, 4, 9, 16]}},
    {"mechanism": "hellinger", "noise": {"largest": 4}},
    {
        "mechanism": "perturbation_table",
        "noise": {"table": to_text(kernel_of(TruncatedLaplace(Fraction(1), 6), 9, floor=0))},
    },
)
# Some of a method's own keys, one of each list; what a draw of its own is made for stands in the functions below.
KEYS: dict[str, tuple[Document, ...]] = {
    "clipped_count": CLIPS,
    "clipped_total": CLIPS,
    "range_count": ({"among": {"at_least": 1}}, {"among": {"at_most": 1}}, {"among": {"at_least": 0, "at_most": 2}}),
    "quantile": ({"q": "1/4"}, {"q": "0.9"}),
    "median": ({}, {}, {"q": "1/4"}),
    # Few answers, so that every list of them can be gone through.
    "quantiles": ({"q": ["1/2"]}, {"q": ["1/4", "3/4"]}, {"q": 3, "error": "noise"}),
    "boxplot": ({"error": "noise"}, {"error": "noise", "beyond": "1/10"}, {}),
    "distribution": ({}, {"bins": 2}, {"bins": [0]}, {"bins": [0, 1]}),
    "ratio": ({"other": "age"}, {"other": "age", "per": 10}),
    "covariance": ({"other": "age"}, {"other": "age", "error": "noise"}),
    "correlation": ({"other": "age"}, {"other": "age", "error": "noise"}),
    "variance": ({}, {"error": "noise"}),
    "standard_deviation": ({}, {"error": "noise"}),
    "proportion": (
        {"of": "sex", "among": ["f"]},
        {"of": "age", "among": {"at_least": 2}},
        {"of": "age", "among": {"at_most": 2}, "per": 100},
    ),
    "exponential_family": tuple({"model": family} for family in ("gaussian", "poisson", "exponential", "binomial")),
    "mode": ({"method": "exponential"}, {"method": "permute_and_flip"}),
    "best": tuple(
        {"method": method, "which": which}
        for method in ("exponential", "permute_and_flip")
        for which in ("largest", "smallest")
    ),
    "dominance": ({"rule": {"p": 10}}, {"rule": {"n": 1, "k": 60}}),
    "propose_test_release": tuple(
        {**proposed, **estimate}
        for proposed in ({"bounds": 1}, {"bounds": 2}, {"bounds": [1, 2]})
        for estimate in (dict[str, str](), {"estimate": "quantile", "q": "1/4"}, {"estimate": "interquartile"})
    ),
}


def budget_of(chance: random.Random, name: str) -> Document:
    """Amounts of one definition."""
    epsilon, delta = chance.choice(("0.3", "1", "2.5")), chance.choice(("1e-6", "0.01"))
    amounts: dict[str, Document] = {
        "pure": {"epsilon": epsilon},
        "approximate": {"epsilon": epsilon, "delta": delta},
        "probabilistic": {"epsilon": epsilon, "delta": delta},
        "zero_concentrated": {"rho": chance.choice(("0.05", "0.5", "2"))}
        | ({"delta": delta} if chance.random() < 0.3 else {}),
        "individual": {"epsilon": epsilon},
        "public_attributes": {"epsilon": epsilon},
        "bootstrap": chance.choice(({"epsilon": epsilon}, {"rho": "0.5"}, {"epsilon": epsilon, "delta": delta})),
    }
    return {"definition": name, **amounts[name]}


def request_of(
    chance: random.Random, scope: Scope = Scope.ALL_DATA, method_name: str = "", definition: str = ""
) -> Document:
    """Any method with any of its keys, under any definition that holds `scope`; or the named ones."""
    methods = [m for n, m in registry.every("methods").items() if scope in m.scopes and method_name in ("", n)]
    method = chance.choice(methods)
    definitions = [n for n, d in registry.every("definitions").items() if Scope(d.scope) is scope]
    privacy = budget_of(chance, definition or chance.choice(definitions))
    table: Document = {"measure": method.name}
    if method.takes_of:
        table["of"] = chance.choice(("age", "pay"))
    _axes(table, chance)
    _keys(table, privacy, scope, chance)
    if method.name == "count":
        _counted(table, privacy, chance)
    elif method.name in ("total", "mean") and _is_listed(table, scope, chance):
        _listed(table, privacy, chance)
    has_choice = scope is Scope.ALL_DATA and method.name in ("count", "total", "mean", "dominance")
    if has_choice and chance.random() < 0.5:
        privacy["mechanism"] = chance.choice(registry.names("mechanisms"))
    if chance.random() < 0.3:
        table["where"] = chance.choice(({"sex": "f"}, {"age": {"at_least": 1}}, {"pay": {"at_most": 1}, "two": ["a"]}))
    if scope is Scope.ALL_DATA:
        if method.takes_weight and chance.random() < 0.2:
            table["weight"] = "weight"
            if method.name == "mean":
                table |= chance.choice(({}, *REGULARISED))
        _guaranteed(table, privacy, chance)
    return {"table": table, "privacy": privacy}


def combine(request: Document, chance: random.Random, *names: str) -> None:
    """Add what asks for two modifiers of an estimate, or for the named ones."""
    table, every = request["table"], {each.name: each for each in (GROUP, *modifiers())}
    names = names or tuple(chance.sample(sorted(every), 2))
    if "public_size" in names:
        # It is that of all rows.
        table["rows"] = []
        table.pop("where", None)
    for name in names:
        table |= {key: SMALL.get(key, value) for key, value in every[name].example.get("table", {}).items()}
        request["privacy"] |= every[name].example.get("privacy", {})
    if "weighted" in names and chance.random() < 0.3:
        table |= chance.choice(REGULARISED)
    if "margins" in table:
        table["universe"] = "complete"
    if table.get("error") == "bootstrap":
        request["privacy"].pop("mechanism", None)
    elif "replicates" in table:
        del table["replicates"]


def _guaranteed(table: Document, privacy: Document, chance: random.Random) -> None:
    """To whom, over how many waves, and what a list makes small."""
    is_list = bool({"margins", "ranges"} & table.keys())
    if is_list and privacy["definition"] == "approximate" and chance.random() < 0.4:
        table |= {"objective": "maximum"} if "margins" in table else {}
    if chance.random() < 0.1:
        privacy["group"] = 2
    if chance.random() < 0.05:
        privacy["waves"] = 2
    # Of what was drawn so far, so that other draws stay what they were.
    own = random.Random(repr((table, privacy)))
    if own.random() < 0.05 and table["measure"] != "count":
        privacy["in_cells_of"] = own.choice((1, 4))
    if own.random() < (0.2 if "margins" in table else 0.05):
        # An accuracy in the place of the amount.
        for name in ("epsilon", "rho"):
            privacy.pop(name, None)
        privacy["error_at_most"] = own.choice((1, 3, 20))
        if "margins" in table and own.random() < 0.5:
            privacy["in_table"] = []


def _axes(table: Document, chance: random.Random) -> None:
    method = table["measure"]
    if method == "labels":
        table |= {"rows": ["job"], "most": chance.choice((1, 1, 2))}
    if method in BY_CELL or (method in ALSO_BY_CELL and chance.random() < 0.5):
        axes: list[Any] = ["sex", "region", "two", {"variable": "region", "level": "half"}]
        axes.append({"variable": "age", "cuts": [0, 1, 4]})
        named = chance.sample(axes, chance.choice((0, 1, 1, 2, 3)))
        variables = [a["variable"] if isinstance(a, dict) else a for a in named]
        if len(set(variables)) == len(variables):
            table["rows"] = named


def _keys(table: Document, privacy: Document, scope: Scope, chance: random.Random) -> None:
    """Some of the method's own keys."""
    method, everywhere = table["measure"], scope is Scope.ALL_DATA
    if method in KEYS:
        table |= chance.choice(KEYS[method])
    if scope is Scope.ACTUAL_DATA:
        if method in GROUPED and chance.random() < 0.3:
            privacy["group"] = 2
        if method in ("count", "range_count") and chance.random() < 0.3:
            table["clamp"] = chance.choice(("none", "size"))
    if scope is Scope.OBSERVED_ROWS and method == "total":
        table["membership"] = chance.choice(("private", "public"))
        table |= chance.choice(({}, {}, {"declared": ["2"]}))
    if everywhere:
        _keys_everywhere(table, privacy, method, chance)


def _keys_everywhere(table: Document, privacy: Document, method: str, chance: random.Random) -> None:
    if method in ORDER_STATISTICS:
        is_quantile = method in ("median", "quantile")
        further: tuple[Document, ...] = (
            ({}, {"method": "exponential"}, {"method": "unbounded"}, {"method": "unbounded", "noise": {"growth": 2}})
            if is_quantile
            else ()
        )
        keys = chance.choice((*further, *SMOOTH))
        table |= {key: value for key, value in keys.items() if key != "noise"}
        privacy |= {key: value for key, value in keys.items() if key == "noise"}
        if keys and keys.get("method") != "exponential":
            table.pop("rows", None)
        if is_quantile and not keys and chance.random() < 0.5:
            table["error"] = chance.choice(("noise", "sampling"))
        if keys.get("method") == "exponential" and chance.random() < 0.5:
            privacy["noise"] = {"score": chance.choice(("depth", "depth", "distance"))}
    if method == "total" and chance.random() < 0.3:
        table["learn"] = "1/4"
        table["rows"] = table.get("rows", [])[:1]
    if method in ("mean", "ratio") and chance.random() < 0.5:
        table["error"] = chance.choice(("noise", "sampling"))
    if method == "mean" and chance.random() < 0.2:
        # A public number of rows, where the world has one.
        table |= {"error": "sampling", "rows": []}
        table.pop("where", None)
        return
    if method == "mean" and chance.random() < 0.2:
        table |= {"learn": "1/4", "clip": chance.choice(([0, 1], [0, 1, 3]))}
        table |= chance.choice(({}, {"beyond": "1/4"}, {"bound_clipped": True}))
        table["rows"] = []
        return
    if method == "sample_and_aggregate":
        _blocks(table, chance)
    if method in ("total", "mean", "proportion") and chance.random() < 0.15:
        # Every replicate is one more part of the answer; each shows what a bootstrap is.
        table |= {"error": "bootstrap", "replicates": chance.choice((2, 3))}
        table.pop("learn", None)


def _blocks(table: Document, chance: random.Random) -> None:
    """A model, a range that not all values lie in, and blocks of which most are empty on tiny data."""
    model = chance.choice([name for name in MODELS if name != FUNCTION])
    table |= {
        "model": model,
        "clip": chance.choice(([0, 3], [-1, 1], [1, 2])),
        "blocks": chance.choice((2, 3, 40)),
        "aggregate": chance.choice(("mean", "mean", "median", "winsorised")),
        "correction": chance.choice(("none", *MODELS[model].corrections)),
    }
    if MODELS[model].takes_predictors:
        table |= {"of": "age", "predictors": ["pay"]}
        table["model"] = chance.choice((model, f"{model}_intercept"))
    if table["aggregate"] != "median" and chance.random() < 0.5:
        table["error"] = "noise"


def _counted(table: Document, privacy: Document, chance: random.Random) -> None:
    definition = privacy["definition"]
    if definition == "individual":
        table.pop("rows", None)
        return
    if definition == "public_attributes":
        return
    kind = chance.random()
    if kind < 0.1:
        table["weight"] = "weight"
    elif kind < 0.4 and table.get("rows"):
        _listed(table, privacy, chance)
    elif kind < 0.65 and table.get("rows"):
        _ranged(table, privacy, chance)
    elif kind < 0.7:
        table |= {"rows": ["region"], "refine": {"half": chance.choice((1, 2))}}
        if chance.random() < 0.5:
            table["learn"] = "1/2"
    elif kind < 0.8:
        privacy |= chance.choice(STATED)
        # These laws are what they are, whatever may be spent; they fit a large amount only.
        privacy |= {name: most for name, most in (("epsilon", "4"), ("delta", "0.1")) if name in privacy}
    elif kind < 0.87:
        table["sample"] = chance.choice(("1/2", "1/10"))
    elif kind < 0.93:
        table["keyed"] = True


def _ranged(table: Document, privacy: Document, chance: random.Random) -> None:
    """Ranges of the axes, or boxes of them."""
    ends = {"sex": ("f", "m"), "region": ("n", "e", "s"), "two": ("a", "b"), "region.half": ("up", "down")}
    names = [
        axis if isinstance(axis, str) else ".".join((axis["variable"], *([axis["level"]] if "level" in axis else [])))
        for axis in table["rows"]
    ]

    def pair(name: str) -> list[str]:
        places = sorted(chance.choices(range(len(ends[name])), k=2))
        return [ends[name][place] for place in places]

    listed = [name for name in names if name in ends]
    if listed and chance.random() < 0.3:
        table["ranges"] = [{name: pair(name) for name in listed} for _ in range(chance.choice((1, 2, 3)))]
    else:
        kinds: list[Any] = ["all", "prefixes", 1, 2]
        table["ranges"] = {
            name: chance.choice([*kinds, [pair(name)]] if name in ends else kinds)
            for name in chance.sample(names, chance.randint(1, len(names)))
        }
    if chance.random() < 0.7:
        privacy["strategy"] = chance.choice(STRATEGIES)


def _is_listed(table: Document, scope: Scope, chance: random.Random) -> bool:
    """Whether totals or means become a list of margins: some of those that ask for nothing else."""
    is_plain = not {"error", "learn"} & table.keys() and bool(table.get("rows"))
    return scope is Scope.ALL_DATA and is_plain and chance.random() < 0.3


def _listed(table: Document, privacy: Document, chance: random.Random) -> None:
    """A list of margins, along the levels of a hierarchy too."""
    names = [a["variable"] if isinstance(a, dict) else a for a in table["rows"]]
    lists: list[Any] = ["all", [[name] for name in names]]
    if "region" in table["rows"]:
        lists.append([["region"], ["region.half"], []])
    table["margins"] = chance.choice(lists)
    # Without one of these words a list is refused wherever an axis can drop a row, which is nearly everywhere here.
    if chance.random() < 0.9:
        table["universe"] = chance.choice(("complete", "complete", "own"))
    if chance.random() < 0.4:
        table["objective"] = chance.choice(("cells", "tables", "maximum"))
    if chance.random() < 0.5:
        privacy["strategy"] = chance.choice(registry.names("plans.margins.strategies"))
