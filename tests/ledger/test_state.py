"""What decides about money or permission cannot be edited beside the chain: every column of every table of the state.

Columns are read from the store's own catalogue, so that a new one is tested without being named here.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dalenius.errors import DaleniusError, LedgerCorrupt
from dalenius.ledger import Ledger, schema
from dalenius.ledger.seal import Witness, leaf_of, name_of
from dalenius.ledger.statement import export_statement
from dalenius.ledger.tree import SALT_SIZE

# Lines are chained by themselves; everything else is state, or binds it.
NOT_STATE = {"entries"}


class Intruder:
    """Somebody who can write to the store, and is hindered neither by its guards nor by its constraints."""

    def __init__(self, location: str) -> None:
        self.is_file = "://" not in location
        if self.is_file:
            self.connection: Any = sqlite3.connect(location, isolation_level=None, timeout=30)
            for (name,) in self.query("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
                self.do(f"DROP TRIGGER {name}")
            self.do("PRAGMA ignore_check_constraints = ON")
        else:
            import psycopg

            self.connection = psycopg.connect(location, autocommit=True)
            self.do("SET search_path = dalenius")
            self.do("SET session_replication_role = replica")
            checks = "SELECT conrelid::regclass, conname FROM pg_constraint WHERE contype = 'c' AND conrelid::regclass::text IN "
            for table, name in self.query(checks + f"({', '.join(repr(t) for t in self.tables())})"):
                self.do(f"ALTER TABLE {table} DROP CONSTRAINT {name}")

    def do(self, sql: str, *values: Any) -> None:
        self.connection.execute(sql if self.is_file else sql.replace("?", "%s"), values)

    def query(self, sql: str, *values: Any) -> list[Any]:
        return self.connection.execute(sql if self.is_file else sql.replace("?", "%s"), values).fetchall()

    def tables(self) -> list[str]:
        names = (
            "SELECT name FROM sqlite_master WHERE type = 'table'"
            if self.is_file
            else "SELECT table_name FROM information_schema.tables WHERE table_schema = 'dalenius'"
        )
        return sorted({name for (name,) in self.query(names)} - NOT_STATE)

    def columns(self, table: str) -> list[str]:
        if self.is_file:
            return [row[1] for row in self.query(f"PRAGMA table_info({table})")]
        sql = "SELECT column_name FROM information_schema.columns WHERE table_schema = 'dalenius' AND table_name = ?"
        return [name for (name,) in self.query(sql, table)]

    @contextmanager
    def changed(self, table: str, **values: Any) -> Iterator[None]:
        """The row that requests read, with other values, as long as it lasts."""
        names, rows = self.columns(table), self.rows(table)
        self.replaced(
            table, names, rows, [tuple((dict(zip(names, rows[0], strict=True)) | values).values()), *rows[1:]]
        )
        try:
            yield
        finally:
            self.replaced(table, names, self.rows(table), rows)

    def rows(self, table: str) -> list[Any]:
        """All rows; the one that the fixture's requests read is the first."""
        rows = sorted(self.query(f"SELECT * FROM {table}"), key=repr)
        read = {"balances": ("master", "total"), "charges": ("aa",)}.get(table, ())
        return sorted(rows, key=lambda row: not set(read) <= {v for v in row if isinstance(v, str)})

    def replaced(self, table: str, names: list[str], old: list[Any], new: list[Any]) -> None:
        """Other rows in the place of those that differ."""
        for row in [row for row in old if row not in new]:
            same = " AND ".join(f"{name} IS NOT DISTINCT FROM ?" for name in names)
            self.do(f"DELETE FROM {table} WHERE {same}", *row)
        for row in [row for row in new if row not in old]:
            self.do(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(row))})", *row)


def other(value: Any) -> Any:
    """Something else that the column's type can hold."""
    match value:
        case None:
            return 7
        case bytes():
            return bytes([value[0] ^ 1]) + value[1:] if value else b"x"
        case str():
            return value + "x"
        case _:
            return value - 1 if value else 1


@pytest.fixture
def told(opener, charge) -> Ledger:
    """A ledger in which every table has rows."""
    ledger = opener()
    ledger.secret("people")
    ledger.declarations.register("people", "census", "2021", "fingerprint", "domain", by="custodian")
    ledger.declarations.grant("people", "add-remove", 1, "1e-6", by="custodian")
    ledger.declarations.approval("people", "3/4", by="custodian")
    ledger.declarations.quota("people", "ann", "1/2", 0, by="custodian")
    ledger.commit(ledger.reserve(charge("aa", analyst="ann")), b"document")
    ledger.reserve(charge("bb", analyst="ann", rho="1/16"))
    return ledger


