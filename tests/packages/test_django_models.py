"""test_django_models.py - SavesChanges, the base of models whose save() writes the fields that were changed since they were read: against
SQL that writes the same row meanwhile, and by random programs against a model of what each save is to write."""
import textwrap

import pytest

from conftest import CLEAN, EXAMPLES, SEED, run

PYTHON = "/usr/bin/python3"
BEGIN = textwrap.dedent(r"""
    import contextlib, copy, pickle, random, re, sys, warnings, django
    from django.conf import settings
    settings.configure(SECRET_KEY="-", INSTALLED_APPS=["sqlite_counter.django", "shop"], USE_TZ=True, DEFAULT_AUTO_FIELD="django.db.models.AutoField",
                       DATABASES={name: {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"} for name in ("default", "other")})
    django.setup()
    from django.db import DatabaseError, connection, connections, models, transaction
    from django.db.models import F, Value
    from django.db.models.functions import Concat
    from django.db.models.signals import post_save, pre_save
    from django.test.utils import CaptureQueriesContext
    from sqlite_counter.django.models import SavesChanges

    class Part(SavesChanges):
        name = models.CharField(max_length=80, default="")
        note = models.CharField(max_length=80, default="")
        stock = models.IntegerField(default=0)
        price = models.DecimalField(max_digits=9, decimal_places=2, default=0)
        more = models.JSONField(default=dict)
        sheet = models.FileField(default="")
        whole = models.ForeignKey("self", models.CASCADE, null=True)
        class Meta:
            app_label = "shop"

    class Engine(Part):
        power = models.IntegerField(default=0)
        at = models.DateTimeField(auto_now=True)
        class Meta:
            app_label = "shop"

    for name in "default", "other":
        with connections[name].schema_editor() as editor:
            editor.create_model(Part)
            editor.create_model(Engine)

    def updated(save, *args, **options):
        "What a save writes: the columns of each UPDATE."
        with CaptureQueriesContext(connection) as queries:
            save(*args, **options)
        found = []
        for query in queries:
            if query["sql"].startswith("UPDATE"):
                found += re.findall(r'"(\w+)" = ', query["sql"].split(" SET ")[1].split(" WHERE ")[0])
        return sorted(found)

    def sql(text, *values):
        with connection.cursor() as cursor:
            cursor.execute(text, values)
            return cursor.fetchall()
    """)


