"""counter_plan.py - manage.py counter_plan"""
from django.core.management import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS

from ....adopting import plan
from ....database import SyncError
from ...connecting import connection_of


class Command(BaseCommand):
    help = "Says what it takes to replicate all tables of a database, and what to think of before; changes nothing."

    def add_arguments(self, parser):
        parser.add_argument("--database", default=DEFAULT_DB_ALIAS, help="an alias of DATABASES")

    def handle(self, database, **options):
        try:
            matters = plan(connection_of(database))
        except SyncError as error:
            raise CommandError(str(error)) from error
        for table, kind, column, finding, remedy in matters:
            self.stdout.write(": ".join([f"{kind}\t{table}{f'({column})' if column else ''}", finding, *([remedy] if remedy else [])]))
