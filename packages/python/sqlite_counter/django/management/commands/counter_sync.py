"""counter_sync.py - manage.py counter_sync URL|DIRECTORY|FILE"""
from django.core.management import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS

from ....anywhere import sync
from ....database import SyncError
from ...connecting import connection_of, sqlite_of
from ...links import settle_links


class Command(BaseCommand):
    help = "Syncs the counters and rows of a database with a server, a folder that other machines see, or another file."

    def add_arguments(self, parser):
        parser.add_argument("other", metavar="URL|DIRECTORY|FILE")
        parser.add_argument("--database", default=DEFAULT_DB_ALIAS, help="an alias of DATABASES")
        parser.add_argument("--token-file", help="a file with the token of a server; else SQLITE_COUNTER_TOKEN")

    def handle(self, other, database, token_file, **options):
        try:
            said, left, warnings = sync(connection_of(database), other, token_file)
            pairs = settle_links(sqlite_of(database))
            if pairs:
                added = "1 pair of a ManyToManyField was" if pairs == 1 else f"{pairs} pairs of ManyToManyFields were each"
                self.stdout.write(f"{said}\n{added} added in two files, as two rows: one of the two was deleted, and the sync runs again")
                said, left, warnings = sync(connection_of(database), other, token_file)
        except SyncError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(said)
        for warning in left + warnings:
            self.stderr.write(warning)
        if left:
            raise CommandError("some changes of others could not be taken in")