@pytest.fixture
def intruder(told, location) -> Iterator[Intruder]:
    intruder = Intruder(location)
    yield intruder
    intruder.connection.close()


def readers(ledger: Ledger, charge: Callable[..., Any]) -> dict[str, list[Callable[[], Any]]]:
    """What reads a row of each table when something is charged, completed or looked up."""
    pay = lambda: ledger.reserve(charge("new", analyst="ann", rho="1/100"))  # noqa: E731
    again = [lambda: ledger.reserve(charge("aa", analyst="ann"))]
    return {
        "terms": [pay, lambda: ledger.reader.account("people")],
        "balances": [pay, lambda: ledger.reader.account("people")],
        "charges": again,
        "releases": again,
        "registrations": [pay, lambda: ledger.reader.registration("census", "2021")],
        "checks": [lambda: ledger.secret("people")],
        "head": [pay],
        "tree": [],
    }


def test_a_balance_set_back_is_not_spent_again(told, intruder, charge, opener):
    """The plainest attack: one statement gives the budget back."""
    intruder.do("UPDATE balances SET spent_rho = 0")
    with pytest.raises(LedgerCorrupt, match=r"'balances'.*changed outside") as refusal:
        told.reserve(charge("cc", rho="1/8"))
    assert refusal.value.code == "ledger_corrupt" and refusal.value.detail == {"table": "balances"}
    with pytest.raises(LedgerCorrupt, match="'balances'"):
        opener()
    with opener(may_write=False) as looked:
        assert any("'balances'" in problem for problem in looked.reader.verify().problems)
        with pytest.raises(LedgerCorrupt):
            looked.reader.statement("people")


def test_every_column_of_every_table_is_noticed_on_opening_and_where_it_is_read(told, intruder, opener, charge):
    seen, work = 0, readers(told, charge)
    assert set(work) == set(intruder.tables())
    for table in intruder.tables():
        for column in intruder.columns(table):
            value = intruder.rows(table)[0][intruder.columns(table).index(column)]
            if (table, column) == ("releases", "document"):
                # A document is hashed whenever it is served: hashing all of them on opening would take too long.
                with intruder.changed(table, document=b"other"), pytest.raises(LedgerCorrupt):
                    told.reader.find("aa")
                continue
            with intruder.changed(table, **{column: other(value)}):
                with pytest.raises(DaleniusError) as refusal:
                    opener()
                assert refusal.value.code in ("ledger_corrupt", "anchor_mismatch"), (table, column)
                for read in work[table]:
                    with pytest.raises(LedgerCorrupt):
                        print(table, column, read())
            seen += 1
    assert seen > 60
    opener().close()
    assert told.reader.verify().is_ok


@pytest.mark.parametrize("table", list(schema.STATE))
def test_a_row_removed_added_or_put_back_is_noticed(told, intruder, opener, charge, table):
    names, rows = intruder.columns(table), intruder.rows(table)
    old = rows[0]
    intruder.replaced(table, names, rows, rows[1:])
    with pytest.raises(LedgerCorrupt, match=repr(table)):
        opener()
    intruder.replaced(table, names, rows[1:], rows)
    key = {"charges": "seq", "releases": "seq"}.get(table, schema.STATE[table].columns[0])
    fresh = {n: other(v) if n in (key, "key", "entry", "dataset") else v for n, v in zip(names, old, strict=True)}
    intruder.replaced(table, names, rows, [*rows, tuple(fresh.values())])
    with pytest.raises(LedgerCorrupt, match=repr(table)):
        opener()
    intruder.replaced(table, names, intruder.rows(table), rows)
    opener().close()


def test_an_older_row_put_back_is_noticed_even_with_its_salt_and_its_tree(told, intruder, opener, charge):
    """Row, salt and every node above it as they stood a moment ago; the lines and the head are today's."""
    before = {table: intruder.rows(table) for table in ("balances", "tree")}
    told.reserve(charge("cc", rho="1/8"))
    told.reader.account("people")
    for tables in (("balances",), ("tree",), ("balances", "tree")):
        after = {table: intruder.rows(table) for table in tables}
        for table in tables:
            intruder.replaced(table, intruder.columns(table), after[table], before[table])
        for work in (opener, lambda: told.reader.account("people"), lambda: told.reserve(charge("dd"))):
            # Nodes that a process has compared are not read again, and honest rows are sold from.
            if work is opener or "balances" in tables:
                with pytest.raises(LedgerCorrupt):
                    work()
        for table in tables:
            intruder.replaced(table, intruder.columns(table), intruder.rows(table), after[table])
    opener().close()


