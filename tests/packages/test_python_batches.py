"""test_python_batches.py - changes() and apply() of the Python package: lines in any order, twice and late, give the sums of all
increments; what is no batch changes nothing and is told by line and change."""
import importlib
import json
import sqlite3

import pytest

from conftest import EXAMPLES, ROOT, run
from shops import Model, Shop

COMMAND = ROOT / "build" / "sqlite-counter"


def many(shop, n, start=0):
    shop("BEGIN")
    for i in range(start, start + n):
        shop.hit("big", f"page {i}")
    shop("COMMIT")


# ---- lines ----

@pytest.mark.parametrize("own", [False, True])
def test_a_line_has_1000_changes_at_most_and_no_mark_rises_past_what_has_not_come(shop, counter, own):
    one, two = shop("one"), shop("two")
    one.count("tea")
    many(one, 2500)
    one.count("tea")
    lines = list(counter.changes(one.db, own=own))
    batches = [json.loads(line) for line in lines]
    assert not any("\n" in line for line in lines) and max(len(batch["changes"]) for batch in batches) == 1000
    assert all(batch["source"] == one.id() + own * " own" and batch["format"] == 1 for batch in batches)
    since = 0
    for batch in batches:
        assert batch["since"] == since and all(change["seq"] >= since for change in batch["changes"])
        since = batch["upto"]
    numbers = [[change["seq"] for change in batch["changes"]] for batch in batches]
    assert [number for line in numbers for number in line] == sorted(number for line in numbers for number in line)
    assert all(batch["upto"] <= line[0] for batch, line in zip(batches, numbers[1:])) and batches[-1]["upto"] > numbers[-1][-1]
    assert sum(batch["upto"] == batch["since"] for batch in batches) >= 1
    for line in lines:
        counter.apply(two.db, line)
    assert two.content() == one.content()
    assert counter.mark(two.db, batches[0]["source"]) == batches[-1]["upto"]
    assert list(counter.changes(one.db, batches[-1]["upto"], own=own)) == []


def test_a_line_ends_early_where_its_changes_are_large(shop, counter):
    one, two = shop("one"), shop("two")
    one("BEGIN")
    for i in range(30):
        one("INSERT INTO products VALUES (?, ?, 1)", f"sku {i}", str(i) * 50_000)
    one("COMMIT")
    lines = list(counter.changes(one.db))
    assert len(lines) > 2 and max(map(len, lines)) < 1_300_000
    assert counter.apply(two.db, reversed(lines)).changes == 30 and two.content() == one.content()
    counter.apply(two.db, lines)
    assert list(counter.changes(one.db, counter.mark(two.db, one.id()))) == []


