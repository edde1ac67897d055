"""test_lines.py - the lines of JSON that sqlite-counter export prints, and what import says of them."""

import json
import subprocess
import time
import uuid

import pytest

from program import PROGRAM, PRODUCTS, VIEWS, connect, digest, fails, make, ok, rows, run, table

def test_lines_of_export_are_batches_of_json_and_import_takes_them_in(place):
    lines = ok("export", "a.db").splitlines()
    batch = json.loads(lines[0])
    assert len(lines) == 1 and list(batch) == ["format", "source", "since", "upto", "changes"]
    told = [json.loads(rows("a.db", "SELECT counter_change_json(?)", bytes.fromhex(change["change"]))[0][0]) for change in batch["changes"]]
    assert [{column["name"]: column["cell"]["shards"][0]["value"] for column in one["columns"]} for one in told] == [
        {"hits": 1, "bytes": 10}, {"hits": 2, "bytes": 20}]
    assert table(ok("import", "b.db", text=lines[0])) == [[batch["source"], "2", str(batch["upto"])]]
    assert rows("b.db") == [("/", 5, 50), ("/a", 2, 20)]
    once = digest("b.db")
    ok("import", "b.db", text=2 * (lines[0] + "\n\n"))
    assert digest("b.db") == once


def test_export_since_a_mark_gives_what_is_new(place):
    mark = table(ok("import", "b.db", text=ok("export", "a.db")))[0][2]
    assert ok("export", "--since", mark, "a.db") == ok("export", "a.db", f"--since={mark}") == ""
    assert ok("import", "b.db", text="") == ""
    make("a.db", "INSERT INTO views(path, hits) VALUES ('/new', 1)")
    news = ok("export", "--since", mark, "a.db")
    assert [change["key"] for change in json.loads(news)["changes"]] == [["/new"]] * news.count('"packed"')
    assert int(table(ok("import", "b.db", text=news))[0][2]) > int(mark)
    assert ("/new", 1, 0) in rows("b.db")


def test_a_mark_that_the_file_has_not_reached_is_refused(place):
    mark = int(table(ok("import", "b.db", text=ok("export", "a.db")))[0][2])
    assert ok("export", "--since", str(mark), "a.db") == ""
    fails(rf"a\.db: --since {mark + 1} is not a mark of this file, whose changes end before {mark}", "export", "--since",
          str(mark + 1), "a.db")
    make("none.db", VIEWS)
    fails(r"none\.db: --since 7 is not a mark of this file, whose changes end before 1", "export", "--since", "7", "none.db")


def test_many_changes_are_several_lines_whose_marks_form_a_chain(place):
    db = connect("m.db")
    db.execute(VIEWS)
    for n in range(5):
        db.execute("INSERT INTO views SELECT value, 1, NULL FROM json_each(?)", [json.dumps([f"/{n}/{i}" for i in range(500)])])
    db.close()
    make("n.db", VIEWS)
    lines = ok("export", "m.db").splitlines(keepends=True)
    batches = [json.loads(line) for line in lines]
    assert len(batches) == 3 and batches[0]["since"] == 0
    assert [batch["upto"] for batch in batches[:-1]] == [batch["since"] for batch in batches[1:]]
    for batch in batches:
        assert all(batch["since"] <= change["seq"] < batch["upto"] for change in batch["changes"])
    mark = "SELECT counter_mark(?)", [batches[0]["source"]]
    for missing in lines[1:]:  # the mark stays where the first line ended
        ok("import", "n.db", text="".join(line for line in lines if line != missing))
        assert connect("n.db").execute(*mark).fetchone()[0] == batches[lines.index(missing) - 1]["upto"]
    assert table(ok("import", "n.db", text="".join(lines)))[0][1:] == ["2500", str(batches[-1]["upto"])]
    assert digest("n.db") == digest("m.db")


