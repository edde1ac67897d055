"""checks.py - what `manage.py check` says."""
from django.apps import apps
from django.core.checks import Warning
from django.db import connections
from django.db.migrations.exceptions import BadMigrationError, CircularDependencyError, NodeNotFoundError
from django.db.migrations.loader import MigrationLoader
from django.db.models import AutoField

from .schema import OPTION


def check_keys(app_configs=None, **_):
    """Two files give the same number to different rows. Migrations that cannot be loaded are told by others."""
    if not any(connection.vendor == "sqlite" for connection in connections.all()):
        return []
    try:
        state = MigrationLoader(None, ignore_no_migrations=True).project_state()
    except (BadMigrationError, CircularDependencyError, NodeNotFoundError):
        return []
    labels = {config.label for config in app_configs or apps.get_app_configs()}
    found = []
    for (label, name), of_model in sorted(state.models.items()):
        if label not in labels or not of_model.options.get(OPTION) or name not in apps.all_models[label]:
            continue
        model = apps.get_model(label, name)
        key = model._meta.pk
        while key.remote_field:
            key = key.target_field
        if isinstance(key, AutoField):
            found.append(Warning(
                f"{model._meta.object_name} has tracked columns, and its key is {type(key).__name__}: two files give the same number "
                "to different rows, and a merge makes one counter of theirs.",
                hint="Give the model a natural key or a UUIDField with primary_key=True.", obj=model, id="sqlite_counter.W001"))
    return found
