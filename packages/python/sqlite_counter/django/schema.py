"""schema.py - Django's changes of tables, where columns are tracked.

Django changes most of a table of SQLite by building another one, without the triggers of the first: it is
tracked again in the same transaction. What is renamed is noted at once, for a table that is rebuilt is known
again by the names that were noted last.

The database tells which columns are tracked. Where migrations are only printed, as by sqlmigrate, it may be at
another migration: there the state of a model tells, which carries the names of its tracked fields as an option,
those that they had when TrackCounter was written."""
import contextlib
import pathlib
import re
import sys

from django.db.models import options
from django.db.models.fields import AutoFieldMixin
from django.db.utils import NotSupportedError

OPTION, KEYS, OPENINGS = "sqlite_counters", "sqlite_counters_keys", "sqlite_counters_openings"
REPLICATED = "sqlite_counters_replicated"
options.DEFAULT_NAMES = (*options.DEFAULT_NAMES,
                         *(name for name in (OPTION, KEYS, OPENINGS, REPLICATED) if name not in options.DEFAULT_NAMES))
REPLICATED_TABLES = """SELECT t.tbl_name FROM sqlite_master AS t JOIN pragma_table_info(substr(t.name, 1, length(t.name) - 7) || '_cells') AS c
WHERE t.type = 'trigger' AND substr(t.name, -7) = '_insert' AND c.name = '_row'"""


def same(name):
    """One spelling for all names that SQLite takes for the same one."""
    return name.encode(errors="surrogatepass").lower().decode(errors="surrogatepass")


def rows(editor, sql, *values):
    """The rows of a statement; none where migrations are only printed."""
    if editor.collect_sql:
        editor.execute(sql, values)
        return []
    with editor.connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


def tracked(editor, model, table=None):
    """The tracked columns of a model, by same(name), each with 'tracked' or, where triggers are missing, 'broken'."""
    if editor.collect_sql:
        column_of = {field.name: field.column for field in model._meta.local_fields}
        return {same(column_of.get(name, name)): "tracked" for name in getattr(model._meta, OPTION, ())}
    return {same(column): state for column, state in rows(
        editor, "SELECT column_name, state FROM counter_tracked WHERE table_name = %s COLLATE NOCASE AND state IN ('tracked', 'broken')",
        table or model._meta.db_table)}


def is_numbered(field):
    """Whether SQLite gives out the values of a key, and none twice."""
    return isinstance(field, AutoFieldMixin)


def link_of(field):
    """The model of the table that Django makes for a ManyToManyField, or None."""
    through = field.remote_field.through if field.many_to_many else None
    return through if through and through._meta.auto_created else None


def links_of(model):
    return [link for field in model._meta.local_many_to_many if (link := link_of(field))]


def replicate_link(editor, link):
    rows(editor, "SELECT counter_replicate(%s, 'keys=spread')", f"main.{link._meta.db_table}")


def replicated(editor, model, table=None):
    """Whether the rows of a model travel: the cells of its counters have those of its rows beside them. A trigger tells
    which counters these are, so ask before a table is rebuilt."""
    if editor.collect_sql:
        return bool(getattr((model._meta.auto_created or model)._meta, REPLICATED, False))
    return bool(rows(editor, f"{REPLICATED_TABLES} AND t.tbl_name = %s COLLATE NOCASE", table or model._meta.db_table))


