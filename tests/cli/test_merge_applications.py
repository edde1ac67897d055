"""test_merge_applications.py - sqlite-counter merge in ten schemas of real applications.

One day is played in OURS and another in THEIRS, each as the application does it: numbers that it gets from
last_insert_rowid() are written where they refer. The model is one file in which both days were played, one after the
other: what it shows by names, not by numbers, is what the merged file must show. Which options must be said by hand
stands here: the program asks for them.
"""

import json
import shutil
import sqlite3

import pytest

from program import ROOT, run

SCHEMAS = ROOT / "tests" / "schemas"


class Day:
    """An application at work on one file."""

    def __init__(self, path, who):
        self.db, self.who = sqlite3.connect(path, isolation_level=None), who
        self.db.execute("PRAGMA foreign_keys = ON")

    def add(self, table, **values):
        names = ", ".join(f'"{name}"' for name in values)
        return self.db.execute(f'INSERT INTO "{table}"({names}) VALUES ({", ".join("?" * len(values))})', list(values.values())).lastrowid

    def run(self, sql, *values):
        return self.db.execute(sql, values).fetchall()

    def one(self, sql, *values):
        found = self.run(sql, *values)
        return found[0][0] if found else None

    def find_or_add(self, table, column, value, **more):
        return self.one(f'SELECT id FROM "{table}" WHERE "{column}" = ?', value) or self.add(table, **{column: value}, **more)


def shop(day):
    customer = day.add("customers", email=f"{day.who}@example.org", name=day.who)
    day.add("customer_details", customer_id=customer, address=day.who)
    order = day.add("orders", customer_id=customer, placed_at=day.who)
    day.add("order_items", order_id=order, product_id=1, quantity=2 + len(day.who))
    head = day.add("employees", name=f"head of {day.who}", department_id=day.one("SELECT min(id) FROM departments"))
    department = day.add("departments", name=f"new {day.who}", head_id=head)
    day.run("UPDATE employees SET department_id = ?, manager_id = ? WHERE id = ?", department, day.one("SELECT min(id) FROM employees"), head)
    top = day.find_or_add("categories", "name", "both", parent=None)
    day.add("categories", name=f"sub {day.who}", parent=top)


def notes(day):
    note = day.add("notes", notebook_id="5f0e", title=f"by {day.who}", body=f"words of {day.who}")
    day.run("INSERT OR IGNORE INTO tags VALUES ('Both', 'blue')")
    for tag in "both", "todo":
        day.add("note_tags", note_id=note, tag=tag)
    day.add("attachments", note_id=note, name="a.txt", bytes=day.who.encode())
    day.run("UPDATE notes SET views = views + ? WHERE id = 1", len(day.who))


def music(day):
    artist = day.add("Artist", Name=day.who)
    album = day.add("Album", Title=f"of {day.who}", ArtistId=artist)
    for i in range(2):
        track = day.add("Track", Name=f"{i} of {day.who}", AlbumId=album, MediaTypeId=1, Milliseconds=i, UnitPrice=1)
        day.add("PlaylistTrack", PlaylistId=8, TrackId=track)
    invoice = day.add("Invoice", CustomerId=1, InvoiceDate=day.who, Total=1)
    day.add("InvoiceLine", InvoiceId=invoice, TrackId=track, UnitPrice=1, Quantity=1)
    day.run("UPDATE Track SET PlayCount = PlayCount + ? WHERE TrackId = 1", len(day.who))


def rails(day):
    user = day.add("users", email=f"{day.who}@example.org", name=day.who, created_at="now", updated_at="now")
    post = day.add("posts", user_id=user, title=f"by {day.who}", created_at="now", updated_at="now")
    comment = day.add("comments", post_id=post, user_id=user, body=f"first of {day.who}", created_at="now")
    day.add("comments", post_id=post, parent_id=comment, body=f"second of {day.who}", created_at="now")
    day.add("posts_tags", post_id=post, tag_id=day.one("SELECT min(id) FROM tags"))
    day.add("pictures", id=f"picture of {day.who}", imageable_type="Post", imageable_id=post, byte_size=1)


