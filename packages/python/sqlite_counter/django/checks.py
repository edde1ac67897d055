"""checks.py - what `manage.py check` says."""
from django.apps import apps
from django.core.checks import Warning
from django.db import connections
from django.db.migrations.exceptions import BadMigrationError, CircularDependencyError, NodeNotFoundError
from django.db.migrations.loader import MigrationLoader

from .schema import KEYS, OPTION, REPLICATED


def check_keys(app_configs=None, **_):
    """Two files give the same number to different rows. Migrations that cannot be loaded are told by others."""
    connection = next((connection for connection in connections.all() if connection.vendor == "sqlite"), None)
    if not connection:
        return []
    try:
        state = MigrationLoader(None, ignore_no_migrations=True).project_state()
    except (BadMigrationError, CircularDependencyError, NodeNotFoundError):
        return []
    labels = {config.label for config in app_configs or apps.get_app_configs()}
    found = []
    for (label, name), of_model in sorted(state.models.items()):
        options = of_model.options
        whole = options.get(REPLICATED, False)
        if label not in labels or not (whole or options.get(OPTION)) or options.get(KEYS) or name not in apps.all_models[label]:
            continue
        model = apps.get_model(label, name)
        key = model._meta.pk
        while key.remote_field:
            key = key.target_field
        if key.db_type(connection) == "integer":
            says = "is replicated" if whole else "has tracked columns"
            found.append(Warning(
                f"{model._meta.object_name} {says}, and its key is {type(key).__name__}: two files give the same number "
                f"to different rows, and a merge makes one {'row' if whole else 'counter'} of theirs.",
                hint='Give the model a natural key or a UUIDField with primary_key=True. If only one file makes rows, or you assign keys '
                f'that no two files share, write {"ReplicateTable" if whole else "TrackCounter"}(..., keys="assigned").',
                obj=model, id="sqlite_counter.W001"))
    return found