def test_answers_about_opening_values_go_before_all_rows(place):
    def carry(one, two):
        assert run("import", two, text=ok("export", one))[0] == 0  # it warns of a row that differs

    for name in "t.db", "u.db":
        make(name, PRODUCTS, "INSERT INTO products VALUES ('tea', 'Tea', 3)", "SELECT counter_track('products', 'stock')")
    carry("t.db", "u.db")
    assert rows("u.db", "SELECT stock, (SELECT count(*) FROM counter_tracked WHERE why LIKE 'two files counted%') FROM products") == [(3, 1)]
    opening, = rows("u.db", "SELECT name FROM counter_state WHERE kind = 'opening'")[0]
    ok("opening", "t.db", "products", "add", str(uuid.UUID(bytes=opening)))
    make("t.db", "INSERT INTO products VALUES ('jam', 'Jam', 1)")
    carry("t.db", "u.db")
    carry("u.db", "t.db")
    for name in "t.db", "u.db":
        assert rows(name, "SELECT sku, stock FROM products ORDER BY sku") == [("jam", 1), ("tea", 6)]
    ok("opening", "u.db", "products", "same", *(str(uuid.UUID(bytes=row[0])) for row in rows(
        "t.db", "SELECT name FROM counter_state WHERE kind = 'opening'")))
    carry("u.db", "t.db")
    assert rows("t.db", "SELECT stock FROM products WHERE sku = 'tea'") == [(3,)]
    answers = batch_of("u.db")["changes"][:2]
    assert [(answer["change"][:2], len(answer["change"]), answer["packed"], answer["key"]) for answer in answers] == [("04", 70, "", None)] * 2


def batch_of(path):
    return json.loads(ok("export", path))


def test_lines_of_several_sources_are_added_up_by_source(place):
    make("c.db", VIEWS)
    one, two = ok("export", "a.db"), ok("export", "b.db")
    told = table(ok("import", "c.db", text=one + two + one + two + one))
    assert [row[1] for row in told] == ["6", "2"]
    assert [row[0] for row in told] == [batch_of("a.db")["source"], batch_of("b.db")["source"]]
    assert [row[2] for row in told] == [str(batch_of("a.db")["upto"]), str(batch_of("b.db")["upto"])]


def test_lines_of_many_sources_are_told_in_the_order_in_which_they_came(place):
    sources = [f"44444444-4444-4444-8444-{i * 7919 % 1000003:012}" for i in range(3000)]
    lines = [json.dumps({"format": 1, "source": source, "since": 0, "upto": upto, "changes": []}) for upto in (5, 7) for source in sources]
    assert table(ok("import", "b.db", text="\n".join(lines))) == [[source, "0", "7"] for source in sources]


