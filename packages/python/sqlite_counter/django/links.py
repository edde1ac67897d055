"""links.py - a pair of a ManyToManyField that two files have added apart.

Each has a row of its own for it, with a key of its own, and UNIQUE lets one of the two in: it shows its own, and the other one waits.
remove() would delete the one that is shown, and the next merge would show the other one. So the row with the greater key is deleted; all
files choose the same, and the pair is there at any time."""
from django.apps import apps
from django.db import transaction

from .schema import links_of


def settle_links(connection):
    """Makes one row of two in the tables that Django makes; returns how many pairs had two."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT table_name, row_key, column_name, merged FROM counter_tracked WHERE state = 'waits'")
        waiting = {}
        for table, key, column, value in cursor.fetchall():
            waiting.setdefault((table, key), {})[column] = value
    links = {link._meta.db_table: link for model in apps.get_models() for link in links_of(model)} if waiting else {}
    return sum(settle(connection, links[table], int(key.strip("()")), pair) for (table, key), pair in waiting.items() if table in links)


def settle(connection, link, waits, pair):
    rows = link._base_manager.using(connection.alias)
    columns = [field for field in link._meta.local_concrete_fields if not field.primary_key]
    named = {field.attname: pair.get(field.column) for field in columns}
    with transaction.atomic(using=connection.alias):
        shown = rows.filter(**named).values_list("pk", flat=True).first()
        if shown is None:
            return 0
        keep, other = sorted([shown, waits])
        rows.filter(pk=shown).delete()
        if keep == shown:  # the other one is to be deleted, too, and waits no longer
            rows.bulk_create([link(pk=other, **named)])
            rows.filter(pk=other).delete()
        rows.bulk_create([link(pk=keep, **named)])
    return 1
