"""counter_token.py - manage.py counter_token [DEVICE | --remove DEVICE [--to DEVICE]]"""
from django.core.management import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS

from ....database import SyncError, told
from ....tokens import add_token, remove_token, tokens
from ...connecting import connection_of


class Command(BaseCommand):
    help = "Prints a new token for a device that syncs with this server; without a device, lists those that have one."

    def add_arguments(self, parser):
        parser.add_argument("device", nargs="?", metavar="DEVICE")
        parser.add_argument("--remove", metavar="DEVICE", help="takes its token away; what it has counted stays")
        parser.add_argument("--to", metavar="DEVICE", help="who takes over the ids of the one that is removed")
        parser.add_argument("--database", default=DEFAULT_DB_ALIAS, help="an alias of DATABASES")

    def handle(self, device, remove, to, database, **options):
        if (device and remove) or (to and not remove):
            raise CommandError("counter_token takes DEVICE, or --remove DEVICE with or without --to")
        connection = connection_of(database)
        try:
            with told():
                if device:
                    self.stdout.write(add_token(connection, device))
                elif remove:
                    remove_token(connection, remove, to)
                else:
                    for each in tokens(connection):
                        self.stdout.write("\t".join([each.device, *each.ids]))
        except SyncError as error:
            raise CommandError(str(error)) from error
