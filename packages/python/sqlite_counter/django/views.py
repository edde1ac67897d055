"""views.py - serves the file of a database to those who have a token (manage.py counter_token).

    path("sync", serve)        # in urls.py, with or without a slash behind
"""
import functools

from django.db import DEFAULT_DB_ALIAS, transaction
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt

from ..database import SyncError
from ..server import Application
from .connecting import sqlite_of


@functools.lru_cache(None)
def application(path):
    return Application(path)


@csrf_exempt
@transaction.non_atomic_requests
def serve(request, database=DEFAULT_DB_ALIAS):
    """The application has connections of its own. Under ASGI the request is what its body is read from."""
    input = {} if "wsgi.input" in request.META else {"wsgi.input": request, "wsgi.input_terminated": True}
    said = []
    try:
        serves = application(str(sqlite_of(database).settings_dict["NAME"]))
    except SyncError:
        return JsonResponse({"error": "the file is not there: try again"}, status=503,
                            headers={"Retry-After": "1", "Cache-Control": "no-store"})
    body = serves({**request.META, **input, "PATH_INFO": ""}, lambda status, headers: said.extend([status, headers]))
    status, headers = said
    kind = HttpResponse if isinstance(body, list) else StreamingHttpResponse
    response = kind(body, status=int(status[:3]), reason=status[4:])
    for name, value in headers:
        response[name] = value
    return response