def test_sums_are_exact_whatever_lines_are_lost_doubled_and_late(shop, counter, chance):
    for example in range(max(2, EXAMPLES // 25)):
        shops, model, wire = [shop(f"{example} {i}") for i in range(3)], Model(), []
        for _ in range(40):
            giver, taker = chance.sample(shops, 2)
            what = chance.random()
            if what < 0.5:
                model.step(giver, chance)
            elif what < 0.75:
                own = chance.random() < 0.5
                since = counter.mark(taker.db, giver.id() + own * " own")
                lines = list(counter.changes(giver.db, since, own=own))
                wire += [line for line in lines if chance.random() < 0.8]
            elif wire:
                lines = chance.choices(wire, k=chance.randrange(1, 4))
                counter.apply(taker.db, lines)
        for giver in 2 * shops:
            for taker in shops:
                if giver is not taker:
                    counter.apply(taker.db, counter.changes(giver.db, counter.mark(taker.db, giver.id())))
        products, hits = model.content()
        for one in shops:
            assert one.content() == (products, hits)


def test_numbers_stay_exact_up_to_the_largest(shop, counter):
    one, two = shop("one"), shop("two")
    for sku, n in ("max", 2**63 - 1), ("min", -2**63), ("odd", 2**53 + 1):
        one.count(sku, n)
    counter.apply(two.db, counter.changes(one.db))
    assert dict(two("SELECT sku, stock FROM products")) == {"max": 2**63 - 1, "min": -2**63, "odd": 2**53 + 1}


def test_keys_and_texts_of_any_bytes_arrive(shop, counter):
    one, two = shop("one"), shop("two")
    for page in "a\nb\r\u2028\0c", "\U0001f375 \"quoted\\", b"\x00\xff", 1.5, -7:
        one.hit("s", page)
    one("INSERT INTO hits VALUES ('s', CAST(x'61ff' AS TEXT), 3)")
    counter.apply(two.db, "\n".join(counter.changes(one.db)))
    shown = "SELECT hex(page), typeof(page), n FROM hits ORDER BY 1, 2"
    assert two(shown) == one(shown)


def test_the_command_line_reads_and_writes_the_same_lines(shop, counter, tmp_path):
    one, two, three = shop("one"), shop("two"), shop("three")
    many(one, 20)
    one.count("tea", 3)
    (tmp_path / "lines").write_text("".join(f"{line}\n" for line in counter.changes(one.db)))
    with open(tmp_path / "lines") as lines:
        run(COMMAND, "import", two.path, stdin=lines)
    assert two.content() == one.content()
    counter.apply(three.db, run(COMMAND, "export", two.path))
    assert three.content() == one.content()


def test_a_scope_brings_its_rows_and_has_a_mark_of_its_own(shop, counter):
    one, two = shop("one"), shop("two")
    one.hit("x", "1"), one.hit("y", "1")
    one.count("x"), one.count("y")
    lines = list(counter.changes(one.db, scope=["x"]))
    taken = counter.apply(two.db, lines)
    assert list(taken.marks) == [f'{one.id()} ["x"]'] and two.content() == ({"x": 1}, {"x 1": 1})
    assert counter.mark(two.db, one.id()) == 0 < counter.mark(two.db, one.id(), ["x"]) == counter.mark(two.db, one.id(), '[ "x" ]')
    assert list(counter.changes(one.db, counter.mark(two.db, one.id(), ["x"]), scope='["x"]')) == []
    three = shop("three")
    counter.apply(three.db, counter.changes(one.db, own=True), scope=["x"])
    assert three.content() == two.content() and counter.mark(three.db, f"{one.id()} own") == 0 < counter.mark(three.db, f"{one.id()} own", ["x"])
    for wrong in "[]", "{}", "x", '[{"no": 1}]', 5:
        with pytest.raises(counter.SyncError, match="scope"):
            list(counter.changes(one.db, scope=wrong))


# ---- connections ----

def test_apsw_and_connections_with_factories_do_the_same(shop, counter):
    one = shop("one")
    one.count("tea", 5)
    lines = list(counter.changes(one.db))

    def bytes_and_rows(path):
        db = sqlite3.connect(path)  # with transactions that open by themselves
        db.row_factory, db.text_factory = sqlite3.Row, bytes
        return db

    odd = Shop.__new__(Shop)
    two = shop("two")
    two.close()
    odd.db = bytes_and_rows(two.path)
    counter.load(odd.db)
    assert counter.apply(odd.db, lines).changes == 1 and not odd.db.in_transaction
    assert list(counter.changes(odd.db)) and not list(counter.changes(odd.db, own=True))
    odd.db.close()
    apsw = pytest.importorskip("apsw")
    three = shop("three", connect=apsw.Connection)
    assert counter.apply(three.db, lines).changes == 1 and three.content() == one.content()
    assert [json.loads(line)["changes"] for line in counter.changes(three.db)]
    with pytest.raises(counter.SyncError, match="change 1: "):
        counter.apply(three.db, lines[0].replace('"d103', '"d1ff'))


def test_in_a_transaction_of_the_caller_only_the_lines_are_taken_back(shop, counter):
    one, two = shop("one"), shop("two")
    one.count("tea")
    line, = counter.changes(one.db)
    two("BEGIN")
    two.count("jam")
    with pytest.raises(counter.SyncError, match="line 2: it is cut short: nothing was taken in$"):
        counter.apply(two.db, [line, line[:-1]])
    assert two.content() == ({"jam": 1}, {})
    assert counter.apply(two.db, [line, "", line]).marks == {one.id(): json.loads(line)["upto"]}
    two("ROLLBACK")
    assert two.content() == ({}, {}) and counter.mark(two.db, one.id()) == 0


def test_a_file_that_is_locked_is_a_sentence(shop, counter):
    one, two, again = shop("one"), shop("two"), shop("two", timeout=0)
    one.count("tea")
    two("BEGIN IMMEDIATE")
    with pytest.raises(counter.SyncError, match="database is locked: nothing was taken in"):
        counter.apply(again.db, counter.changes(one.db))


def test_a_connection_without_the_extension_or_tables_is_told(counter):
    db = sqlite3.connect(":memory:")
    with pytest.raises(counter.SyncError, match="no counter tables"):
        counter.apply(db, [])
    with pytest.raises(counter.SyncError, match="load"):
        counter.mark(db, "x")


def test_a_mark_beyond_the_changes_is_that_of_a_file_that_was_replaced(shop, counter):
    one = shop("one")
    one.count("tea")
    assert list(counter.changes(one.db, 2**62)) == list(counter.changes(one.db))


def test_a_file_whose_texts_are_in_utf_16_gives_and_takes_the_same_lines(shop, counter, tmp_path):
    one, three = shop("one"), shop("three")
    with sqlite3.connect(tmp_path / "two.db") as made:
        made.execute("PRAGMA encoding = 'UTF-16'")
        made.execute("CREATE TABLE other(x)")
    two = shop("two")
    assert two("PRAGMA encoding") == [("UTF-16le",)]
    one.count("\u00e4 \U0001f375"), one.hit("\u00e4", "1")
    counter.apply(two.db, counter.changes(one.db))
    counter.apply(three.db, counter.changes(two.db))
    assert one.content() == two.content() == three.content()


def test_a_line_is_told_by_its_number_wherever_it_stands(shop, counter, monkeypatch):
    one, two = shop("one"), shop("two")
    one.count("tea")
    line, = counter.changes(one.db)
    for enough in 2**20, 1:
        monkeypatch.setattr(importlib.import_module("sqlite_counter.batches"), "ENOUGH_BYTES", enough)
        for lines in [line, "", line, "7"], [f"{line}\n", b"\r\n", line.encode(), b"7"], f"{line}\n\n{line}\n7\n", [f"{line}\n\n{line}", "7"]:
            with pytest.raises(counter.SyncError, match="line 4: "):
                counter.apply(two.db, lines)
    assert two.content() == ({}, {})


# ---- what is no batch ----

ID = "7529cd67-394b-3247-8020-f2a7272fc8d9"
SHARD = ID.replace("-", "") + "010a"  # its first increment, by 5


def change(*shards):
    """Of a row of hits whose n has these shards."""
    cell = f"c101{''.join(shards)}"
    return f"010001016e0101{len(cell) // 2:02x}{cell}"


def batch(of_change=None, **members):
    made = {"table": "hits", "key_columns": None, "packed": "d1030178030132", "change": change(SHARD), "seq": 7, **(of_change or {})}
    return {"format": 1, "source": ID, "since": 0, "upto": 9, "changes": [made], **members}


HOSTILE = [
    (b"\xff\xfe", "it "), ("\ud800", "it "), ("[" * 100_000, "it is nested too deep"), ('{"changes": NaN}', "a word that JSON does not have"),
    ("[]", "it must be an object"), ("7", "it must be an object"), ('{"changes":[],"since":' + "9" * 5000 + "}", ""),
    (batch(format=2), "it has the format 2, .* install a newer sqlite-counter"), (batch(format="1"), "format must be a whole number"),
    (batch(changes={}), "changes must be an array"), (batch(source=None), "source must be a text"),
    (batch(source="x'); DROP TABLE hits; --"), "is not the name of a file"), (batch(since=-1), "since must be a whole number, 0 or more, not -1"),
    (batch(since=1.0), "since must be a whole number"), (batch(since=True), "since must be"), (batch(upto=2**63), "upto must be"),
    (batch(changes=[[]]), "change 1: it must be an object"), (batch({"table": ["hits"]}), "change 1: the member table must be a text"),
    (batch({"table": "a\ud800"}), "an escape that JSON does not have"),
    (batch({"table": "hits\"; DROP TABLE hits; --"}), "change 1: table hits\"; DROP TABLE hits; --: no counter table was created with this name"),
    (batch({"packed": "D2020"}), "change 1: the member packed must be a text of hexadecimal digits"), (batch({"packed": None}), "packed must be"),
    (batch({"packed": "FF"}), "change 1: "), (batch({"change": "zz"}), "change must be a text of hexadecimal digits"), (batch({"change": 7}), "change must be"),
    (batch({"change": ""}), "change 1: "), (batch({"change": "09"}), "change 1: "), (batch({"change": change(SHARD)[:-2]}), "change 1: "),
    (batch({"change": change(SHARD) + "00"}), "change 1: "), (batch({"change": change(SHARD, SHARD)}), "change 1: "),
    (batch({"change": change(SHARD[:-4] + "0000")}), "change 1: "), (batch({"seq": None}), "seq must be a whole number"),
    (batch({"key_columns": "other TEXT BINARY"}), "change 1: "),
]


def test_the_batch_of_which_the_others_are_made_is_one(shop, counter):
    one = shop("one")
    one.hit("x", "2")
    assert counter.apply(one.db, json.dumps(batch())) == (1, {ID: 9}) and one.content() == ({}, {"x 2": 6})


@pytest.mark.parametrize("line, said", HOSTILE, ids=range(len(HOSTILE)))
def test_what_is_no_batch_is_a_sentence_and_changes_nothing(shop, counter, line, said):
    one = shop("one")
    one.hit("x", "1")
    good = json.dumps(batch(changes=[]))
    with pytest.raises(counter.SyncError, match=f"^counter_take: line 2: .*{said}.*: nothing was taken in$") as error:
        counter.apply(one.db, [good, json.dumps(line) if isinstance(line, dict) else line])
    assert len(str(error.value)) < 500
    assert one.content() == ({}, {"x 1": 1}) and counter.mark(one.db, ID) == 0
    assert one("PRAGMA integrity_check") == [("ok",)]


def test_lines_with_members_cut_out_and_changed_never_harm(shop, counter, chance):
    one, two = shop("one"), shop("two")
    one.count("tea", 5), one.hit("x", "1")
    one("DELETE FROM products"), one.count("tea")
    line, = counter.changes(one.db)
    values = [None, 0, -1, 2**63, 1.5, "", "x", "D1", [], {}, True, ID, [None], SHARD]

    def change_one(value):
        if isinstance(value, (dict, list)) and value and chance.random() < 0.8:
            key = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
            if chance.random() < 0.15:
                del value[key]
            else:
                value[key] = change_one(value[key])
            return value
        if isinstance(value, str) and value and chance.random() < 0.5:
            at = chance.randrange(len(value))
            return f"{value[:at]}{chance.choice('0123456789abcdef')}{value[at + 1:]}"
        return chance.choice(values)

    for _ in range(5 * EXAMPLES):
        two("BEGIN")
        try:
            counter.apply(two.db, json.dumps(change_one(json.loads(line))))
        except counter.SyncError as error:
            assert "nothing was taken in" in str(error)
        two("ROLLBACK")
    counter.apply(two.db, line)
    assert two.content() == one.content() and two("PRAGMA integrity_check") == [("ok",)]