def test_two_rows_with_exchanged_amounts_or_salts_are_noticed(told, intruder, opener):
    names, rows = intruder.columns("balances"), intruder.rows("balances")
    first, second = (dict(zip(names, row, strict=True)) for row in rows[:2])
    for part in (("salt",), ("spent_rho", "limit_rho", "limit_delta", "spent_delta"), ("changed", "salt")):
        if [first[name] for name in part] == [second[name] for name in part]:
            continue
        swapped = [
            tuple((first | {n: second[n] for n in part}).values()),
            tuple((second | {n: first[n] for n in part}).values()),
        ]
        intruder.replaced("balances", names, rows, [*swapped, *rows[2:]])
        with pytest.raises(LedgerCorrupt):
            opener()
        intruder.replaced("balances", names, intruder.rows("balances"), rows)


def test_a_quota_that_is_removed_while_the_ledger_is_open_is_missed(told, intruder, charge):
    intruder.do("DELETE FROM balances WHERE kind = 'quota'")
    with pytest.raises(LedgerCorrupt, match="'balances'"):
        told.reserve(charge("cc", analyst="ann", rho="1/2"))


def test_a_data_set_does_not_change_hands_while_the_ledger_is_open(told, intruder):
    intruder.do("DELETE FROM registrations")
    with pytest.raises(LedgerCorrupt, match="'registrations'"):
        told.declarations.register("strangers", "census", "2022", "fingerprint", "domain")


def test_a_release_that_is_removed_is_missed_by_who_completes_it(told, intruder, charge):
    intruder.do("DELETE FROM releases")
    with pytest.raises(LedgerCorrupt, match="'releases'"):
        told.reserve(charge("aa", analyst="ann"))


def test_a_row_copied_under_another_key_is_no_second_row(told, intruder, charge):
    """Two charges that name one line: one of them is a copy."""
    names, rows = intruder.columns("charges"), intruder.rows("charges")
    copy = tuple({"key": "zz", "entry": "zz"}.get(name, value) for name, value in zip(names, rows[0], strict=True))
    intruder.replaced("charges", names, rows, [*rows, copy])
    assert len(told.reader.query(schema.CHARGES_TABLE.select)) == 3
    with pytest.raises(LedgerCorrupt, match="'charges'"):
        told.reader.state({"charges": ("", ())})


def test_nobody_without_the_key_adds_a_line_to_a_store_that_is_ahead(told, intruder, opener, tmp_path):
    """Rows, tree, line and head that fit together, made by somebody who lacks the signing key alone."""
    from dalenius.ledger.administer import Grant
    from dalenius.ledger.anchor import AnchorFile
    from dalenius.ledger.declarations import Declarations
    from dalenius.ledger.draft import Draft
    from dalenius.ledger.store import apply, load

    stranger = Witness(AnchorFile.signed_with(tmp_path / "elsewhere", b"k" * 32), lambda: told.reader.name)
    granted: list[Grant] = []
    Declarations(granted.append).grant("people", "add-remove", 100, 0, by="custodian")
    with told._store.transaction():
        state, head, tree = load(told._store, granted[0].needs, told._writer._witness)
        draft = Draft(state, head, 0.0)
        granted[0].decide(draft)
        apply(told._store, draft, tree, stranger)
    for work in (
        opener,
        lambda: told.reader.account("people"),
        lambda: told.declarations.note("x", {}, by="custodian"),
    ):
        with pytest.raises(LedgerCorrupt, match="'head'"):
            work()


