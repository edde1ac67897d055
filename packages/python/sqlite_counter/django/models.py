"""models.py - a base of models whose save() writes the fields that were changed since they were read.

    class Product(SavesChanges):
        name = models.CharField(max_length=80)

Django writes all fields of an object, and with them what others have changed meanwhile: each old value would be the newest, and
win the next merge. Here save() leaves out each field that still has the value that was read. It writes all of a new object, the
fields that update_fields names, and expressions such as F("stock") - 1. Signals, auto_now and multi-table inheritance are as always.
A field that is to be written though its value is the one that was read is named in update_fields.

What save() wrote in a transaction it writes again until that is committed, for it may be rolled back. An object that was read in a
transaction that was rolled back is to be read anew, as by refresh_from_db()."""
import datetime
import decimal
import uuid

from django.db import connections, models, transaction

# Values of these types stay as they are: only an assignment changes a field.
PLAIN = frozenset([type(None), bool, int, float, str, bytes, decimal.Decimal, datetime.date, datetime.time, datetime.datetime,
                   datetime.timedelta, uuid.UUID])


class Prepared:
    """What would be written of a value that can change in place."""

    def __init__(self, field, value, using):
        self.value = field.get_db_prep_save(value, connections[using])


# What was read of an object, or written by it, stands in its _state: the database, and by attname the value, a Prepared one, or any
# other object, which no value is equal to. The dictionary is never changed, for copies of the object share it.

def known(of, using):
    database, values = getattr(of._state, "known", (None, {}))
    return values if database == using else {}


def note(of, values, using):
    of._state.known = using, {**known(of, using), **values}


def value_to_note(field, value, using):
    if type(value) in PLAIN:
        return value
    return object() if hasattr(value, "resolve_expression") else Prepared(field, value, using)


def note_as_read(of, fields):
    using = of._state.db
    note(of, {field.attname: value_to_note(field, of.__dict__[field.attname], using) for field in fields if field.attname in of.__dict__},
         using)


def note_as_written(of, written, using):
    """`written` has pairs of a field and a value. What is not committed yet is not known."""
    values = {field.attname: value_to_note(field, value, using) for field, value in written}
    pending = object()
    note(of, dict.fromkeys(values, pending), using)

    def commit():
        now = known(of, using)
        note(of, {name: value for name, value in values.items() if now.get(name) is pending}, using)

    if connections[using].in_atomic_block or connections[using].get_autocommit():
        transaction.on_commit(commit, using=using)


def has_changed(of, field, value, using):
    if field.attname not in known(of, using) or hasattr(value, "resolve_expression"):
        return True
    before = known(of, using)[field.attname]
    if type(before) is type(value) and type(value) in PLAIN:
        return before != value
    if type(before) in PLAIN:
        before = Prepared(field, before, using)
    return type(before) is not Prepared or before.value != field.get_db_prep_save(value, connections[using])


class SavesChanges(models.Model):
    class Meta:
        abstract = True

    @classmethod
    def from_db(cls, db, field_names, values):
        read = super().from_db(db, field_names, values)
        note_as_read(read, read._meta.concrete_fields)
        return read

    def refresh_from_db(self, using=None, fields=None, **options):
        super().refresh_from_db(using=using, fields=fields, **options)
        note_as_read(self, [field for field in self._meta.concrete_fields if fields is None or field.name in fields or field.attname in fields])

    def save(self, force_insert=False, force_update=False, using=None, update_fields=None):
        """A handler of a signal may save the object meanwhile."""
        before, self._state.chosen = getattr(self._state, "chosen", False), update_fields is not None
        try:
            super().save(force_insert=force_insert, force_update=force_update, using=using, update_fields=update_fields)
        finally:
            self._state.chosen = before

    def _do_update(self, base_qs, using, pk_val, values, *options):
        """Each of the values is (field, None, value). What was read of a row says nothing of one with another key."""
        key = self._meta.pk
        chosen = getattr(self._state, "chosen", False) or self._state.db != using or has_changed(self, key, self.pk, using)
        written = [each for each in values if chosen or has_changed(self, each[0], each[2], using)]
        updated = super()._do_update(base_qs, using, pk_val, written, *options)
        if updated:
            note_as_written(self, [(field, value) for field, _, value in written], using)
        return updated

    def _do_insert(self, manager, using, fields, returning_fields, raw):
        returned = super()._do_insert(manager, using, fields, returning_fields, raw)
        inserted = [(field, self.__dict__[field.attname]) for field in fields if field.attname in self.__dict__]
        if returned:
            inserted += zip(returning_fields, returned[0])
        note_as_written(self, inserted, using)
        return returned