def django(day):
    user = day.add("auth_user", username=day.who, password="", is_superuser=0, last_name="", email="", is_staff=0, is_active=1, date_joined="now", first_name="")
    item = day.add("library_item", title=f"by {day.who}", stock=1, status=0)
    day.add("library_book", item_ptr_id=item, isbn=day.who)
    author = day.add("library_author", name=day.who, user_id=user, mentor_id=day.one("SELECT min(id) FROM library_author"))
    day.add("library_contribution", role="author", author_id=author, book_id=item)
    day.add("library_loan", since="now", returned=0, borrower_id=user, item_id=day.one("SELECT min(id) FROM library_item"))
    day.add("library_profile", user_id=user, loans=1, notes="{}")


def anki(day):
    note = day.add("notes", id=1700000000000 + len(day.who), guid=day.who, mid=1, mod=1, usn=-1, tags="", flds=day.who, sfld=0)
    card = day.add("cards", id=1700000000900 + len(day.who), nid=note, did=1600000000001, ord=0, mod=1, usn=-1, reps=0, lapses=0)
    day.add("revlog", id=1700000001900 + len(day.who), cid=card, usn=-1, ease=len(day.who))
    day.run("INSERT OR IGNORE INTO tags VALUES ('Both', -1)")
    day.run("UPDATE cards SET reps = reps + ? WHERE id = 1600000000101", len(day.who))


def beets(day):
    album = day.add("albums", albumartist=day.who, album=f"of {day.who}", year=2000)
    day.add("album_attributes", entity_id=album, key="label", value=day.who)
    for i in range(2):
        item = day.add("items", path=f"/{day.who}/{i}".encode(), album_id=album, title=f"{i} of {day.who}", artist=day.who, track=i, mtime=1.0)
        day.add("item_attributes", entity_id=item, key="mood", value=f"{i} {day.who}")


def calibre(day):
    book = day.add("books", title=f"by {day.who}", path=day.who, uuid=day.who)
    for name in day.who, "Both Of Them":
        day.add("books_authors_link", book=book, author=day.find_or_add("authors", "name", name))
    day.add("books_tags_link", book=book, tag=day.find_or_add("tags", "name", "both"))
    day.add("data", book=book, format="PDF", uncompressed_size=1, name=day.who)
    day.add("comments", book=book, text=f"on {day.who}")


def joplin(day):
    day.add("notes", id=f"n {day.who}", parent_id="f1", title=f"by {day.who}", updated_time=2)
    day.add("note_tags", id=f"x {day.who}", note_id=f"n {day.who}", tag_id="t1")
    day.add("notes_normalized", id=f"n {day.who}", title=f"by {day.who}", body=f"words of {day.who}")


def places(day):
    origin = day.one("SELECT id FROM moz_origins WHERE host = 'both.org'") or day.add("moz_origins", prefix="https://", host="both.org", frecency=1)
    for i in range(2):
        place = day.add("moz_places", url=f"https://both.org/{day.who}/{i}", title=f"{i} of {day.who}", guid=f"{day.who}{i}", origin_id=origin, visit_count=1)
        visit = day.add("moz_historyvisits", from_visit=0 if i == 0 else visit, place_id=place, visit_date=i, visit_type=1)
    folder = day.add("moz_bookmarks", type=2, parent=2, position=1, title=f"folder of {day.who}", guid=f"f{day.who}")
    day.add("moz_bookmarks", type=1, fk=place, parent=folder, position=0, title=f"mark of {day.who}", guid=f"m{day.who}")
    attribute = day.find_or_add("moz_anno_attributes", "name", "both")
    day.add("moz_annos", place_id=place, anno_attribute_id=attribute, content=day.who)