def test_a_line_that_was_edited_is_noticed_on_opening(told, intruder, opener):
    names, rows = intruder.columns("entries"), intruder.query("SELECT * FROM entries ORDER BY seq")
    for number in (1, len(rows) - 2):
        for column in names:
            row = dict(zip(names, rows[number], strict=True))
            if column == "seq":
                continue
            intruder.do(f"UPDATE entries SET {column} = ? WHERE seq = ?", other(row[column]), row["seq"])
            with pytest.raises(DaleniusError) as refusal:
                opener()
            assert refusal.value.code in ("ledger_corrupt", "anchor_mismatch"), column
            intruder.do(f"UPDATE entries SET {column} = ? WHERE seq = ?", row[column], row["seq"])
    intruder.do(
        "INSERT INTO entries SELECT -1, name, kind, population, line, previous, digest FROM entries WHERE seq = 2"
    )
    with pytest.raises(LedgerCorrupt, match="'entries'"):
        opener()
    intruder.do("DELETE FROM entries WHERE seq = -1")
    opener().close()


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE terms SET relation = 'neither'",
        "UPDATE charges SET is_done = 9",
        "UPDATE charges SET lease_until = -1.5",
        "UPDATE releases SET status = 'elsewhere'",
        "UPDATE balances SET salt = 'text'",
        "UPDATE balances SET population = CAST(X'ff00' AS BLOB)",
        "UPDATE balances SET name = CAST(X'ff' AS TEXT)",
        "UPDATE charges SET seq = 'x'",
        "UPDATE charges SET salt = zeroblob(3)",
        "UPDATE tree SET content = 'text'",
        "UPDATE tree SET content = zeroblob(40)",
        "UPDATE tree SET place = CAST(X'ff' AS BLOB) WHERE place = ''",
        "UPDATE tree SET content = zeroblob(0) WHERE place <> ''",
        "DELETE FROM tree",
        "DELETE FROM tree WHERE place = ''",
        "UPDATE head SET salt = 'text'",
        "UPDATE head SET signature = ''",
        "UPDATE head SET signature = 7",
        "UPDATE head SET seq = 'x'",
        "DELETE FROM head",
        "UPDATE entries SET line = '{' WHERE seq = (SELECT MAX(seq) FROM entries)",
        "UPDATE entries SET line = X'00' WHERE seq = (SELECT MAX(seq) FROM entries)",
    ],
)
def test_whatever_was_put_there_the_answer_is_a_message(tmp_path, charge, sql):
    """Values that no honest writer makes, in a file that holds anything."""
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        ledger.declarations.register("people", "census", "2021", "fingerprint", "domain")
        ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian")
        ledger.commit(ledger.reserve(charge("aa")), b"document")
        with Ledger.open(tmp_path / "ledger.db") as stale:
            ledger.declarations.note("x", {}, by="custodian")
            intruder = Intruder(str(tmp_path / "ledger.db"))
            intruder.do(sql)
            with pytest.raises(DaleniusError) as refusal:
                Ledger.open(tmp_path / "ledger.db")
            assert refusal.value.code in ("ledger_corrupt", "anchor_mismatch"), refusal.value
            with pytest.raises(DaleniusError) as refusal:
                [stale.reserve(charge(key, rho="1/100")) for key in ("aa", "bb")]
                stale.reader.account("people")
            assert refusal.value.code in ("ledger_corrupt", "not_registered"), refusal.value
            intruder.connection.close()
        assert not ledger.reader.verify().is_ok


def test_a_node_that_nothing_names_is_noticed_on_opening(told, intruder, opener):
    intruder.do("INSERT INTO tree (place, content) VALUES ('2ffff', ?)", b"")
    with pytest.raises(LedgerCorrupt, match="'tree'"):
        opener()


def test_a_line_that_is_no_text_is_noticed_on_opening(tmp_path):
    Ledger.open(tmp_path / "ledger.db").close()
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        for _ in range(2):
            ledger.declarations.note("x", {}, by="custodian")
    Intruder(str(tmp_path / "ledger.db")).do("UPDATE entries SET line = 7 WHERE seq = 2")
    Intruder(str(tmp_path / "ledger.db")).do("UPDATE entries SET line = X'00' WHERE seq = 2")
    with pytest.raises(LedgerCorrupt, match="'entries'"):
        Ledger.open(tmp_path / "ledger.db")


# What is printed.


def test_salts_never_leave_the_store(told, intruder, charge, tmp_path, capsys):
    """Nothing that is exported, stated, reported, anchored or refused holds a salt, a root or a leaf."""
    from dalenius.ledger.restore import restore

    secret = []
    for table in intruder.tables():
        names = intruder.columns(table)
        secret += [row[names.index("salt")] for row in intruder.rows(table) if "salt" in names]
    secret += [content[at : at + 16] for _, content in intruder.rows("tree") for at in range(len(content) - 15)]
    assert all(len(salt) == SALT_SIZE for salt in secret[:10]) and len(set(secret[:10])) == 10
    statement = told.reader.statement("people")
    printed = [
        *(told.reader.export(form) for form in ("json", "jsonl", "csv")),
        *(export_statement(statement, form) for form in ("json", "jsonl", "csv")),
        json.dumps(told.reader.verify().to_dict()),
        json.dumps(told.reader.account("people").balances[0].to_dict()),
        repr(told.reader.account("people")),
        repr(told.reserve(charge("cc"))),
        statement._repr_html_(),
        (tmp_path / "anchor").read_text(),
        str(told.reader.find("aa")),
    ]
    intruder.do("UPDATE balances SET spent_rho = 0")
    for work in (
        lambda: told.reserve(charge("dd")),
        lambda: restore(told._location, by="c", note="n", anchor=tmp_path / "anchor", keys=tmp_path / "keys"),
    ):
        with pytest.raises(LedgerCorrupt) as refusal:
            work()
        printed += [str(refusal.value), json.dumps(refusal.value.to_dict())]
    text = "\n".join(printed)
    for value in secret:
        assert value.hex() not in text and repr(value)[2:-1] not in text


