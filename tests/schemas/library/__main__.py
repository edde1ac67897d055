"""The application of django.sql by Django's ORM: a line with [file, call, values…], a line with the answer. The library of the
counters is the first argument."""

import json
import sys

import django
from django.conf import settings
from django.db import connections, transaction
from django.db.backends.signals import connection_created
from django.db.models import F
from django.db.utils import IntegrityError

settings.configure(INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "library"], USE_TZ=False, DATABASES={"default": {
    "ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}})
django.setup()

from django.contrib.auth.models import Group, User  # noqa: E402
from library.models import Author, Book, Contribution, Item, Loan, Profile, Tag  # noqa: E402


class TakeBack(Exception):
    pass


class Calls:
    def __init__(self, file):
        self.file = file

    def of(self, model):
        return model.objects.using(self.file)

    def user(self, name):
        with transaction.atomic(self.file):
            user = User.objects.db_manager(self.file).create_user(name, password=None)
            self.of(Profile).create(user=user)
        return user.pk

    def book(self, title, isbn, author):
        """A row of two tables, with the one who wrote it."""
        with transaction.atomic(self.file):
            book = self.of(Book).create(title=title, isbn=isbn, stock=3)
            self.of(Contribution).create(book=book, author_id=author, role="author")
        assert self.of(Book).get(pk=book.pk).title == title
        return book.pk

    def items(self, titles):
        self.of(Item).bulk_create([Item(title=title) for title in titles])
        return list(self.of(Item).filter(title__in=titles).values_list("pk", flat=True))

    def author(self, name, mentor, user):
        author, _ = self.of(Author).get_or_create(name=name, defaults={"mentor_id": mentor, "user_id": user})
        return author.pk

    def mentor(self, author, mentor):
        author = self.of(Author).get(pk=author)
        author.mentor_id = mentor
        author.save(update_fields=["mentor"])

    def title(self, item, title):
        item = self.of(Item).get(pk=item)
        item.title, item.status = title, item.status + 1
        item.save()

    def lend(self, item, user):
        with transaction.atomic(self.file):
            loan = self.of(Loan).create(item_id=item, borrower_id=user)
            self.of(Item).filter(pk=item).update(stock=F("stock") - 1)
            self.of(Profile).filter(user_id=user).update(loans=F("loans") + 1)
        return loan.pk

    def give_back(self, loan):
        loan = self.of(Loan).select_related("item").get(pk=loan)
        with transaction.atomic(self.file):
            loan.returned = True
            loan.save()
            loan.item.stock = F("stock") + 1
            loan.item.save(update_fields=["stock"])

    def tag(self, item, slug):
        self.of(Item).get(pk=item).tags.add(self.of(Tag).get_or_create(slug=slug)[0])

    def untag(self, item, slug):
        self.of(Item).get(pk=item).tags.remove(slug)

    def set_tags(self, item, slugs):
        self.of(Item).get(pk=item).tags.set(self.of(Tag).filter(slug__in=slugs))

    def profile(self, user, notes):
        self.of(Profile).update_or_create(user_id=user, defaults={"notes": {"text": notes}})

    def group(self, name, user):
        self.of(Group).get_or_create(name=name)[0].user_set.add(user)

    def delete(self, model, key):
        """With what Django takes along."""
        self.of({each.__name__: each for each in (Author, Contribution, Item, Loan, User)}[model]).filter(pk=key).delete()

    def undone(self, titles, item):
        try:
            with transaction.atomic(self.file):
                self.items(titles)
                self.of(Item).filter(pk=item).update(stock=F("stock") + 100)
                raise TakeBack
        except TakeBack:
            pass

    def half_undone(self, title, lost, item):
        """An inner block that fails, and one that does not."""
        with transaction.atomic(self.file):
            key = self.of(Item).create(title=title).pk
            try:
                with transaction.atomic(self.file):
                    self.of(Item).filter(pk=item).update(stock=F("stock") + 100)
                    self.of(Book).create(title=lost, isbn="9780000000001")
            except IntegrityError:
                self.of(Item).filter(pk=item).update(stock=F("stock") + 1)
        return key


def load(connection, **_):
    connection.connection.enable_load_extension(True)
    connection.connection.load_extension(sys.argv[1])
    connection.connection.execute("PRAGMA synchronous = OFF")


def main():
    connection_created.connect(load)
    for line in sys.stdin:
        path, call, *values = json.loads(line)
        if path not in connections.databases:
            connections.databases[path] = {**connections.databases["default"], "NAME": path}
        try:
            answer = {"value": getattr(Calls(path), call)(*values)}
        except IntegrityError as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


main()
