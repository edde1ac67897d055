#!/usr/bin/python3
"""together.py - the command line, the Python and the npm package, each asked in the same words: to sync a file with a folder
or a server, to give and to take lines, to serve. Python and Node do so in a process of their own, which may be killed:
this program is that of Python, npm/worker.mjs that of Node.
"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import time

PYTHON = "/usr/bin/python3"


class Failed(Exception):
    """What the implementation says of it."""


class Worker:
    """A program that reads requests and writes answers, a line of JSON each."""

    def __init__(self, name, command, **options):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
        assert self.process.stdout.readline() == "ready\n"

    def begin(self, verb, path, **given):
        self.process.stdin.write(json.dumps({"verb": verb, "path": str(path), **given}) + "\n")
        self.process.stdin.flush()

    def end(self):
        line = self.process.stdout.readline()
        assert line, f"{self.name} has ended"
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["value"]

    def __call__(self, verb, path, **given):
        self.begin(verb, path, **given)
        return self.end()

    def kill(self):
        self.process.kill()
        self.close()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Program:
    """sqlite-counter. What it warns of or fails with is a line on the standard error."""
    name = "cli"

    def __init__(self, program, environment):
        self.program, self.environment, self.process = program, environment, None

    def start(self, *words, token=None, lines=None):
        environment = {**self.environment, **({"SQLITE_COUNTER_TOKEN": token} if token else {})}
        self.process = subprocess.Popen([self.program, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment, text=True, start_new_session=True)
        self.given = None if lines is None else "".join(f"{line}\n" for line in lines)

    def begin(self, verb, path, folder=None, url=None, token=None, scope=None, lines=(), since=0, own=False, source=None):
        scoped = ["--scope", json.dumps(scope)] if scope else []
        if verb in ("folder", "http"):
            self.start("sync", *scoped, path, folder or url, token=token)
        elif verb == "lines":
            self.start("export", *scoped, *["--own"] * own, *["--since", str(since)] * bool(since), path)
        else:
            self.start("import", path, lines=lines)
        self.verb = verb

    def end(self):
        out, error = self.process.communicate(self.given)
        said = error.removeprefix("sqlite-counter: ").splitlines()
        if self.process.returncode and self.verb != "folder":
            raise Failed(error)
        rows = [line.split("\t") for line in out.splitlines()]
        if self.verb == "lines":
            return out.split("\n")[:-1]  # other line breaks may stand in texts
        if self.verb == "apply":
            return {"changes": sum(int(row[1]) for row in rows)}
        return {"gave": sum(int(row[2]) for row in rows if row[0] == "gave"),
                "took": sum(int(row[2]) for row in rows if row[0] == "took"), "warnings": said}

    def __call__(self, verb, path, **given):
        self.begin(verb, path, **given)
        return self.end()

    def kill(self):
        """With the curl that it runs."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def close(self):
        pass


# ---- the program of Python ----

def verbs(counter):
    running = contextlib.ExitStack()

    def synced(done):
        return {"gave": done.gave, "took": done.took, "skipped": done.skipped, "warnings": done.warnings}

    def apply(db, lines):
        changes, marks = counter.apply(db, lines)
        return {"changes": changes, "marks": {source: str(mark) for source, mark in marks.items()}}

    def serve(db, certificate=None):
        from servers import serving
        from sqlite_counter.server import Application
        return running.enter_context(serving(Application(db.path, prefix="/sync"), certificate)) + "/sync"

    def http(db, url, token, scope=None):
        from sqlite_counter import http
        http.PAUSE = 0.005  # a server that is gone is asked again at once
        return synced(http.sync_http(db, url, token, scope))

    return {"folder": lambda db, folder, scope=None: synced(counter.sync_folder(db, folder, scope)),
            "http": http,
            "lines": lambda db, since=0, own=False, scope=None: list(counter.changes(db, since, own=own, scope=scope)),
            "apply": apply,
            "mark": lambda db, source: str(counter.mark(db, source)),
            "serve": serve}


def main():
    import sqlite3

    import sqlite_counter

    class Connection(sqlite3.Connection):
        path = None

    known = verbs(sqlite_counter)
    print("ready", flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        verb, path = request.pop("verb"), request.pop("path")
        db = sqlite3.connect(path, timeout=10, isolation_level=None, factory=Connection)
        db.path = path
        sqlite_counter.load(db)
        try:
            answer = {"value": known[verb](db, **request)}
        except sqlite_counter.SyncError as error:
            answer = {"error": str(error)}
        db.close()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
