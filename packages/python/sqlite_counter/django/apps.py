"""apps.py - what each connection gets: the extension, and migrations that keep columns tracked."""
from django.apps import AppConfig
from django.db.backends.signals import connection_created

from .. import load
from .schema import counting


def set_up(connection, **_):
    if connection.vendor == "sqlite":
        load(connection.connection)
        connection.SchemaEditorClass = counting(type(connection).SchemaEditorClass)


class CounterConfig(AppConfig):
    name = "sqlite_counter.django"
    label = "sqlite_counter"
    verbose_name = "sqlite-counter"

    def ready(self):
        connection_created.connect(set_up, dispatch_uid="sqlite_counter")
