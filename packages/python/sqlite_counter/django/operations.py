"""operations.py - what a migration does."""
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db.migrations.operations.base import Operation

from .schema import rows, tracked


class TrackCounter(Operation):
    """Makes an INTEGER column of a model a counter that merges; reversed, an ordinary column with the same values.
    Nothing is done on other databases than SQLite, or where the column is tracked already."""

    def __init__(self, model_name, name):
        self.model_name, self.name = model_name, name

    def deconstruct(self):
        return self.__class__.__qualname__, [], {"model_name": self.model_name, "name": self.name}

    def state_forwards(self, app_label, state):
        pass

    def column(self, app_label, editor, state):
        """Names of table and column, or None where nothing is to be done."""
        model = state.apps.get_model(app_label, self.model_name)
        if editor.connection.vendor != "sqlite" or not self.allow_migrate_model(editor.connection.alias, model):
            return None
        if not apps.is_installed("sqlite_counter.django"):
            raise ImproperlyConfigured(
                'sqlite_counter: put "sqlite_counter.django" into INSTALLED_APPS, for it loads the extension into each connection')
        return model._meta.db_table, model._meta.get_field(self.name).column

    def track(self, app_label, editor, state):
        named = self.column(app_label, editor, state)
        if not named:
            return
        table, column = named
        if column not in tracked(editor, table):
            rows(editor, "SELECT counter_track(%s, %s)", f"main.{table}", column)

    def untrack(self, app_label, editor, state):
        named = self.column(app_label, editor, state)
        if not named:
            return
        table, column = named
        columns = tracked(editor, table)
        if columns.keys() == {column} or editor.collect_sql:
            rows(editor, "SELECT counter_untrack(%s)", f"main.{table}")
        elif column in columns:
            rows(editor, "SELECT counter_untrack(%s, %s)", f"main.{table}", column)

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        self.track(app_label, schema_editor, to_state)

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        self.untrack(app_label, schema_editor, to_state)

    def describe(self):
        return f"Track {self.name} of {self.model_name} as a counter"

    @property
    def migration_name_fragment(self):
        return f"track_{self.model_name}_{self.name}".lower()


class UntrackCounter(TrackCounter):
    """The reverse: what comes before RemoveField."""

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        self.untrack(app_label, schema_editor, to_state)

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        self.track(app_label, schema_editor, to_state)

    def describe(self):
        return f"Track {self.name} of {self.model_name} no longer"

    @property
    def migration_name_fragment(self):
        return f"un{super().migration_name_fragment}"