# What each shows, by names; what must be said by hand.
APPLICATIONS = {
    shop: (["SELECT c.name, c.email, d.address, o.placed_at, i.quantity FROM customers AS c LEFT JOIN customer_details AS d ON d.customer_id = c.id LEFT JOIN orders AS o ON o.customer_id = c.id LEFT JOIN order_items AS i ON i.order_id = o.id AND i.product_id = 1",
            "SELECT d.name, h.name, e.name, m.name FROM departments AS d LEFT JOIN employees AS h ON h.id = d.head_id LEFT JOIN employees AS e ON e.department_id = d.id LEFT JOIN employees AS m ON m.id = e.manager_id",
            "SELECT c.name, p.name FROM categories AS c LEFT JOIN categories AS p ON p.id = c.parent", "SELECT name, stock, sold FROM products"],
           ["--add", "products.stock", "--add", "products.sold"]),
    notes: (["SELECT n.title, n.body, n.views, t.tag, a.name, a.bytes FROM notes AS n LEFT JOIN note_tags AS t ON t.note_id = n.id LEFT JOIN attachments AS a ON a.note_id = n.id",
             "SELECT n.title FROM notes_fts AS f JOIN notes AS n ON n.id = f.rowid WHERE notes_fts MATCH 'words'", "SELECT * FROM tags"], ["--add", "notes.views"]),
    music: (["SELECT t.Name, a.Title, r.Name, p.Name, t.PlayCount FROM Track AS t JOIN Album AS a USING (AlbumId) JOIN Artist AS r USING (ArtistId) LEFT JOIN PlaylistTrack USING (TrackId) LEFT JOIN Playlist AS p USING (PlaylistId)",
             "SELECT i.InvoiceDate, t.Name FROM Invoice AS i JOIN InvoiceLine USING (InvoiceId) JOIN Track AS t USING (TrackId)"], ["--add", "Track.PlayCount"]),
    rails: (["SELECT u.name, p.title, c.body, q.body, t.name, i.id FROM users AS u LEFT JOIN posts AS p ON p.user_id = u.id LEFT JOIN comments AS c ON c.post_id = p.id LEFT JOIN comments AS q ON q.id = c.parent_id LEFT JOIN posts_tags AS pt ON pt.post_id = p.id LEFT JOIN tags AS t ON t.id = pt.tag_id LEFT JOIN pictures AS i ON i.imageable_type = 'Post' AND i.imageable_id = p.id"],
            ["--ref", "comments.user_id=users", "--ref", "pictures.imageable_id=posts", "--ref", "posts_tags.post_id=posts", "--ref", "posts_tags.tag_id=tags"]),
    django: (["SELECT u.username, a.name, m.name, i.title, b.isbn, p.loans, l.since FROM auth_user AS u LEFT JOIN library_author AS a ON a.user_id = u.id LEFT JOIN library_author AS m ON m.id = a.mentor_id LEFT JOIN library_contribution AS c ON c.author_id = a.id LEFT JOIN library_book AS b ON b.item_ptr_id = c.book_id LEFT JOIN library_item AS i ON i.id = b.item_ptr_id LEFT JOIN library_profile AS p ON p.user_id = u.id LEFT JOIN library_loan AS l ON l.borrower_id = u.id"],
             []),
    anki: (["SELECT n.flds, c.reps, d.name, r.ease FROM notes AS n JOIN cards AS c ON c.nid = n.id JOIN decks AS d ON d.id = c.did LEFT JOIN revlog AS r ON r.cid = c.id", "SELECT * FROM tags"],
           ["--add", "cards.reps", "--ref", "cards.nid=notes", "--ref", "revlog.cid=cards"]),
    beets: (["SELECT a.album, i.title, i.path, t.value, l.value FROM albums AS a JOIN items AS i ON i.album_id = a.id LEFT JOIN item_attributes AS t ON t.entity_id = i.id LEFT JOIN album_attributes AS l ON l.entity_id = a.id"],
            ["--ref", "items.album_id=albums", "--ref", "item_attributes.entity_id=items", "--ref", "album_attributes.entity_id=albums"]),
    calibre: (["SELECT b.title, a.name, t.name, d.name, c.text FROM books AS b LEFT JOIN books_authors_link AS x ON x.book = b.id LEFT JOIN authors AS a ON a.id = x.author LEFT JOIN books_tags_link AS y ON y.book = b.id LEFT JOIN tags AS t ON t.id = y.tag LEFT JOIN data AS d ON d.book = b.id LEFT JOIN comments AS c ON c.book = b.id"],
              [f"--ref={column}" for column in ("books_authors_link.book=books", "books_authors_link.author=authors", "books_tags_link.book=books", "books_tags_link.tag=tags", "data.book=books", "comments.book=books")]),
    joplin: (["SELECT n.title, t.title FROM notes AS n LEFT JOIN note_tags AS x ON x.note_id = n.id LEFT JOIN tags AS t ON t.id = x.tag_id", "SELECT n.title FROM notes_fts AS f JOIN notes_normalized AS n ON n.rowid = f.docid WHERE notes_fts MATCH 'words'"], []),
    places: (["SELECT p.url, p.title, o.host, v.visit_date, w.visit_date FROM moz_places AS p JOIN moz_origins AS o ON o.id = p.origin_id LEFT JOIN moz_historyvisits AS v ON v.place_id = p.id LEFT JOIN moz_historyvisits AS w ON w.id = v.from_visit",
              "SELECT b.title, p.url, f.title, n.content, a.name FROM moz_bookmarks AS b LEFT JOIN moz_places AS p ON p.id = b.fk LEFT JOIN moz_bookmarks AS f ON f.id = b.parent LEFT JOIN moz_annos AS n ON n.place_id = p.id LEFT JOIN moz_anno_attributes AS a ON a.id = n.anno_attribute_id"],
             [f"--ref={column}" for column in ("moz_historyvisits.from_visit=moz_historyvisits", "moz_historyvisits.place_id=moz_places", "moz_bookmarks.fk=moz_places", "moz_bookmarks.parent=moz_bookmarks", "moz_annos.place_id=moz_places", "moz_annos.anno_attribute_id=moz_anno_attributes")]),
}


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def load(application, path):
    db = sqlite3.connect(path, isolation_level=None)
    db.executescript((SCHEMAS / f"{application.__name__}.sql").read_text())
    db.close()


