"""schema.py - Django's changes of tables, where columns are tracked.

Django changes most of a table of SQLite by building another one, without the triggers of the first: it is
tracked again in the same transaction. What is renamed is noted at once, for a table that is rebuilt is known
again by the names that were noted last."""
import functools
import sys

from django.db.utils import NotSupportedError


def rows(editor, sql, *values):
    """The rows of a statement; none where migrations are only printed."""
    if editor.collect_sql:
        editor.execute(sql, values)
        return []
    with editor.connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


def tracked(editor, table):
    """The tracked columns of a table, each with 'tracked' or, where triggers are missing, 'broken'."""
    if editor.collect_sql:
        return {}
    return dict(rows(editor, "SELECT column_name, state FROM counter_tracked WHERE table_name = %s AND state IN ('tracked', 'broken')",
                     table))


def broken_tables(editor):
    if editor.collect_sql:
        return set()
    return {table for table, in rows(editor, "SELECT DISTINCT table_name FROM counter_tracked WHERE state = 'broken'")}


def track_again(editor, table):
    rows(editor, "SELECT counter_track(%s)", f"main.{table}")


def refuse_tracked(editor, model, columns):
    names = {field.column: field.name for field in model._meta.local_fields}
    for column in tracked(editor, model._meta.db_table):
        if column in columns:
            raise NotSupportedError(
                f"sqlite_counter: the column {column} of {model._meta.db_table} is tracked; put "
                f'UntrackCounter("{model._meta.object_name}", "{names[column]}") before this operation')


@functools.lru_cache(maxsize=None)
def counting(base):
    """The class of schema editors for connections whose own is `base`."""

    class CounterSchemaEditor(base):
        def __enter__(self):
            entered = super().__enter__()
            self.broken_before = broken_tables(self)
            return entered

        def __exit__(self, exc_type, exc_value, traceback):
            """A UNIQUE index may be the last to come, and the triggers depend on those that there are."""
            if exc_type is None:
                try:
                    while self.deferred_sql:
                        self.execute(self.deferred_sql.pop(0), None)
                    for table in broken_tables(self) - self.broken_before:
                        track_again(self, table)
                except BaseException:
                    super().__exit__(*sys.exc_info())
                    raise
            super().__exit__(exc_type, exc_value, traceback)

        def note_names(self, table, column=None):
            """Of a table that was not rebuilt; of a column that is tracked or in the key, for others are not noted."""
            states = tracked(self, table)
            if "tracked" in states.values() and (column is None or column.column in states or column.primary_key):
                track_again(self, table)

        def _remake_table(self, model, *args, **kwargs):
            was_tracked = tracked(self, model._meta.db_table)
            super()._remake_table(model, *args, **kwargs)
            self.remade = True
            if was_tracked:
                track_again(self, model._meta.db_table)

        def alter_field(self, model, old_field, new_field, strict=False):
            self.remade = False
            super().alter_field(model, old_field, new_field, strict=strict)
            if old_field.column != new_field.column and not self.remade:
                self.note_names(model._meta.db_table, new_field)

        def alter_db_table(self, model, old_db_table, new_db_table, *args, **kwargs):
            super().alter_db_table(model, old_db_table, new_db_table, *args, **kwargs)
            if old_db_table != new_db_table:
                self.note_names(new_db_table)

        def remove_field(self, model, field):
            refuse_tracked(self, model, {field.column})
            super().remove_field(model, field)

        def delete_model(self, model, handle_autom2m=True):
            """Without handle_autom2m it is called for a table that is built anew."""
            if handle_autom2m:
                refuse_tracked(self, model, {field.column for field in model._meta.local_fields})
            super().delete_model(model, handle_autom2m=handle_autom2m)

    return CounterSchemaEditor