def replicated_in_file(connection):
    """The replicated tables of a database, by same(name); None if it cannot be read. It is opened apart, for Django would create a file
    that is missing, and keep it open."""
    path = pathlib.Path(connection.settings_dict["NAME"] or "")
    if not path.is_file():
        return set()
    try:
        with contextlib.closing(connection.Database.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
            return {same(table) for table, in file.execute(REPLICATED_TABLES)}
    except connection.Database.Error:
        return None


def is_regular(editor, model, column):
    """Whether a column travels with its row, and the last write wins."""
    if editor.collect_sql:
        return replicated(editor, model) and (model._meta.db_table, same(column)) not in editor.ended
    return same(column) in {same(name) for name, in rows(
        editor, "SELECT column_name FROM counter_tracked WHERE table_name = %s COLLATE NOCASE AND state = 'regular'"
        " AND column_name IS NOT NULL",
        model._meta.db_table)}


def broken_tables(editor):
    if editor.collect_sql:
        return set()
    return {table for table, in rows(editor, "SELECT DISTINCT table_name FROM counter_tracked WHERE state = 'broken'")}


def track_again(editor, table, whole=False):
    """`whole`: it is a replicated table, whose new columns are replicated, too."""
    rows(editor, f"SELECT counter_{'replicate' if whole else 'track'}(%s)", f"main.{table}")


def print_track_again(editor, table, name, value):
    """Where one cannot know whether it is needed: the statement itself looks, for it is an error if it is not."""
    rows(editor, f"SELECT counter_track(%s) WHERE EXISTS (SELECT 1 FROM counter_tracked WHERE table_name = %s COLLATE NOCASE AND {name} = "
         "%s COLLATE NOCASE)", f"main.{table}", table, value)


def refuse_tracked(editor, model, fields, why="is tracked"):
    columns = tracked(editor, model)
    for field in fields:
        if field.column and same(field.column) in columns:
            raise NotSupportedError(
                f"sqlite_counter: the column {field.column} of {model._meta.db_table} {why}; put "
                f'UntrackCounter("{model._meta.object_name}", "{field.name}") before this operation')


def holds_integers(kind):
    """Whether a column of this type does, by the affinity that SQLite gives it."""
    return "INT" in kind.upper() or not re.search("CHAR|CLOB|TEXT|REAL|FLOA|DOUB", kind.upper())


class Counting:
    """What is put before a class of schema editors for SQLite."""

    def __enter__(self):
        self.broken_before = broken_tables(self)  # what fails here leaves no transaction open
        self.unsure = set()  # where migrations are printed: tables whose UNIQUE indexes change
        self.ended = set()  # the table and the name of each counter of a replicated table that was untracked
        return super().__enter__()

    def __exit__(self, exc_type, exc_value, traceback):
        """A UNIQUE index may be the last to come, and the triggers depend on those that there are."""
        if exc_type is None:
            try:
                while self.deferred_sql:
                    self.execute(self.deferred_sql.pop(0), None)
                for table in broken_tables(self) - self.broken_before:
                    track_again(self, table)
                for table in sorted(self.unsure):
                    print_track_again(self, table, "state", "broken")
            except BaseException:
                super().__exit__(*sys.exc_info())
                raise
        super().__exit__(exc_type, exc_value, traceback)

    def note_unique(self, model):
        if self.collect_sql and tracked(self, model):
            self.unsure.add(model._meta.db_table)

    def alter_unique_together(self, model, *args, **kwargs):
        super().alter_unique_together(model, *args, **kwargs)
        self.note_unique(model)

    def add_constraint(self, model, constraint):
        super().add_constraint(model, constraint)
        self.note_unique(model)

    def remove_constraint(self, model, constraint):
        super().remove_constraint(model, constraint)
        self.note_unique(model)

    def _remake_table(self, model, *args, **kwargs):
        whole, was_tracked = replicated(self, model), tracked(self, model)
        super()._remake_table(model, *args, **kwargs)
        self.remade = True
        if whole:
            self.note_renamed(model, kwargs.get("alter_fields") or ([kwargs["alter_field"]] if kwargs.get("alter_field") else []))
        if whole or was_tracked:
            track_again(self, model._meta.db_table, whole)

    def note_renamed(self, model, altered):
        """A table that is built anew with another name of a column is known again by the former one."""
        renamed = [(old.column, new.column) for old, new in altered if old.column and new.column and old.column != new.column]
        for old, new in renamed:
            self.rename_column(model, new, old)
        if renamed:
            track_again(self, model._meta.db_table, True)
        for old, new in renamed:
            self.rename_column(model, old, new)

    def rename_column(self, model, old, new):
        self.execute(self.sql_rename_column % {
            "table": self.quote_name(model._meta.db_table), "old_column": self.quote_name(old), "new_column": self.quote_name(new)})

    def add_field(self, model, field):
        self.remade, whole = False, replicated(self, model)
        super().add_field(model, field)
        if whole and field.column and not self.remade:
            track_again(self, model._meta.db_table, whole)
        if whole and link_of(field):
            replicate_link(self, link_of(field))

    def _alter_many_to_many(self, model, old_field, new_field, strict):
        """Django copies the table under the new name of the field, and drops the old one."""
        old, new = old_field.remote_field.through, new_field.remote_field.through
        if replicated(self, old) and old._meta.db_table != new._meta.db_table:
            self.alter_db_table(old, old._meta.db_table, new._meta.db_table)
        else:
            super()._alter_many_to_many(model, old_field, new_field, strict)

    def alter_field(self, model, old_field, new_field, strict=False):
        """A table that is not rebuilt notes a new name of a column that is tracked or in the key; others are not noted."""
        kind = new_field.db_parameters(connection=self.connection)["type"]
        if kind and not holds_integers(kind):
            refuse_tracked(self, model, [old_field], f"is tracked, and {type(new_field).__name__} is not for integers")
        whole, columns = replicated(self, model), tracked(self, model)
        self.remade = False
        super().alter_field(model, old_field, new_field, strict=strict)
        if old_field.column == new_field.column or self.remade or not (whole or "tracked" in columns.values()):
            return
        if whole or new_field.primary_key or same(old_field.column) in columns:
            track_again(self, model._meta.db_table, whole)
        elif self.collect_sql:
            print_track_again(self, model._meta.db_table, "column_name", new_field.column)

    def alter_db_table(self, model, old_db_table, new_db_table, *args, **kwargs):
        whole, columns = replicated(self, model, old_db_table), tracked(self, model, old_db_table)
        super().alter_db_table(model, old_db_table, new_db_table, *args, **kwargs)
        if old_db_table != new_db_table and (whole or "tracked" in columns.values()):
            track_again(self, new_db_table, whole)

    def remove_field(self, model, field):
        refuse_tracked(self, model, [field])
        if field.column and is_regular(self, model, field.column):
            rows(self, "SELECT counter_untrack(%s, %s)", f"main.{model._meta.db_table}", field.column)
        link = link_of(field)
        if link and replicated(self, link):
            rows(self, "SELECT counter_untrack(%s)", f"main.{link._meta.db_table}")
        super().remove_field(model, field)

    def delete_model(self, model, handle_autom2m=True):
        """Without handle_autom2m it is called for a table that is built anew."""
        if handle_autom2m and replicated(self, model):
            raise NotSupportedError(f"sqlite_counter: the table {model._meta.db_table} is replicated; put "
                                    f'UnreplicateTable("{model._meta.object_name}") before this operation')
        if handle_autom2m:
            refuse_tracked(self, model, model._meta.local_fields)
        super().delete_model(model, handle_autom2m=handle_autom2m)


def count(connection):
    """Makes the schema editors of a connection, and of the others of its backend in all threads, ours."""
    backend = type(connection)
    if not issubclass(backend.SchemaEditorClass, Counting):
        backend.SchemaEditorClass = type("CounterSchemaEditor", (Counting, backend.SchemaEditorClass), {})
