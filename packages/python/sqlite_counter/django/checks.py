"""checks.py - what `manage.py check` says."""
from django.apps import apps
from django.core.checks import Warning
from django.db import connections
from django.db.migrations.exceptions import BadMigrationError, CircularDependencyError, NodeNotFoundError
from django.db.migrations.loader import MigrationLoader

from .schema import KEYS, OPTION, REPLICATED, replicated_in_file, same


def options_of_models():
    """(label, name) -> what migrations say of a model. Migrations that cannot be loaded are told by others."""
    try:
        state = MigrationLoader(None, ignore_no_migrations=True).project_state()
    except (BadMigrationError, CircularDependencyError, NodeNotFoundError):
        return {}
    return {at: of_model.options for at, of_model in sorted(state.models.items()) if at[1] in apps.all_models[at[0]]}


def number_of(key, connection, options):
    """The name of the field that gives out numbers for a key, to several rows in several files; None if none does."""
    while key.remote_field:
        key = key.target_field
    spread = options.get((key.model._meta.app_label, key.model._meta.model_name), {}).get(KEYS) == "spread"
    return type(key).__name__ if key.db_type(connection) == "integer" and not spread else None


def check_keys(app_configs=None, **_):
    """Two files give the same number to different rows."""
    connection = next((connection for connection in connections.all() if connection.vendor == "sqlite"), None)
    if not connection:
        return []
    labels = {config.label for config in app_configs or apps.get_app_configs()}
    found = []
    of_models = options_of_models()
    for (label, name), options in of_models.items():
        whole = options.get(REPLICATED, False)
        if label not in labels or not (whole or options.get(OPTION)) or options.get(KEYS):
            continue
        model = apps.get_model(label, name)
        number = number_of(model._meta.pk, connection, of_models)
        if number:
            says = "is replicated" if whole else "has tracked columns"
            found.append(Warning(
                f"{model._meta.object_name} {says}, and its key is {number}: two files give the same number "
                f"to different rows, and a merge makes one {'row' if whole else 'counter'} of theirs.",
                hint='Give the model a natural key or a UUIDField with primary_key=True. If only one file makes rows, or you assign keys '
                f'that no two files share, write {"ReplicateTable" if whole else "TrackCounter"}(..., keys="assigned").',
                obj=model, id="sqlite_counter.W001"))
    return found


def add_replicated_in_files(whole):
    """Adds models of which no migration tells, such as those of counter_adopt, which spreads their keys. Returns whether all files can
    be read."""
    for connection in connections.all():
        tables = replicated_in_file(connection) if connection.vendor == "sqlite" else set()
        if tables is None:
            return False
        for model in apps.get_models():
            if same(model._meta.db_table) in tables:
                whole.setdefault((model._meta.app_label, model._meta.model_name), {KEYS: "spread"})
    return True


def check_references(app_configs=None, **_):
    """Rows of a replicated model refer to rows that do not travel, or to numbers that each file gives out."""
    connection = next((connection for connection in connections.all() if connection.vendor == "sqlite"), None)
    if not connection:
        return []
    labels = {config.label for config in app_configs or apps.get_app_configs()}
    whole = {at: options for at, options in options_of_models().items() if options.get(REPLICATED)}
    to_check = [at for at in sorted(whole) if at[0] in labels]
    if not to_check or not add_replicated_in_files(whole):
        return []
    return [found for at in to_check for found in check_model(apps.get_model(*at), whole, connection)]


def check_model(model, whole, connection):
    def travels(other):
        """Those of an automatic table travel with the rows of its model."""
        other = other._meta.auto_created or other
        return (other._meta.app_label, other._meta.model_name) in whole

    for field in model._meta.local_fields:
        parent = field.related_model if field.remote_field else None
        at = f"{model._meta.object_name}.{field.name}"
        if parent and not travels(parent):
            yield Warning(
                f"{at} refers to {parent._meta.object_name}, which is not replicated: rows of other files may have no parent here.",
                hint=f'Write ReplicateTable("{parent._meta.object_name}") in a migration, unless all files have the same rows of it.',
                obj=model, id="sqlite_counter.W002")
        elif parent and parent is not model and number_of(field, connection, whole):
            yield Warning(
                f"{at} refers to {parent._meta.object_name}, whose key is {number_of(field, connection, whole)}: where two files gave one "
                "number, its rows have another parent.",
                hint=f"Give {parent._meta.object_name} a natural key or a UUIDField with primary_key=True.",
                obj=model, id="sqlite_counter.W003")
    for field in model._meta.local_many_to_many:
        through, other = field.remote_field.through, field.related_model
        if not travels(through):
            yield Warning(
                f"{model._meta.object_name}.{field.name} has its rows in {through._meta.db_table}, which is not replicated: they stay "
                "in their file.",
                hint=f'Write ReplicateTable("{through._meta.object_name}") in a migration.',
                obj=model, id="sqlite_counter.W002")
        elif not travels(other):
            yield Warning(
                f"{model._meta.object_name}.{field.name} refers to {other._meta.object_name}, which is not replicated: rows of other "
                f"files may have no parent here.",
                hint=f'Write ReplicateTable("{other._meta.object_name}") in a migration, unless all files have the same rows of it.',
                obj=model, id="sqlite_counter.W002")
