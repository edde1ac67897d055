"""operations.py - what a migration does."""
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db.migrations.operations.base import Operation

from .schema import KEYS, OPENINGS, OPTION, rows, same, tracked


class TrackCounter(Operation):
    """Makes an INTEGER column of a model a counter that merges; reversed, an ordinary column with the same values.
    Nothing is done on other databases than SQLite, or where the column is tracked already.

    A key that SQLite gives out by itself, such as an AutoField, needs keys="assigned": only one file makes rows, or
    the application assigns keys that no two files share.

    Where each of several files with values runs the migration, opening="same" says that the values are copies of one,
    opening="add" that they add up with those of files that have been merged already.

    Values of a column that this file tracked before count once more only with values="again": other files may have
    them as counts. With 0 in the column it is not needed, and a merge brings the values."""

    def __init__(self, model_name, name, keys=None, opening=None, values=None):
        for given, what in (model_name, "model"), (name, "field"):
            if not isinstance(given, str):
                raise TypeError(f"sqlite_counter: {type(self).__name__} takes the name of one {what}, not {given!r}; "
                                "write an operation for each field")
        if keys not in (None, "assigned"):
            raise TypeError(f'sqlite_counter: {type(self).__name__} takes keys="assigned" or no keys, not {keys!r}')
        if opening not in (None, "same", "add"):
            raise TypeError(f'sqlite_counter: {type(self).__name__} takes opening="same", opening="add" or no opening, not {opening!r}')
        if values not in (None, "again"):
            raise TypeError(f'sqlite_counter: {type(self).__name__} takes values="again" or no values, not {values!r}')
        self.model_name, self.name, self.keys, self.opening, self.values = model_name, name, keys, opening, values

    def deconstruct(self):
        words = {name: word for name in ("keys", "opening", "values") if (word := getattr(self, name))}
        return self.__class__.__qualname__, [], {"model_name": self.model_name, "name": self.name, **words}

    def note(self, app_label, state, change):
        """Changes the list of tracked fields that the state of the model carries. With it stand who gives out the
        keys, and what was said of opening values, by field, for UntrackCounter, reversed, tracks the table anew."""
        key = app_label, self.model_name.lower()
        model = state.models[key]
        names = model.options[OPTION] = change(list(model.options.get(OPTION, ())), model.fields)
        if not names:
            model.options.pop(KEYS, None)
        elif self.keys:
            model.options[KEYS] = self.keys
        said = {**model.options.get(OPENINGS, {}), **({self.name: self.opening} if self.opening else {})}
        model.options[OPENINGS] = {name: opening for name, opening in said.items() if name in names}
        if not model.options[OPENINGS]:
            del model.options[OPENINGS]
        state.reload_model(*key, delay=True)

    def noted(self, names, fields):
        """The name in the list, or None: one that no field has is the former one of a field that was renamed."""
        return self.name if self.name in names else next((name for name in names if name not in fields), None)

    def note_tracked(self, app_label, state):
        self.note(app_label, state, lambda names, fields: names if self.name in names else [*names, self.name])

    def note_untracked(self, app_label, state):
        self.note(app_label, state, lambda names, fields: [name for name in names if name != self.noted(names, fields)])

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

    def track(self, app_label, editor, state, keys, opening):
        """`state` is one in which the column is not tracked."""
        named = self.column(app_label, editor, state)
        if not named:
            return
        model, column = named
        if same(column) not in tracked(editor, model):
            words = [f"main.{model._meta.db_table}", column, *([f"keys={keys}"] if keys else []),
                     *([f"opening={opening}"] if opening else []), *([f"values={self.values}"] if self.values else [])]
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
        self.track(app_label, schema_editor, from_state, self.keys, self.opening)

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        self.untrack(app_label, schema_editor, from_state)

    def describe(self):
        return f"Track {self.name} of {self.model_name} as a counter"

    @property
    def migration_name_fragment(self):
        return f"track_{self.model_name}_{self.name}".lower()


class UntrackCounter(TrackCounter):
    """The reverse: what comes before RemoveField. With values="again", reversed, it counts the values once more."""

    def __init__(self, model_name, name, values=None):
        super().__init__(model_name, name, values=values)

    def state_forwards(self, app_label, state):
        self.note_untracked(app_label, state)

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        self.untrack(app_label, schema_editor, from_state)

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        model = to_state.models[app_label, self.model_name.lower()]
        opening = model.options.get(OPENINGS, {}).get(self.noted(model.options.get(OPTION, ()), model.fields))
        self.track(app_label, schema_editor, from_state, model.options.get(KEYS), opening)

    def describe(self):
        return f"Track {self.name} of {self.model_name} no longer"

    @property
    def migration_name_fragment(self):
        return f"un{super().migration_name_fragment}"
