"""sqlite_counter.django - an app that loads sqlite-counter into each SQLite connection, and operations of migrations.

    INSTALLED_APPS = [..., "sqlite_counter.django"]

    operations = [TrackCounter("Product", "stock")]    # the column stock of Product is a counter that merges
    operations = [UntrackCounter("Product", "stock"), RemoveField("Product", "stock")]
    operations = [ReplicateTable("Product", counters=["stock"])]    # and its rows travel, too: the last write wins
    operations = [UnreplicateTable("Product"), DeleteModel("Product")]
    operations = [ReplicateAll(counters=["shop_product.stock"])]    # the same for all tables of all apps

    class Product(SavesChanges):    # of sqlite_counter.django.models: save() writes the fields that were changed since they were read

A table that a migration rebuilds is tracked again at once; nothing that was counted is lost by that.
"""
from .operations import ReplicateAll, ReplicateTable, TrackCounter, UnreplicateTable, UntrackCounter

__all__ = ["ReplicateAll", "ReplicateTable", "TrackCounter", "UnreplicateTable", "UntrackCounter"]
