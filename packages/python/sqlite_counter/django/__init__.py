"""sqlite_counter.django - an app that loads sqlite-counter into each SQLite connection, and operations of migrations.

    INSTALLED_APPS = [..., "sqlite_counter.django"]

    operations = [TrackCounter("Product", "stock")]    # the column stock of Product is a counter that merges
    operations = [UntrackCounter("Product", "stock"), RemoveField("Product", "stock")]
    operations = [ReplicateTable("Product", counters=["stock"])]    # and its rows travel, too: the last write wins
    operations = [UnreplicateTable("Product"), DeleteModel("Product")]

A table that a migration rebuilds is tracked again at once; nothing that was counted is lost by that.
"""
from .operations import ReplicateTable, TrackCounter, UnreplicateTable, UntrackCounter

__all__ = ["ReplicateTable", "TrackCounter", "UnreplicateTable", "UntrackCounter"]
