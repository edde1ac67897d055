"""test_terminal.py - what sqlite-counter shows on a terminal: columns, progress, and what it keeps from it."""

import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import termios
import time

import pytest

from program import PROGRAM, ROOT, UUID, VIEWS, connect, digest, make, ok

def screen(text):
    """What is left on a terminal."""
    lines, at = [""], 0
    for part in re.findall(r"\r\n|\n|\r|\x1b\[K|[^\r\n\x1b]+", text):
        if part in ("\n", "\r\n"):
            lines.append("")
            at = 0
        elif part == "\r":
            at = 0
        elif part == "\x1b[K":
            lines[-1] = lines[-1][:at]
        else:
            lines[-1] = lines[-1][:at] + part + lines[-1][at + len(part):]
            at += len(part)
    return [line for line in lines if line]


def on_a_terminal(*words, stdin=subprocess.DEVNULL, columns=80, environment={}):
    """All that was written to a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    process = subprocess.Popen([PROGRAM, *words], stdin=stdin, stdout=theirs, stderr=theirs,
                               env={**os.environ, **environment})
    os.close(theirs)
    text = b""
    while select.select([ours], [], [], 20)[0]:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
    os.close(ours)
    return process.wait(), text.decode()


@pytest.fixture(scope="module")
def much(tmp_path_factory):
    """A file with 15,000 rows, and its export of three lines."""
    folder = tmp_path_factory.mktemp("much")
    db = connect(folder / "big.db")
    db.execute(VIEWS)
    for n in range(3):
        db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
                   "INSERT INTO views SELECT ? || i, 1, NULL FROM n", [n])
    db.close()
    (folder / "big.json").write_text(ok("export", folder / "big.db"))
    return folder


def slowly(path):
    """A command that prints lines with pauses, so that work on them is long on any machine."""
    return f"while read -r line; do printf '%s\\n' \"$line\"; sleep 0.5; done < {path}"


def import_on_a_terminal(path, to="c.db", **options):
    with subprocess.Popen(["bash", "-c", slowly(path)], stdout=subprocess.PIPE) as lines:
        return on_a_terminal("import", to, stdin=lines.stdout, **options)


@pytest.fixture
def other(tmp_path, monkeypatch):
    """A folder with a file that has the same table."""
    monkeypatch.chdir(tmp_path)
    make("c.db", VIEWS)
    return tmp_path


def test_long_work_shows_progress_on_a_terminal_and_erases_it(much, other):
    status, text = import_on_a_terminal(much / "big.json")
    assert status == 0
    assert re.search(r"\rimport c\.db: \d s, [1-9] lines read\x1b\[K", text)
    titles, row = screen(text)
    assert titles.split() == ["source", "changes", "mark"] and re.fullmatch(UUID + r"  15000    \d+", row)
    assert digest("c.db") == digest(much / "big.db")


def test_a_long_merge_shows_the_rows_that_it_has_written(other):
    make("many.db", VIEWS, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500000) "
                           "INSERT INTO views SELECT i, 1, NULL FROM n")
    status, text = on_a_terminal("sync", "many.db", "c.db")
    assert status == 0 and re.search(r"\rsync c\.db: \d s, [1-9]\d* rows written\x1b\[K", text)
    assert len(screen(text)) == 3


def test_progress_is_erased_before_an_error(much, other):
    (other / "cut.json").write_text((much / "big.json").read_text() + "{\n")
    status, text = import_on_a_terminal("cut.json")
    assert status == 1 and "\rimport c.db: " in text
    assert screen(text) == ["sqlite-counter: c.db: line 16: it is cut short: nothing was imported"]


def test_nothing_of_progress_is_written_where_no_terminal_is(much, other):
    with subprocess.Popen(["bash", "-c", slowly(much / "big.json")], stdout=subprocess.PIPE) as lines:
        done = subprocess.run([PROGRAM, "import", "c.db"], stdin=lines.stdout, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(UUID + r"\t15000\t\d+\n", done.stdout)


def test_rows_stand_in_columns_on_a_terminal(place):
    status, text = on_a_terminal("sync", "a.db", "b.db")
    assert (status, screen(text)) == (0, ["table  from  to    read  changed  conflicts  note",
                                          "views  b.db  a.db  1     1        0          ",
                                          "views  a.db  b.db  2     2        0          "])


@pytest.mark.parametrize("columns", [60, 40, 7])
def test_progress_takes_one_line_of_a_narrow_terminal(much, other, columns):
    name = "with a long näme\x1b[2J" + 60 * "x" + ".db"
    shutil.copy("c.db", name)
    status, text = import_on_a_terminal(much / "big.json", name, columns=columns)
    shown = re.findall(r"\r([^\r\x1b]+)\x1b\[K", text)
    assert status == 0 and shown and "\x1b[2J" not in text
    assert max(map(len, shown)) == columns - 1
    if columns == 60:
        assert all(re.fullmatch(r"import with a long näme\?\[2Jx+: \d s, \d+ (lines read|changes)", line) for line in shown)


def test_a_long_cell_does_not_widen_the_column_of_other_rows(place):
    make("a.db", VIEWS.replace("views", 50 * "x"))
    shown = screen(on_a_terminal("check", "a.db")[1])
    assert shown == ["table  state  found", "views  ok", f"{50 * 'x'}  ok"]


def test_import_at_a_terminal_says_what_it_reads(place):
    ours, theirs = pty.openpty()
    process = subprocess.Popen([PROGRAM, "import", "b.db"], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    os.write(ours, b"\n\x04")
    assert process.communicate() == ("", "sqlite-counter: import reads the lines of export from standard input\n")
    assert process.returncode == 0
    os.close(ours)
    os.close(theirs)


def test_no_control_character_of_a_file_reaches_the_terminal(place):
    name = "a\x1b[2J\x07\x7f\u009bü"
    make("a.db", f'CREATE VIRTUAL TABLE "{name}" USING counter(k PRIMARY KEY, n COUNTER)')
    told = ok("status", "a.db")
    assert "table\ta\\x1b[2J\\x07\\x7f\\xc2\\x9bü\t0\n" in told
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", told)
    status, text = on_a_terminal("check", "a.db")
    assert status == 0 and "\x1b" not in text and "\x9b" not in text


@pytest.mark.parametrize("command", ["check", "status", "export"])
def test_where_memory_ends_the_rows_are_whole_or_the_exit_status_is_1(place, command):
    subprocess.run(["cc", "-shared", "-fPIC", ROOT / "tests" / "cli" / "fail_malloc.c", "-o", "fail.so", "-ldl"], check=True)
    whole, at, step = on_a_terminal(command, "a.db"), 1, 50
    endings = set()
    while at < 100000:
        seen = on_a_terminal(command, "a.db", environment={"LD_PRELOAD": "./fail.so", "FAIL_MALLOC_AT": str(at)})
        assert seen == whole or (seen[0] == 1 and "sqlite-counter: " in seen[1]), at
        endings.add(seen[0])
        if seen == whole:  # from here on memory does not end before the work: look closely at the last allocations
            if step == 1:
                break
            at, step = at - step, 1
        at += step
    assert endings == {0, 1}


@pytest.mark.skipif(not shutil.which("tmux"), reason="no tmux")
def test_tmux_shows_progress_and_then_nothing_but_the_result(much, other):
    tmux = ["tmux", "-S", str(other / "socket"), "-f", "/dev/null"]

    def shown():
        return subprocess.run([*tmux, "capture-pane", "-p"], capture_output=True, text=True, check=True).stdout

    command = f"{slowly(much / 'big.json')} | {PROGRAM} import c.db; echo status $?; sleep 60"
    subprocess.run([*tmux, "new-session", "-d", "-x", "120", "-y", "20", "-c", str(other), "bash", "-c", command], check=True)
    try:
        seen, until = [shown()], time.monotonic() + 20
        while "status" not in seen[-1] and time.monotonic() < until:
            time.sleep(0.1)
            seen.append(shown())
        assert any(re.search(r"^import c\.db: \d s, \d lines read", text) for text in seen)
        assert re.fullmatch(rf"source +changes +mark\n{UUID} +15000 +\d+\nstatus 0", seen[-1].strip())
    finally:
        subprocess.run([*tmux, "kill-server"])


