"""test_lines.py - the lines of JSON that sqlite-counter export prints, and what import says of them."""

import json
import shutil
import subprocess
import time
import uuid

import pytest

from program import PROGRAM, PRODUCTS, ROOT, VIEWS, connect, digest, fails, make, ok, rows, run, table

def test_lines_of_export_are_batches_of_json_and_import_takes_them_in(place):
    lines = ok("export", "a.db").splitlines()
    batch = json.loads(lines[0])
    assert len(lines) == 1 and list(batch) == ["format", "source", "since", "upto", "changes"]
    assert {(change["column"], change["cell"]["value"]) for change in batch["changes"]} == {
        ("hits", 1), ("bytes", 10), ("hits", 2), ("bytes", 20)}
    assert table(ok("import", "b.db", text=lines[0])) == [[batch["source"], "4", str(batch["upto"])]]
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
    (place / "batch.json").write_text("".join(lines))
    make("o.db", VIEWS)
    subprocess.run([ROOT / "examples" / "json.sh", "import", "o.db", "batch.json"], check=True, capture_output=True)
    assert digest("o.db") == digest("m.db")
    assert connect("o.db").execute(*mark).fetchone()[0] == batches[-1]["upto"]


def test_json_sh_and_the_program_read_what_the_other_one_prints(place):
    script = ROOT / "examples" / "json.sh"
    make("a.db", "DELETE FROM views WHERE path = '/a'", "INSERT INTO views(views, path) VALUES ('purge below', '!')",
         "INSERT INTO views(views) VALUES ('add column errors')", "INSERT INTO views(path, errors) VALUES ('ü\"''\\', 7)")
    by_script = subprocess.run([script, "export", "a.db"], check=True, capture_output=True, text=True).stdout
    by_program = ok("export", "a.db")
    one, two = json.loads(by_script), json.loads(by_program)
    assert sorted(map(json.dumps, one.pop("changes"))) == sorted(map(json.dumps, two.pop("changes"))) and one == two
    shutil.copy("b.db", "c.db")
    ok("import", "b.db", text=by_script)
    (place / "batch.json").write_text(by_program)
    subprocess.run([script, "import", "c.db", "batch.json"], check=True, capture_output=True)
    assert rows("b.db", "SELECT * FROM views") == rows("c.db", "SELECT * FROM views")
    assert ("ü\"'\\", 0, 0, 7) in rows("b.db", "SELECT * FROM views")
    assert digest("b.db") == digest("c.db")


@pytest.mark.parametrize("program", [True, False])
def test_answers_about_opening_values_go_through_json_before_all_rows(place, program):
    script = ROOT / "examples" / "json.sh"

    def carry(one, two):
        text = ok("export", one) if program else subprocess.run([script, "export", one], check=True, capture_output=True,
                                                                 text=True).stdout
        (place / "batch.json").write_text(text)
        if program:
            return run("import", two, text=text)[0]
        return subprocess.run([script, "import", two, "batch.json"], capture_output=True).returncode

    for name in "t.db", "u.db":
        make(name, PRODUCTS, "INSERT INTO products VALUES ('tea', 'Tea', 3)", "SELECT counter_track('products', 'stock')")
    assert carry("t.db", "u.db") == 0
    assert rows("u.db", "SELECT stock, (SELECT count(*) FROM counter_tracked WHERE why LIKE 'two files counted%') FROM products") == [(3, 1)]
    opening, = rows("u.db", "SELECT name FROM counter_state WHERE kind = 'opening'")[0]
    ok("opening", "t.db", "products", "add", str(uuid.UUID(bytes=opening)))
    make("t.db", "INSERT INTO products VALUES ('jam', 'Jam', 1)")
    assert [carry("t.db", "u.db"), carry("u.db", "t.db")] == [0, 0]
    for name in "t.db", "u.db":
        assert rows(name, "SELECT sku, stock FROM products ORDER BY sku") == [("jam", 1), ("tea", 6)]
    ok("opening", "u.db", "products", "same", *(str(uuid.UUID(bytes=row[0])) for row in rows(
        "t.db", "SELECT name FROM counter_state WHERE kind = 'opening'")))
    assert carry("u.db", "t.db") == 0
    assert rows("t.db", "SELECT stock FROM products WHERE sku = 'tea'") == [(3,)]
    answers = [change for change in json.loads((place / "batch.json").read_text())["changes"]
               if change["column"] is None]
    assert [(len(answer["cell"]), answer["packed"], answer["key"]) for answer in answers] == [(68, "", None)] * 2


def batch_of(path):
    return json.loads(ok("export", path))


def test_lines_of_several_sources_are_added_up_by_source(place):
    make("c.db", VIEWS)
    one, two = ok("export", "a.db"), ok("export", "b.db")
    told = table(ok("import", "c.db", text=one + two + one + two + one))
    assert [row[1] for row in told] == ["12", "4"]
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
    fails("a.db: line 1: change 1: there is no counter table products here: create it as it is at the source; if it is a tracked "
          "table there, create the ordinary table, then run: sqlite-counter track a.db products stock: nothing was imported",
          "import", "a.db", text=ok("export", "d.db"))
    make("a.db", PRODUCTS)
    ok("track", "a.db", "products", "stock")
    ok("import", "a.db", text=ok("export", "d.db"))
    assert rows("a.db", "SELECT sku, stock FROM products") == [("tea", 5)]


