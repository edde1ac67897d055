"""apps.py - what each connection gets: the extension, and migrations that keep columns tracked."""
from django.apps import AppConfig
from django.core import checks
from django.db import connections
from django.db.backends.signals import connection_created

from .. import load
from .checks import check_keys, check_references
from .schema import count


def set_up(connection, **_):
    """For one that is open; its backend may be one that no setting named when this app got ready."""
    if connection.vendor == "sqlite":
        load(connection.connection)
        count(connection)


class CounterConfig(AppConfig):
    name = "sqlite_counter.django"
    label = "sqlite_counter"
    verbose_name = "sqlite-counter"

    def ready(self):
        connection_created.connect(set_up, dispatch_uid="sqlite_counter")
        checks.register(check_keys)
        checks.register(check_references)
        for connection in connections.all():
            if connection.vendor == "sqlite":
                count(connection)
