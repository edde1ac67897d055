"""operations.py - what a migration does."""
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db import router
from django.db.migrations.operations.base import Operation
from django.db.utils import NotSupportedError

from .schema import KEYS, OPENINGS, OPTION, REPLICATED, is_numbered, links_of, replicate_link, replicated, rows, same, tracked

AT_HOME = ("django_session",)  # what counter_replicate_all leaves at home of the models that come with Django


def need_app():
    if not apps.is_installed("sqlite_counter.django"):
        raise ImproperlyConfigured(
            'sqlite_counter: put "sqlite_counter.django" into INSTALLED_APPS, for it loads the extension into each connection')


class CounterOperation(Operation):
    """What the operations below have in common."""
    keys_taken = ("assigned",)

    def take_words(self, keys, opening, values):
        """The options of the functions, as words."""
        kind = type(self).__name__
        if keys is not None and keys not in self.keys_taken:
            words = ", ".join(f'keys="{word}"' for word in self.keys_taken)
            raise TypeError(f"sqlite_counter: {kind} takes {words} or no keys, not {keys!r}")
        if opening not in (None, "same", "add"):
            raise TypeError(f'sqlite_counter: {kind} takes opening="same", opening="add" or no opening, not {opening!r}')
        if values not in (None, "again"):
            raise TypeError(f'sqlite_counter: {kind} takes values="again" or no values, not {values!r}')
        self.keys, self.opening, self.values = keys, opening, values

    def words(self):
        return {name: word for name in ("keys", "opening", "values") if (word := getattr(self, name))}

    def model(self, app_label, editor, state):
        """None where nothing is to be done."""
        model = state.apps.get_model(app_label, self.model_name)
        if editor.connection.vendor != "sqlite" or not self.allow_migrate_model(editor.connection.alias, model):
            return None
        need_app()
        return model


def call(editor, function, model, columns=(), **words):
    """A function of the extension, with options as arguments: keys="assigned" is 'keys=assigned'."""
    given = [f"main.{model._meta.db_table}", *columns, *(f"{name}={word}" for name, word in words.items() if word)]
    rows(editor, f"SELECT {function}({', '.join(['%s'] * len(given))})", *given)


def unreplicate(model, editor):
    for each in [*links_of(model), model]:
        if editor.collect_sql or replicated(editor, each):
            call(editor, "counter_untrack", each)