def test_json_sh_takes_blank_lines_between_batches_and_refuses_newer_ones_and_halves(place):
    script = ROOT / "examples" / "json.sh"
    one, two = ok("export", "a.db"), ok("export", "b.db")
    make("c.db", VIEWS)
    (place / "lines.json").write_text(f"\n{one}\n \t\r\n{two}\n\n")
    done = subprocess.run([script, "import", "c.db", "lines.json"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and len(done.stdout.splitlines()) == 2
    assert rows("c.db") == [("/", 5, 50), ("/a", 2, 20)]
    before = digest("c.db")
    for format in 2, "x", 0:
        (place / "lines.json").write_text(one + json.dumps({**batch_of("b.db"), "format": format}) + "\n")
        done = subprocess.run([script, "import", "c.db", "lines.json"], capture_output=True, text=True)
        assert done.returncode == 1 and "of format 1" in done.stderr, done
    (place / "lines.json").write_text(one + two[:40])
    done = subprocess.run([script, "import", "c.db", "lines.json"], capture_output=True, text=True)
    assert done.returncode == 1 and "batches are JSON, each on a line of its own" in done.stderr, done
    older = {name: value for name, value in batch_of("a.db").items() if name != "format"}
    (place / "lines.json").write_text(json.dumps(older, indent=1))
    subprocess.run([script, "import", "c.db", "lines.json"], check=True, capture_output=True)
    ok("import", "c.db", text=json.dumps(older))
    assert digest("c.db") == before


FORMAT = "its format must be a whole number from 1 on"
GOOD = '{"source":"7529cd67-394b-3247-8020-f2a7272fc8d9","since":0,"upto":1,"changes":[]}'


@pytest.mark.parametrize("line, sentence", [
    ("{", "it is not JSON, or was cut short"),
    ("hello", "it is not JSON, or was cut short"),
    ("\0", "it is not JSON, or was cut short"),
    (GOOD[:-1], "it is not JSON, or was cut short"),
    (GOOD + GOOD, "it is not JSON, or was cut short"),
    ("[]", "it is not a batch, which has source, since, upto and changes"),
    ("5", "it is not a batch, which has source, since, upto and changes"),
    ('{"changes":{}}', "it is not a batch, which has source, since, upto and changes"),
    *((GOOD.replace("{", '{"format":%s,' % value), FORMAT) for value in ["0", "-1", "null", '"1"', "1.5", "[]"]),
    (GOOD.replace("{", '{"format":2,'), "it is of format 2, this sqlite-counter knows 1: install a newer one"),
    ('{"format":3,"other":1}', "it is of format 3, this sqlite-counter knows 1: install a newer one"),
    (GOOD.replace("0,", "null,", 1), "since .*"),
    (GOOD.replace(":1,", ':"x",', 1), "upto .*"),
    (GOOD.replace("7529", "xxxx"), "source .*"),
    (GOOD.replace("[]", "[5]"), "change 1: packed must be hexadecimal, not NULL"),
    (GOOD.replace("[]", '["x"]'), "change 1: malformed JSON")])
def test_a_line_that_is_not_a_batch_is_told_by_its_number_and_nothing_is_imported(place, line, sentence):
    good, before = ok("export", "a.db"), digest("b.db")
    fails(f"b.db: line 3: {sentence}: nothing was imported", "import", "b.db", text=f"{good}\n{line}\n{good}")
    assert digest("b.db") == before
    assert rows("b.db", "SELECT count(*) FROM counter_peers WHERE mark > 0") == [(0,)]


@pytest.mark.parametrize("field, value, sentence", [
    ("packed", "D1'); DROP TABLE views; --", "packed must be hexadecimal, not .*"), ("packed", "D10", ".*not 'D10'"),
    ("packed", "D1", ".*"), ("packed", None, "packed .*NULL"), ("table", "other", "there is no counter table other here: .*"),
    ("column", "path", ".*"), ("generation", 0, ".*"), ("seq", "x", ".*"),
    ("key_columns", "k TEXT BINARY", ".*"), ("cell", None, ".*"), ("cell", {"life": 0}, ".*"),
    ("cell", {"life": 1, "shards": [{"id": "x", "clock": 1, "value": 1}]}, ".*"),
    ("cell", "B1x", "cell must be hexadecimal, not 'B1x'"), ("cell", "B101", ".*")])
def test_a_change_that_was_forged_is_told_by_its_number_and_nothing_is_imported(place, field, value, sentence):
    batch, before = json.loads(ok("export", "a.db")), digest("b.db")
    batch["changes"][1][field] = value
    fails(f"b.db: line 1: change 2: {sentence}: nothing was imported", "import", "b.db", text=json.dumps(batch))
    assert digest("b.db") == before


