"""counter_adopt.py - manage.py counter_adopt --counter TABLE.COLUMN --leave TABLE"""
from django.core.management import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS

from ....adopting import adopt
from ....database import SyncError
from ...connecting import sqlite_of


class Command(BaseCommand):
    help = "Replicates all tables of a database, all or nothing. Adopt one file, then copy it."

    def add_arguments(self, parser):
        parser.add_argument("--counter", action="append", default=[], metavar="TABLE.COLUMN", help="a column that counts; repeatable")
        parser.add_argument("--leave", action="append", default=[], metavar="TABLE", help="a table that stays at home; repeatable")
        parser.add_argument("--dry-run", action="store_true", help="takes all of it back")
        parser.add_argument("--database", default=DEFAULT_DB_ALIAS, help="an alias of DATABASES")

    def handle(self, counter, leave, dry_run, database, **options):
        try:
            connection = sqlite_of(database)
            connection.close()
            adopted = adopt(connection.settings_dict["NAME"], counter, leave, dry_run)
        except SyncError as error:
            raise CommandError(str(error)) from error
        for table, kind, key in adopted:
            self.stdout.write("\t".join([table, kind, *([key] if key else [])]))