@pytest.fixture
def held(package, tmp_path):
    """Runs a program behind BEGIN; it asserts what it claims."""
    pytest.importorskip("django")
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()

    def hold(text, *words):
        return run(PYTHON, "-W", "error::RuntimeWarning", "-c", BEGIN + textwrap.dedent(text), *words, cwd=tmp_path,
                   env={**CLEAN, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"})
    return hold


def test_save_writes_what_was_changed_and_leaves_what_others_have_written(held):
    held("""
        Part.objects.create(name="tea", stock=10)
        part = Part.objects.get()
        sql("UPDATE shop_part SET stock = 29, note = 'theirs'")
        part.name = "Green tea"
        part.stock = 10
        assert updated(part.save) == ["name"]
        assert Part.objects.values_list("name", "note", "stock").get() == ("Green tea", "theirs", 29)
        assert updated(part.save) == []
        part.name = "tea"
        assert updated(part.save) == ["name"]
        part.stock = F("stock") - 1
        assert updated(part.save) == ["stock"] and Part.objects.get().stock == 28
        part.stock = 10
        assert updated(part.save) == ["stock"] and Part.objects.get().stock == 10
        """)


def test_a_new_object_and_one_with_another_key_are_written_whole(held):
    held("""
        part = Part(name="tea")
        part.save()
        part.note = "more"
        assert updated(part.save) == ["note"]
        part.pk = None
        part.save()
        assert Part.objects.filter(name="tea", note="more").count() == 2
        Part.objects.create(pk=7, name="jam")
        part = Part.objects.get(note="more", pk=1)
        part.pk = 7
        assert len(updated(part.save)) == 7 and Part.objects.get(pk=7).name == "tea"
        part = Part.objects.get(pk=7)
        sql("DELETE FROM shop_part WHERE id = 7")
        part.stock = 3
        part.save()
        assert Part.objects.values_list("name", "note", "stock").get(pk=7) == ("tea", "more", 3)
        part.save()
        sql("DELETE FROM shop_part WHERE id = 7")
        for options in {"force_update": True}, {"update_fields": ["name"]}:
            try:
                part.save(**options)
                assert False
            except DatabaseError:
                pass
        part.save(force_insert=True)
        assert Part.objects.get(pk=7).stock == 3
        part.save(using="other")
        assert Part.objects.using("other").get().name == "tea"
        sql("UPDATE shop_part SET name = 'theirs' WHERE id = 7")
        part.save(using="default")
        assert Part.objects.get(pk=7).name == "tea"
        """)


def test_named_fields_are_written_as_they_are_and_deferred_ones_are_not(held):
    held("""
        Part.objects.create(name="tea", stock=10)
        part = Part.objects.get()
        assert updated(part.save, update_fields=["name", "stock"]) == ["name", "stock"]
        assert updated(part.save, False, False, None, ["whole"]) == ["whole_id"]
        part = Part.objects.only("name").get()
        part.name = "jam"
        assert updated(part.save) == ["name"] and updated(part.save) == []
        sql("UPDATE shop_part SET stock = 11")
        assert part.stock == 11 and updated(part.save) == []
        part.note = "written unread"
        assert updated(part.save) == ["note"]
        part = Part.objects.defer("stock").get()
        part.stock = 11
        assert updated(part.save) == ["stock"]
        """)


def test_a_field_is_compared_with_what_was_read_last(held):
    held("""
        Part.objects.create(name="tea", stock=10)
        part = Part.objects.get()
        sql("UPDATE shop_part SET stock = 29, name = 'theirs'")
        part.refresh_from_db(fields=["stock"])
        part.stock, part.name = 10, "tea"
        assert updated(part.save) == ["stock"]
        part.refresh_from_db()
        assert part.name == "theirs"
        part.name = "tea"
        assert updated(part.save) == ["name"]
        for again in copy.copy(part), copy.deepcopy(part), pickle.loads(pickle.dumps(part)):
            again.note = str(id(again))
            assert updated(again.save) == ["note"]
        part.save()
        assert Part.objects.get().note == str(id(again))
        """)


def test_values_of_all_kinds_are_compared_as_they_are_written(held):
    held("""
        Part.objects.create(name="tea", more={"a": [1]}, sheet="a.txt", price="4.50")
        part = Part.objects.get()
        part.stock, part.price, part.whole_id = "0", "4.5", None
        assert updated(part.save) == []
        part.more["a"].append(2)
        assert updated(part.save) == ["more"] and updated(part.save) == []
        part.more["a"].append(3)
        assert updated(part.save) == ["more"] and Part.objects.get().more == {"a": [1, 2, 3]}
        assert part.sheet.name == "a.txt" and updated(part.save) == []
        part.sheet = "b.txt"
        assert updated(part.save) == ["sheet"]
        part.whole = part
        assert updated(part.save) == ["whole_id"]
        part.name = Concat("name", Value("!"))
        assert updated(part.save) == ["name"] and Part.objects.get().name == "tea!"
        """)


def test_signals_and_inheritance_are_as_always(held):
    held("""
        Engine.objects.create(name="v8", power=8)
        engine = Engine.objects.get()
        sql("UPDATE shop_part SET note = 'theirs'")
        engine.power = 9
        assert updated(engine.save) == ["at", "power"]
        engine.name = "v9"
        assert updated(engine.save) == ["at", "name"]
        assert Part.objects.values_list("name", "note").get() == ("v9", "theirs")
        part = Part.objects.get()
        said = []
        def before(sender, instance, update_fields, **_):
            said.append(update_fields)
            instance.note = "by a handler"
        def after(sender, instance, update_fields, **_):
            said.append(update_fields)
            instance.stock = 5
        pre_save.connect(before, sender=Part)
        post_save.connect(after, sender=Part)
        assert updated(part.save) == ["note"] and said == [None, None]
        assert updated(part.save) == ["stock"]
        def again(sender, instance, **_):
            pre_save.disconnect(again, sender=Part)
            instance.save(update_fields=["price"])
        pre_save.connect(again, sender=Part)
        part.name = "v10"
        assert updated(part.save) == ["name", "price"]
        """)


def test_what_a_transaction_took_back_is_written_again(held):
    held("""
        Part.objects.create(name="tea", stock=10)
        part = Part.objects.get()
        with contextlib.suppress(ZeroDivisionError), transaction.atomic():
            part.name = "jam"
            part.save()
            1 / 0
        assert updated(part.save) == ["name"] and Part.objects.get().name == "jam"
        with transaction.atomic():
            part.name = "rice"
            part.save()
            with contextlib.suppress(ZeroDivisionError), transaction.atomic():
                part.name = "salt"
                part.save()
                1 / 0
            part.note = "outer"
            part.save(update_fields=["note"])
        assert Part.objects.get().name == "rice"
        assert updated(part.save) == ["name"] and Part.objects.get().name == "salt"
        with transaction.atomic():
            part.stock = 5
            assert updated(part.save) == ["stock"]
            part.stock = 6
            assert updated(part.save) == ["stock"]
        assert updated(part.save) == []
        part = Part(name="new")
        with contextlib.suppress(ZeroDivisionError), transaction.atomic():
            part.save()
            1 / 0
        part.save()
        assert Part.objects.filter(name="new").count() == 1
        """)


def test_each_save_of_a_random_program_leaves_what_it_was_to_leave(held):
    """The model of an object: what it has, and what is known of its row. Of two objects of a row one writes what it changed."""
    held("""
        seed, rounds = int(sys.argv[1]), int(sys.argv[2])
        random = random.Random(seed)
        NAMES = ["name", "note", "stock", "more"]
        def value(name):
            n = random.randrange(4)
            return {"name": str(n), "note": str(n), "stock": n, "more": {"n": [n]}}[name]
        for _ in range(rounds):
            Part.objects.all().delete()
            pk = Part.objects.create().pk
            row = {"name": "", "note": "", "stock": 0, "more": {}}
            fresh = lambda: [Part.objects.get(pk=pk), copy.deepcopy(row), copy.deepcopy(row)]
            objects = [fresh(), fresh()]
            for step in range(20):
                which = random.randrange(2)
                part, has, knows = objects[which]
                name = random.choice(NAMES)
                what = random.choice(["set", "set", "set", "in place", "save", "save", "save", "named", "roll back", "read", "refresh"])
                if what == "set":
                    setattr(part, name, given := value(name))
                    has[name] = copy.deepcopy(given)
                elif what == "in place":
                    part.more["p"] = has["more"]["p"] = random.randrange(3)
                elif what == "read":
                    objects[which] = fresh()
                elif what == "refresh":
                    part.refresh_from_db(fields=[name])
                    has[name], knows[name] = copy.deepcopy(row[name]), copy.deepcopy(row[name])
                else:
                    writes = [name] if what == "named" else [each for each in NAMES if each not in knows or has[each] != knows[each]]
                    options = {"update_fields": [name]} if what == "named" else {}
                    with contextlib.suppress(ZeroDivisionError), transaction.atomic() if random.random() < 0.3 or what == "roll back" else contextlib.nullcontext():
                        assert (wrote := sorted(set(updated(part.save, **options)))) == sorted(writes), (seed, what, writes, wrote)
                        what == "roll back" and 1 / 0
                    for each in writes:
                        if what == "roll back":
                            knows.pop(each, None)
                        else:
                            row[each], knows[each] = copy.deepcopy(has[each]), copy.deepcopy(has[each])
                assert Part.objects.values(*NAMES).get(pk=pk) == row, seed
        """, str(SEED), str(max(EXAMPLES // 2, 5)))
