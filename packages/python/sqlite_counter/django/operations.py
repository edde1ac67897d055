"""operations.py - what a migration does."""
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db.migrations.operations.base import Operation

from .schema import KEYS, OPTION, rows, same, tracked


class TrackCounter(Operation):
    """Makes an INTEGER column of a model a counter that merges; reversed, an ordinary column with the same values.
    Nothing is done on other databases than SQLite, or where the column is tracked already.

    A key that SQLite gives out by itself, such as an AutoField, needs keys="assigned": only one file makes rows, or
    the application assigns keys that no two files share."""

    def __init__(self, model_name, name, keys=None):
        for given, what in (model_name, "model"), (name, "field"):
            if not isinstance(given, str):
                raise TypeError(f"sqlite_counter: {type(self).__name__} takes the name of one {what}, not {given!r}; "
                                "write an operation for each field")
        if keys not in (None, "assigned"):
            raise TypeError(f'sqlite_counter: {type(self).__name__} takes keys="assigned" or no keys, not {keys!r}')
        self.model_name, self.name, self.keys = model_name, name, keys

    def deconstruct(self):
        keys = {"keys": self.keys} if self.keys else {}
        return self.__class__.__qualname__, [], {"model_name": self.model_name, "name": self.name, **keys}

    def note(self, app_label, state, change):
        """Changes the list of tracked fields that the state of the model carries. With it stands who gives out the
        keys, for UntrackCounter, reversed, tracks the table anew."""
        key = app_label, self.model_name.lower()
        model = state.models[key]
        model.options[OPTION] = change(list(model.options.get(OPTION, ())), model.fields)
        if not model.options[OPTION]:
            model.options.pop(KEYS, None)
        elif self.keys:
            model.options[KEYS] = self.keys
        state.reload_model(*key, delay=True)

    def note_tracked(self, app_label, state):
        self.note(app_label, state, lambda names, fields: names if self.name in names else [*names, self.name])

    def note_untracked(self, app_label, state):
        """A name in the list that no field has is the former one of a field that was renamed."""
        def without(names, fields):
            gone = self.name if self.name in names else next((name for name in names if name not in fields), None)
            return [name for name in names if name != gone]

        self.note(app_label, state, without)

    def state_forwards(self, app_label, state):
        self.note_tracked(app_label, state)

    def column(self, app_label, editor, state):
        """The model and the name of the column, or None where nothing is to be done."""
        model = state.apps.get_model(app_label, self.model_name)
        if editor.connection.vendor != "sqlite" or not self.allow_migrate_model(editor.connection.alias, model):
            return None
        if not apps.is_installed("sqlite_counter.django"):
            raise ImproperlyConfigured(
                'sqlite_counter: put "sqlite_counter.django" into INSTALLED_APPS, for it loads the extension into each connection')
        return model, model._meta.get_field(self.name).column

    def track(self, app_label, editor, state, keys):
        """`state` is one in which the column is not tracked."""
        named = self.column(app_label, editor, state)
        if not named:
            return
        model, column = named
        if same(column) not in tracked(editor, model):
            words = [f"main.{model._meta.db_table}", column, *([f"keys={keys}"] if keys else [])]
            rows(editor, f"SELECT counter_track({', '.join(['%s'] * len(words))})", *words)
        if editor.collect_sql and editor.deferred_sql:
            editor.unsure.add(model._meta.db_table)

    def untrack(self, app_label, editor, state):
        """`state` is one in which the column is tracked. Without the name of a column all of the table are untracked."""
        named = self.column(app_label, editor, state)
        if not named:
            return
        model, column = named
        columns = tracked(editor, model)
        if columns.keys() == {same(column)}:
            rows(editor, "SELECT counter_untrack(%s)", f"main.{model._meta.db_table}")
        elif same(column) in columns or editor.collect_sql:
            rows(editor, "SELECT counter_untrack(%s, %s)", f"main.{model._meta.db_table}", column)

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        self.track(app_label, schema_editor, from_state, self.keys)

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        self.untrack(app_label, schema_editor, from_state)

    def describe(self):
        return f"Track {self.name} of {self.model_name} as a counter"

    @property
    def migration_name_fragment(self):
        return f"track_{self.model_name}_{self.name}".lower()


class UntrackCounter(TrackCounter):
    """The reverse: what comes before RemoveField."""

    def __init__(self, model_name, name):
        super().__init__(model_name, name)

    def state_forwards(self, app_label, state):
        self.note_untracked(app_label, state)

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        self.untrack(app_label, schema_editor, from_state)

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        model = to_state.models[app_label, self.model_name.lower()]
        self.track(app_label, schema_editor, from_state, model.options.get(KEYS))

    def describe(self):
        return f"Track {self.name} of {self.model_name} no longer"

    @property
    def migration_name_fragment(self):
        return f"un{super().migration_name_fragment}"
