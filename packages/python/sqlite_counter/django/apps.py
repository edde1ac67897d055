"""apps.py - what is done for each connection, and after each `migrate`."""
from django.apps import AppConfig
from django.db import connections
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate

from .. import load


def load_into(connection, **_):
    if connection.vendor == "sqlite":
        load(connection.connection)


def track_again(using, **_):
    """Django changes a table of SQLite by building another one, without the triggers of the first."""
    if connections[using].vendor != "sqlite":
        return
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT DISTINCT table_name FROM counter_tracked WHERE state = 'broken'")
        for table, in cursor.fetchall():
            cursor.execute("SELECT counter_track(%s)", [f"main.{table}"])
            cursor.fetchall()


class CounterConfig(AppConfig):
    name = "sqlite_counter.django"
    label = "sqlite_counter"
    verbose_name = "sqlite-counter"

    def ready(self):
        connection_created.connect(load_into, dispatch_uid="sqlite_counter.load")
        post_migrate.connect(track_again, dispatch_uid="sqlite_counter.track")
