"""views.py - serves the file of a database to those who have a token (manage.py counter_token).

    path("sync", serve), path("sync/changes", serve)        # in urls.py, with or without a slash behind
"""
import functools

from django.db import DEFAULT_DB_ALIAS
from django.http import HttpResponse, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt

from ..server import Application
from .connecting import sqlite_of


@functools.lru_cache(None)
def application(path):
    return Application(path)


@csrf_exempt
def serve(request, database=DEFAULT_DB_ALIAS):
    """The application has connections of its own, so that no ATOMIC_REQUESTS keeps the file locked."""
    path = "/changes" if request.path.rstrip("/").endswith("/changes") else ""
    said = []
    body = application(str(sqlite_of(database).settings_dict["NAME"]))(
        {**request.environ, "PATH_INFO": path}, lambda status, headers: said.extend([status, headers]))
    status, headers = said
    kind = HttpResponse if isinstance(body, list) else StreamingHttpResponse
    response = kind(body, status=int(status[:3]), reason=status[4:])
    for name, value in headers:
        response[name] = value
    return response