class TrackCounter(CounterOperation):
    """Makes an INTEGER column of a model a counter that merges; reversed, an ordinary column with the same values.
    Nothing is done on other databases than SQLite, and nothing happens where the column is tracked already.

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
        self.model_name, self.name = model_name, name
        self.take_words(keys, opening, values)

    def deconstruct(self):
        return self.__class__.__qualname__, [], {"model_name": self.model_name, "name": self.name, **self.words()}

    def note(self, app_label, state, change):
        """Changes the list of tracked fields that the state of the model carries. With it stand who gives out the
        keys, and what was said of opening values, by field, for UntrackCounter, reversed, tracks the table anew."""
        key = app_label, self.model_name.lower()
        model = state.models[key]
        names = model.options[OPTION] = change(list(model.options.get(OPTION, ())), model.fields)
        if not names and not model.options.get(REPLICATED):
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
        model = self.model(app_label, editor, state)
        return model and (model, model._meta.get_field(self.name).column)

    def track(self, app_label, editor, state, keys, opening):
        """`state` is one in which the column is not tracked."""
        named = self.column(app_label, editor, state)
        if not named:
            return
        model, column = named
        call(editor, "counter_track", model, [column], keys=keys, opening=opening, values=self.values)
        if editor.collect_sql and editor.deferred_sql:
            editor.unsure.add(model._meta.db_table)

    def untrack(self, app_label, editor, state):
        """`state` is one in which the column is tracked. Without the name of a column all of the table are untracked, but
        for a replicated table, whose rows travel still."""
        named = self.column(app_label, editor, state)
        if not named:
            return
        model, column = named
        columns = tracked(editor, model)
        if columns.keys() == {same(column)} and not replicated(editor, model):
            call(editor, "counter_untrack", model)
        elif same(column) in columns or editor.collect_sql:
            call(editor, "counter_untrack", model, [column])
            editor.ended.add((model._meta.db_table, same(column)))

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


class ReplicateTable(CounterOperation):
    """Makes the rows of a model travel: the named fields are counters, which add up, and in the others the last write wins.
    Reversed, the table is an ordinary one with the same values. Nothing is done on other databases than SQLite, or where the
    table is replicated with these counters already. TrackCounter may come before it, and then needs not be repeated.

    Keys that SQLite gives out, as of an AutoField, are spread if nothing is said: each file counts on from a place of its own.
    The key of a OneToOneField follows that of its row. keys="assigned" is that of TrackCounter, as are opening and values.

    The tables that Django makes for ManyToManyFields of the model are replicated with it, as are fields that later migrations add."""
    keys_taken = ("spread", "assigned")

    def __init__(self, model_name, counters=(), keys=None, opening=None, values=None):
        kind = type(self).__name__
        if not isinstance(model_name, str):
            raise TypeError(f"sqlite_counter: {kind} takes the name of one model, not {model_name!r}; write an operation for each model")
        if not isinstance(counters, (list, tuple)) or not all(isinstance(name, str) for name in counters):
            raise TypeError(f'sqlite_counter: {kind} takes a list of the names of fields, such as counters=["stock"], not {counters!r}')
        self.model_name, self.counters = model_name, list(counters)
        self.take_words(keys, opening, values)

    def deconstruct(self):
        return self.__class__.__qualname__, [], {"model_name": self.model_name, "counters": self.counters, **self.words()}

    def state_forwards(self, app_label, state):
        key = app_label, self.model_name.lower()
        given = state.models[key].options
        given[OPTION] = [*given.get(OPTION, ()), *(name for name in self.counters if name not in given.get(OPTION, ()))]
        given[REPLICATED] = True
        if self.keys:
            given[KEYS] = self.keys
        elif any(field.primary_key and is_numbered(field) for field in state.models[key].fields.values()):
            given.setdefault(KEYS, "spread")
        if self.opening and self.counters:
            given[OPENINGS] = {**given.get(OPENINGS, {}), **dict.fromkeys(self.counters, self.opening)}
        state.reload_model(*key, delay=True)

    def replicate(self, model, editor, counters, **words):
        """A key that refers to another row, as that of a OneToOneField, follows it."""
        key = model._meta.pk
        if key.remote_field and key.db_type(editor.connection) == "integer":
            words["keys"] = words.get("keys") or "assigned"
        call(editor, "counter_replicate", model, [model._meta.get_field(name).column for name in counters], **words)
        for link in links_of(model):
            replicate_link(editor, link)

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        """What an earlier operation said of keys needs not be repeated."""
        model = self.model(app_label, schema_editor, from_state)
        if model:
            before, after = (state.models[app_label, self.model_name.lower()].options.get(KEYS) for state in (from_state, to_state))
            self.replicate(model, schema_editor, self.counters, **{**({} if before else {"keys": after}), **self.words()})

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        """The counts that a table had before would not be those that other files have."""
        model = self.model(app_label, schema_editor, from_state)
        if model and to_state.models[app_label, self.model_name.lower()].options.get(OPTION):
            raise NotSupportedError(
                f"sqlite_counter: {model._meta.db_table} was tracked before it was replicated, and cannot be tracked as it was; "
                "restore a backup of the file")
        if model:
            unreplicate(model, schema_editor)

    def describe(self):
        return f"Replicate {self.model_name}" + (f" with the counters {', '.join(self.counters)}" if self.counters else "")

    @property
    def migration_name_fragment(self):
        return f"replicate_{self.model_name}".lower()


class UnreplicateTable(ReplicateTable):
    """The reverse: what comes before DeleteModel. With values="again", reversed, it counts the values once more."""

    def __init__(self, model_name, values=None):
        super().__init__(model_name, values=values)

    def deconstruct(self):
        return self.__class__.__qualname__, [], {"model_name": self.model_name, **self.words()}

    def state_forwards(self, app_label, state):
        key = app_label, self.model_name.lower()
        for name in OPTION, KEYS, OPENINGS, REPLICATED:
            state.models[key].options.pop(name, None)
        state.reload_model(*key, delay=True)

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        model = self.model(app_label, schema_editor, from_state)
        if model:
            unreplicate(model, schema_editor)

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        """to_state has the counters, and what was said of them."""
        model = self.model(app_label, schema_editor, from_state)
        if not model:
            return
        given = to_state.models[app_label, self.model_name.lower()].options
        opening = next(iter(given.get(OPENINGS, {}).values()), None)
        self.replicate(model, schema_editor, given.get(OPTION, ()), keys=given.get(KEYS), opening=opening, values=self.values)

    def describe(self):
        return f"Replicate {self.model_name} no longer"

    @property
    def migration_name_fragment(self):
        return f"un{super().migration_name_fragment}"


class ReplicateAll(Operation):
    """Replicates all tables of the database but those that stay at home and those that are replicated already, as counter_plan says:
    by counter_replicate_all. Counters and tables to leave are named as there, "shop_product.stock" and "django_admin_log". Reversed, the
    tables of the models are ordinary ones with the same values. Nothing is done on other databases than SQLite.

    It sees the tables that are there: let the migration depend on the last one of each app. A table that comes later needs
    ReplicateTable, or another ReplicateAll."""

    def __init__(self, counters=(), leave=()):
        for given, what, such in (counters, "counters", 'counters=["shop_product.stock"]'), (leave, "leave", 'leave=["django_admin_log"]'):
            if not isinstance(given, (list, tuple)) or not all(isinstance(name, str) for name in given):
                raise TypeError(f"sqlite_counter: ReplicateAll takes a list of names as {what}, such as {such}, not {given!r}")
        self.counters, self.leave = list(counters), list(leave)

    def deconstruct(self):
        return self.__class__.__qualname__, [], {
            name: given for name in ("counters", "leave") if (given := getattr(self, name))}

    def state_forwards(self, app_label, state):
        """Notes of each model what ReplicateTable would."""
        home = {same(table) for table in (*self.leave, *AT_HOME)}
        counters = [same(counter) for counter in self.counters]
        models = {at: model for at, model in state.models.items() if model.options.get("managed", True) and not model.options.get("proxy")}
        for at, model in models.items():
            table = same(model.options.get("db_table") or "_".join(at))
            if table in home or model.options.get(REPLICATED):
                continue
            names = [name for name, field in model.fields.items()
                     if f"{table}.{same(field.db_column or name)}" in counters and name not in model.options.get(OPTION, ())]
            model.options[OPTION] = [*model.options.get(OPTION, ()), *names]
            model.options[REPLICATED] = True
            if any(field.primary_key and is_numbered(field) for field in model.fields.values()):
                model.options.setdefault(KEYS, "spread")
            state.reload_model(*at, delay=True)

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        if self.is_for(app_label, schema_editor):
            given = [*self.counters, *(f"leave={table}" for table in self.leave)]
            rows(schema_editor, f"SELECT counter_replicate_all({', '.join(['%s'] * len(given))})", *given)

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        if not self.is_for(app_label, schema_editor):
            return
        for at, model in from_state.models.items():
            if model.options.get(REPLICATED) and not (at in to_state.models and to_state.models[at].options.get(REPLICATED)):
                unreplicate(from_state.apps.get_model(*at), schema_editor)

    def is_for(self, app_label, editor):
        if editor.connection.vendor != "sqlite" or not router.allow_migrate(editor.connection.alias, app_label):
            return False
        need_app()
        return True

    def describe(self):
        return "Replicate all tables" + (f" with the counters {', '.join(self.counters)}" if self.counters else "")

    migration_name_fragment = "replicate_all"