def test_import_locks_nobody_out_while_lines_are_still_to_come(place, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    line = ok("export", "a.db")
    with subprocess.Popen([PROGRAM, "import", "b.db"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdin.write(line)
        process.stdin.flush()
        time.sleep(0.5)
        assert list((tmp_path / "temporary").iterdir()) == []  # what it keeps has no name
        make("b.db", "PRAGMA busy_timeout = 0", "INSERT INTO views(path, hits) VALUES ('/meanwhile', 1)")
        assert len(table(process.communicate()[0])) == 1
    assert rows("b.db") == [("/", 5, 50), ("/a", 2, 20), ("/meanwhile", 1, 0)]


def test_lines_are_kept_in_a_temporary_file_and_not_in_memory(place):
    with subprocess.Popen(["sh", "-c", f"ulimit -v 60000; exec '{PROGRAM}' import b.db"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for _ in range(100):
            process.stdin.write((" " * 999999) + "\n")  # 100 MB
        out, error = process.communicate(ok("export", "a.db"))
    assert (process.returncode, error, len(table(out))) == (0, "", 1)


def test_a_temporary_file_that_cannot_be_made_is_told(place, monkeypatch):
    monkeypatch.setenv("TMPDIR", "/nowhere")
    fails("a temporary file cannot be made: No such file or directory: nothing was imported", "import", "b.db")
    with open("lines.json", "w+") as lines:  # an ordinary file needs none
        lines.write(ok("export", "a.db"))
        lines.seek(0)
        assert subprocess.run([PROGRAM, "import", "b.db"], stdin=lines, capture_output=True).returncode == 0


def test_a_row_that_waits_after_an_import_is_told(place):
    make("c.db", PRODUCTS.replace("name TEXT", "name TEXT NOT NULL"), "SELECT counter_track('products', 'stock')")
    make("d.db", PRODUCTS, "SELECT counter_track('products', 'stock')",
         "INSERT INTO products VALUES ('tea', 'T', 5), ('jam', 'J', 1)")
    status, out, error = run("import", "c.db", text=ok("export", "d.db"))
    assert (status, len(table(out))) == (0, 1)
    assert error == "sqlite-counter: c.db: 2 rows wait for their tables: see sqlite-counter status c.db\n"


def test_a_table_that_is_missing_is_told_with_what_makes_it(place):
    make("d.db", PRODUCTS, "SELECT counter_track('products', 'stock')", "INSERT INTO products VALUES ('tea', 'T', 5)")
    fails("a.db: line 1: change 1: table products: no counter table was created with this name here: CREATE it as at the source; if it "
          "is a tracked one there, CREATE the ordinary table, and call counter_track: nothing was imported",
          "import", "a.db", text=ok("export", "d.db"))
    make("a.db", PRODUCTS)
    ok("track", "a.db", "products", "stock")
    ok("import", "a.db", text=ok("export", "d.db"))
    assert rows("a.db", "SELECT sku, stock FROM products") == [("tea", 5)]


def test_blank_lines_between_lines_mean_nothing(place):
    one, two = ok("export", "a.db"), ok("export", "b.db")
    make("c.db", VIEWS)
    assert len(table(ok("import", "c.db", text=f"\n{one}\n \t\r\n{two}\n\n"))) == 2
    assert rows("c.db") == [("/", 5, 50), ("/a", 2, 20)]


GOOD = '{"format":1,"source":"7529cd67-394b-3247-8020-f2a7272fc8d9","since":0,"upto":1,"changes":[]}'
FORMAT = "the member format must be a whole number, 1 or more, not .*"


@pytest.mark.parametrize("line, sentence", [
    ("{", "it is cut short"),
    ("hello", "it has a word that JSON does not have"),
    ("\0", "it has .*"),
    (GOOD[:-1], "it is cut short"),
    (GOOD + GOOD, "it has something behind its end"),
    ("[]", "it must be an object of JSON"),
    ("5", "it must be an object of JSON"),
    (GOOD.replace("[]", "{}"), "the member changes must be an array"),
    *((GOOD.replace('"format":1', f'"format":{value}'), FORMAT) for value in ["0", "-1", "null", '"1"', "1.5", "[]"]),
    (GOOD.replace('"format":1,', ""), "the member format must be .*, not missing"),
    (GOOD.replace('"format":1', '"format":2'), "it has the format 2, and this version reads 1: install a newer sqlite-counter"),
    ('{"format":3,"other":1}', "it has the format 3, .*"),
    (GOOD.replace(":0,", ":null,", 1), "the member since .*"),
    (GOOD.replace('"upto":1', '"upto":"x"'), "the member upto .*"),
    (GOOD.replace("7529", "xxxx"), "the source .*"),
    (GOOD.replace("[]", "[5]"), "change 1: it must be an object"),
    (GOOD.replace("[]", '["x"]'), "change 1: it must be an object")])
def test_a_line_that_is_not_a_batch_is_told_by_its_number_and_nothing_is_imported(place, line, sentence):
    good, before = ok("export", "a.db"), digest("b.db")
    fails(f"b.db: line 3: {sentence}: nothing was imported", "import", "b.db", text=f"{good}\n{line}\n{good}")
    assert digest("b.db") == before
    assert rows("b.db", "SELECT count(*) FROM counter_peers WHERE mark > 0") == [(0,)]


@pytest.mark.parametrize("field, value, sentence", [
    ("packed", "D1'); DROP TABLE views; --", "the member packed must be a text of hexadecimal digits, not .*"),
    ("packed", "D10", "the member packed .*"), ("packed", "D1", ".*"), ("packed", None, "the member packed .*null"),
    ("table", "other", "table other: no counter table was created with this name here: .*"), ("seq", "x", "the member seq .*"),
    ("key_columns", "k TEXT BINARY", ".*"), ("change", None, "the member change .*null"), ("change", "", "table views: the change .*"),
    ("change", "0101", "table views: the change .*"), ("change", "7f", "table views: the change .*"), ("change", "01x", "the member change .*")])
def test_a_change_that_was_forged_is_told_by_its_number_and_nothing_is_imported(place, field, value, sentence):
    batch, before = json.loads(ok("export", "a.db")), digest("b.db")
    batch["changes"][1][field] = value
    fails(f"b.db: line 1: change 2: {sentence}: nothing was imported", "import", "b.db", text=json.dumps(batch))
    assert digest("b.db") == before