def test_the_root_is_blinded_and_every_head_is_unguessable(told, charge):
    """Two segments that leave the same state name different digests, and every segment ends in a sealed line."""
    anchored = {line.seq for line in told.reader.anchor.lines(told.reader.name)}
    states = [entry.state for entry in told.reader.entries() if entry.seq in anchored]
    assert all(len(state) == 64 for state in states) and len(set(states)) == len(states)
    assert [entry.state for entry in told.reader.entries() if entry.seq not in anchored and entry.state] == []
    told.declarations.note("nothing", {}, by="custodian")
    told.declarations.note("nothing", {}, by="custodian")
    one, two = told.reader.entries()[-2:]
    assert one.state != two.state


def test_each_row_names_the_line_that_changed_it_and_has_a_fresh_salt(told, intruder, charge):
    def balances():
        names = intruder.columns("balances")
        rows = (dict(zip(names, row, strict=True)) for row in intruder.rows("balances"))
        return {tuple(row[n] for n in names[:4]): (row["changed"], row["salt"]) for row in rows}

    before = balances()
    told.reserve(charge("cc", analyst="bob"))
    after, seq = balances(), told.head.seq
    touched = {key for key, mark in after.items() if mark != before.get(key)}
    assert {key[2:] for key in touched} == {("total", ""), ("unreserved", ""), ("quota", "bob"), ("wave", "2021")}
    assert all(after[key][0] == seq for key in touched)
    salts = [salt for _, salt in after.values()]
    assert len(set(salts)) == len(salts) and not {after[k][1] for k in touched} & {s for _, s in before.values()}


def test_every_column_of_the_catalogue_is_in_a_leaf(told, intruder):
    """A column that the leaf forgets could be edited."""
    for name, table in schema.STATE.items():
        known = set(intruder.columns(name)) - {"document"}
        assert known == set(table.stored), name
        row = tuple(told.reader.query(table.select)[0])
        for place in range(len(row)):
            if place < len(row) - 1:
                changed = (*row[:place], other(row[place]), *row[place + 1 :])
            else:
                changed = (*row[:-1], other(row[-1]))
            assert leaf_of(table, changed) != leaf_of(table, row)
        assert name_of(table, row).startswith(table.tag)


def test_a_new_process_and_one_that_stayed_see_the_same_state(told, opener, charge):
    """Honest paths: each of several open ledgers writes in turn, and goes on from what the others left."""
    others = [told, opener(), opener()]
    for number in range(12):
        ledger = others[number % 3]
        ledger.commit(ledger.reserve(charge(f"k{number}", rho="1/100")), b"x")
        assert others[(number + 1) % 3].reader.account("people").spent.rho == told.reader.account("people").spent.rho
    for ledger in others:
        assert ledger.reader.verify().is_ok
    opener().close()


def test_more_nodes_than_are_remembered_are_read_again(told, opener, charge, monkeypatch):
    from dalenius.ledger import seal

    monkeypatch.setattr(seal, "_MOST_REMEMBERED", 2)
    other_one = opener()
    for number in range(6):
        (told, other_one)[number % 2].reserve(charge(f"k{number}", rho="1/100"))
    assert told.reader.verify().is_ok


def test_only_the_last_line_of_a_segment_is_sealed(told, opener):
    told.together(lambda book: [book.quota("people", name, "1/9", 0, "custodian") for name in "xy"])
    first, last = told.reader.entries()[-2:]
    assert (first.state, bool(last.state)) == ("", True)
    declared = told.declarations.grant("people", "add-remove", "1/9", 0, by="custodian")
    assert declared == told.reader.entries()[-1] and declared.digest == told.head.digest