def play(application, path, *names):
    for who in names:
        day = Day(path, who)
        application(day)
        day.db.close()


def seen(application, path):
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)] and db.execute("PRAGMA foreign_key_check").fetchall() == []
    found = [sorted(db.execute(sql).fetchall(), key=repr) for sql in APPLICATIONS[application][0]]
    db.close()
    return found


def made(application):
    load(application, "base.db")
    for path in "ours.db", "theirs.db", "both.db":
        shutil.copy("base.db", path)
    play(application, "ours.db", "yva")
    play(application, "theirs.db", "zacharias")
    play(application, "both.db", "yva", "zacharias")


@pytest.mark.parametrize("application", APPLICATIONS, ids=lambda application: application.__name__)
def test_a_day_in_two_copies_is_both_days_in_one(application):
    made(application)
    status, out, error = run("merge", "--json", *APPLICATIONS[application][1], "base.db", "ours.db", "theirs.db")
    assert (status, error) == (0, ""), out
    assert seen(application, "ours.db") == seen(application, "both.db")


@pytest.mark.parametrize("application", APPLICATIONS, ids=lambda application: application.__name__)
def test_references_that_nobody_declared_are_asked_for_where_numbers_moved(application):
    made(application)
    before = open("ours.db", "rb").read()
    words = " ".join(APPLICATIONS[application][1]).replace("--ref=", "--ref ").split()
    references = {word for word in words if "=" in word}
    adds = [word for word in words if word == "--add" or ("." in word and "=" not in word)]
    status, out, error = run("merge", "--json", *adds, "base.db", "ours.db", "theirs.db")
    asked = [line["ask"].split()[1] for line in map(json.loads, out.splitlines()) if "ask" in line]
    if application in (rails, beets, calibre, places):
        assert (status, error) == (2, "") and open("ours.db", "rb").read() == before
        assert {one.split("=")[0] for one in asked} <= {one.split("=")[0] for one in references} and set(asked) & references
    else:  # nothing that is undeclared has moved
        assert (status, error, asked) == (0, "", []) and seen(application, "ours.db") == seen(application, "both.db")
