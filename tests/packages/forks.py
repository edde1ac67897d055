#!/usr/bin/python3
"""forks.py - runs commands of Python in processes of their own, which have modules already:

    forks.py MODULE ...

imports these once. Each line that it reads is a list in JSON: what comes behind `python3` (`-c` and
a program, or `-m` and a module, and arguments), the folder, the environment, the files for what it
prints and for its errors, and the seconds after which it is killed. Each line that it writes is the
exit code. A child ends as an interpreter does, with its threads, exceptions, exit functions and
open connections, but leaves its other objects alone: to free what all children share, each would copy
nearly all pages of it.
"""
import atexit
import ctypes
import gc
import importlib
import json
import os
import runpy
import signal
import sqlite3
import sys
import threading

for name in sys.argv[1:]:
    importlib.import_module(name)

gc.freeze()  # or each child would copy the pages of what it only looks through
for line in sys.stdin:
    command, folder, environment, out, errors, seconds = json.loads(line)
    child = os.fork()
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()

signal.alarm(seconds)
os.chdir(folder)
os.environ.clear()
os.environ.update(environment)
for descriptor, path in (0, os.devnull), (1, out), (2, errors):
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(opened, descriptor)
    os.close(opened)
first = "" if command[0] == "-c" else folder
sys.path[0:1] = [first, *filter(None, environment.get("PYTHONPATH", "").split(":"))]
sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in environment
sys.argv = [command[0], *command[2:]]
status = 0
try:
    if command[0] == "-c":
        exec(compile(command[1], "<string>", "exec"), {"__name__": "__main__"})
    else:
        runpy.run_module(command[1], run_name="__main__", alter_sys=True)
except SystemExit as end:
    status = end.code or 0
    if not isinstance(status, int):
        print(status, file=sys.stderr)
        status = 1
except BaseException:
    sys.excepthook(*sys.exc_info())
    status = 1
threading._shutdown()
atexit._run_exitfuncs()
for one in gc.get_objects():
    if issubclass(type(one), sqlite3.Connection):
        one.close()
sys.stdout.flush()
sys.stderr.flush()
ctypes.CDLL(None).exit(status)
