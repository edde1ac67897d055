"""test_applications.py - whole applications: each of the schemas is adopted, copied into three files, works a few days in each,
and merges in rings. All files have the same rows, counters and digests, those of a model; no number is given out twice; no
foreign key is broken; indexes of FTS5 and totals of triggers are right. In worlds that are not calm, rows that wait are listed."""

import importlib.util
import random
import shutil
import subprocess
import sys

import pytest

from applications import SCHEMAS, Undo, Worker, World, play
from conftest import EXAMPLES, SEED
from files import EXTENSION


class Application:
    counters, left, transactions = [], [], False

    def step(self, file):
        name = file.draw.choice([name for name in dir(self) if name.startswith("do_")])
        getattr(self, name)(file)

    def check(self, world):
        pass


class InSql(Application):
    transactions = True
    deletes = []  # tables from which one statement deletes a row

    def do_delete(self, file):
        """A row of its own; it is refused if others refer to it, unless they go along."""
        table = file.draw.choice(self.deletes)
        key = file.own(table)
        if key:
            file.do(f'DELETE FROM "{table}" WHERE {file.world_table(table).where()}', *key)


class Shop(InSql):
    name = "shop"
    counters, left = ["products.stock", "products.sold", "customer_details.points"], ["price_log"]
    deletes = ["categories", "products", "customers", "orders", "order_items", "employees", "departments", "customer_details"]

    def do_department(self, file):
        """With its head, who works in it: each of the two may come first."""
        with file.atomically():
            name, manager = file.once("Sales", "Service", "Cellar"), file.parent("employees")
            if file.draw.random() < .5:
                department = file.insert("departments", name=name)
                if department is None:
                    raise Undo
                head = file.insert("employees", name=file.world.uid(), manager_id=manager and manager[0], department_id=department,
                                   home=file.world.home["departments", (department,)])
            else:
                head = file.insert("employees", name=file.world.uid(), department_id=-1)
                department = file.insert("departments", name=name, head_id=head, home=file.world.home["employees", (head,)])
                if department is None:
                    raise Undo
                file.do("UPDATE employees SET department_id = ? WHERE id = ?", department, head)
            file.do("UPDATE departments SET head_id = ? WHERE id = ?", head, department)

    def do_employee(self, file):
        department, manager = file.parent("departments"), file.parent("employees")
        if department:
            file.insert("employees", name=file.world.uid(), manager_id=manager and manager[0], department_id=department[0])

    def do_move(self, file):
        """Somebody gets another manager, department or is the head of another one."""
        who, manager, department = file.any("employees"), file.parent("employees"), file.parent("departments")
        if who and manager and department:
            sql, one = file.draw.choice([("UPDATE employees SET manager_id = ? WHERE id = ?", manager),
                                         ("UPDATE employees SET department_id = ? WHERE id = ?", department)])
            file.do(sql, one[0], who[0])
            file.do("UPDATE departments SET head_id = ? WHERE id = ?", manager[0], file.any("departments")[0])

    def do_leave(self, file):
        who = file.own("employees")
        if who:
            with file.atomically():
                file.do("UPDATE departments SET head_id = NULL WHERE head_id = ?", who[0])
                file.do("DELETE FROM employees WHERE id = ?", who[0])

    def do_category(self, file):
        parent = file.parent("categories")
        file.insert("categories", parent=file.draw.choice([None, parent and parent[0]]), name=file.world.uid())

    def do_move_category(self, file):
        one, parent = file.any("categories"), file.parent("categories")
        if one and parent:
            file.do("UPDATE categories SET parent = ?, position = position + 1 WHERE id = ?", parent[0], one[0])

    def do_product(self, file):
        category = file.parent("categories")
        verb = "INSERT" if file.world.is_calm else file.draw.choice(["INSERT", "INSERT OR REPLACE", "INSERT OR IGNORE"])
        file.insert("products", verb=verb, sku=file.once("tea-1", "tea-3", "jam-3"), name=file.world.uid(),
                    category_id=category and category[0], price=file.draw.randrange(100) / 4, stock=file.draw.randrange(50))

    def do_replace_product(self, file):
        """Another row of the same SKU, or the same row anew."""
        key = file.own("products")
        if key:
            row = file.shown["products"][key]
            more = {"id": key[0]} if file.draw.random() < .5 else {}
            if file.insert("products", verb="REPLACE", **more, sku=row["sku"], name=file.world.uid(), price=1, stock=row["stock"] + 1) and more:
                file.mean("products", key, "stock", 1)
                file.mean("products", key, "sold", -row["sold"])

    def do_price(self, file):
        key = file.any("products")
        if key:
            file.do("UPDATE products SET price = ?, version = version + 1 WHERE id = ?", file.draw.randrange(-10, 100), key[0])

    def do_products(self, file):
        file.do("UPDATE products SET is_hidden = 1 - is_hidden, price = price + 1 WHERE price < ?", file.draw.randrange(20))

    def do_sku(self, file):
        """One gets a new SKU, and another product takes over the former one."""
        key = file.own("products")
        if key:
            with file.atomically():
                former = file.shown["products"][key]["sku"]
                file.do("UPDATE products SET sku = ? WHERE id = ?", file.once("tea-2", "book"), key[0])
                file.insert("products", sku=former, name=file.world.uid(), price=2, home=file.number)

    def do_restock(self, file):
        key = file.any("products")
        if key:
            file.count("products", key, "stock", file.draw.randrange(-5, 20))

    def do_upsert(self, file):
        """The products that come in are those which are there, or new ones."""
        key, n = file.any("products"), file.draw.randrange(9)
        if key:
            sku = file.draw.choice([file.shown["products"][key]["sku"], file.world.uid()])
            was = dict(file.shown["products"])
            file.do("INSERT INTO products(sku, name, price, stock) VALUES (?, ?, 1, ?) ON CONFLICT(sku) DO UPDATE SET stock = stock + excluded.stock",
                    sku, file.world.uid(), n)
            if was.keys() == file.shown["products"].keys():
                file.mean("products", key, "stock", n)

    def do_customer(self, file):
        with file.atomically():
            key = file.insert("customers", email=file.once(None, "Ann@example.org", "ann@example.org"), name=file.world.uid())
            if key is None:
                raise Undo
            if file.draw.random() < .7:
                file.insert("customer_details", customer_id=key, address="x", points=5, home=file.home("customers", (key,)))

    def do_details(self, file):
        customer = file.parent("customers")
        if customer:
            is_there = customer in file.shown["customer_details"]
            file.do("INSERT INTO customer_details VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET points = points + 1, address = excluded.address",
                    customer[0], file.world.uid(), home=file.home("customers", customer))
            if is_there:
                file.mean("customer_details", customer, "points", 1)

    def do_points(self, file):
        key = file.any("customer_details")
        if key:
            file.count("customer_details", key, "points", file.draw.randrange(1, 9))

    def do_order(self, file):
        customer = file.parent("customers")
        if customer:
            with file.atomically():
                order = file.insert("orders", customer_id=customer[0], placed_at=file.world.uid())
                for _ in range(file.draw.randint(1, 3)):
                    self.add_item(file, (order,))
                if file.draw.random() < .1:
                    file.do("INSERT INTO order_items VALUES (?, -1, 1)", order)

    def do_item(self, file):
        order = file.parent("orders")
        if order:
            self.add_item(file, order)

    def add_item(self, file, order):
        product, n = file.parent("products"), file.draw.randint(1, 5)
        if product and file.do("INSERT INTO order_items VALUES (?, ?, ?)", *order, *product, n) is not None:
            file.mean("products", product, "stock", -n)
            file.mean("products", product, "sold", n)

    def do_quantity(self, file):
        key = file.any("order_items")
        if key:
            file.do("UPDATE order_items SET quantity = ? WHERE order_id = ? AND product_id = ?", file.draw.randrange(9), *key)

    def do_status(self, file):
        key = file.any("orders")
        if key:
            file.do("UPDATE orders SET status = ? WHERE id = ?", file.draw.randrange(4), key[0])

    def do_fail(self, file):
        file.do(*file.draw.choice([("INSERT INTO products(sku, name, price) VALUES (?, 'x', 1), ('y', 'y', -1)", file.world.uid()),
                                   ("INSERT INTO orders(customer_id) VALUES (-1)",),
                                   ("UPDATE products SET stock = stock + 1, sku = 'one'",)]))


class Notes(InSql):
    name, counters = "notes", ["notes.views"]
    deletes = ["notes", "notes", "note_tags", "note_tags", "attachments", "tags", "notebooks"]
    WORDS = ["tea", "jam", "oat", "rye", "fig"]

    def text(self, file):
        return " ".join(file.draw.choices(self.WORDS, k=file.draw.randint(0, 4)))

    def do_notebook(self, file):
        file.do("INSERT INTO notebooks VALUES (?, ?, ?)", file.world.uid(), self.text(file), file.draw.randrange(9))

    def do_position(self, file):
        file.do("UPDATE notebooks SET position = position + 1 WHERE position >= ?", file.draw.randrange(9))

    def do_note(self, file):
        book = file.parent("notebooks")
        if book:
            file.insert("notes", notebook_id=book[0], title=file.world.uid(), body=self.text(file), home=file.home("notebooks", book))

    do_another = do_one_more = do_note

    def do_edit(self, file):
        key = file.any("notes")
        if key:
            file.do("UPDATE notes SET body = ? WHERE id = ?", self.text(file), key[0])

    do_edit_more = do_edit

    def do_view(self, file):
        key = file.any("notes")
        if key:
            file.count("notes", key, "views", 1)

    def do_move(self, file):
        """Into a notebook that is never deleted, or from one of its own into another."""
        key = file.any("notes")
        book = file.parent("notebooks", file.world.home.get(("notes", key)))
        if book:
            file.do("UPDATE notes SET notebook_id = ? WHERE id = ?", book[0], key[0])

    def do_tag(self, file):
        """A tag that is there or not: the same one in several files is one row."""
        note, tag = file.parent("notes"), file.draw.choice(["todo", "Later", "LATER", "idea"])
        if note:
            file.do("INSERT OR IGNORE INTO tags VALUES (?, ?)", tag, file.draw.choice(["red", "blue"]), home=None)
            file.do("INSERT OR IGNORE INTO note_tags VALUES (?, ?)", note[0], tag)

    def do_own_tag(self, file):
        note, tag = file.parent("notes"), file.world.uid()
        if note:
            file.do("INSERT INTO tags VALUES (?, NULL)", tag, home=file.number)
            file.do("INSERT INTO note_tags VALUES (?, ?)", note[0], tag)

    def do_rename_tag(self, file):
        tag = file.own("tags")
        if tag:
            file.do("UPDATE tags SET name = ? WHERE name = ?", file.world.uid(), tag[0], home=file.number)

    def do_colour(self, file):
        tag = file.any("tags")
        file.do("INSERT INTO tags VALUES (?, ?) ON CONFLICT DO UPDATE SET colour = excluded.colour", tag[0], file.world.uid())

    def do_attach(self, file):
        note, name = file.parent("notes"), file.draw.choice(["a.jpg", "b.jpg"])
        if note:
            file.do(file.draw.choice(["REPLACE INTO attachments VALUES (?, ?, ?)",
                                      "INSERT INTO attachments VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET bytes = excluded.bytes"]),
                    note[0], name, file.draw.randbytes(3))

    def do_search(self, file):
        word = file.draw.choice(self.WORDS)
        found = file.db.execute("SELECT rowid FROM notes_fts WHERE notes_fts MATCH ?", [word]).fetchall()
        assert sorted(found) == sorted(key for key, row in file.shown["notes"].items() if word in row["body"].split())

    def do_fail(self, file):
        file.do(*file.draw.choice([("INSERT INTO notes(notebook_id, title) VALUES ('5f0e', ?), ('none', 'x')", file.world.uid()),
                                   ("INSERT INTO tags VALUES ('TODO', 'x')",),
                                   ("UPDATE notes SET body = 'lost', notebook_id = 'none'",)]))

    def check(self, world):
        for file in world.files:
            file.db.execute("INSERT INTO notes_fts(notes_fts, rank) VALUES ('integrity-check', 1)")
            for _ in range(5):
                self.do_search(file)


class Music(InSql):
    name, counters = "music", ["Track.PlayCount"]
    deletes = ["Artist", "Album", "Employee", "Customer", "Genre", "Track", "Invoice", "InvoiceLine", "Playlist", "PlaylistTrack", "PlaylistTrack"]

    def link(self, file, table):
        key = file.parent(table)
        return file.draw.choice([None, key and key[0]])

    def do_album(self, file):
        with file.atomically():
            artist = file.insert("Artist", Name=file.world.uid())
            home = file.world.home["Artist", (artist,)]
            album = file.insert("Album", Title=file.world.uid(), ArtistId=artist, home=home)
            for _ in range(file.draw.randint(1, 4)):
                file.insert("Track", Name=file.world.uid(), AlbumId=album, MediaTypeId=1, GenreId=self.link(file, "Genre"),
                            Milliseconds=file.draw.randrange(9999), UnitPrice=.99, home=home)
            if file.draw.random() < .2:
                raise Undo

    def do_track(self, file):
        file.insert("Track", Name=file.world.uid(), AlbumId=self.link(file, "Album"), MediaTypeId=1, Milliseconds=1, UnitPrice=1.29)

    def do_play(self, file):
        key = file.any("Track")
        if key:
            file.count("Track", key, "PlayCount", 1)

    do_play_more = do_play

    def do_move(self, file):
        table, column, parent = file.draw.choice([("Album", "ArtistId", "Artist"), ("Track", "AlbumId", "Album"), ("Track", "GenreId", "Genre"),
                                                  ("Employee", "ReportsTo", "Employee"), ("Customer", "SupportRepId", "Employee")])
        one, to = file.any(table), file.parent(parent)
        if one and to:
            file.do(f"UPDATE {table} SET {column} = ? WHERE {file.world_table(table).key[0]} = ?", to[0], one[0])

    def do_names(self, file):
        file.insert(file.draw.choice(["Genre", "Artist", "Playlist"]), Name=file.world.uid())

    def do_rename(self, file):
        table = file.draw.choice(["Genre", "Artist", "Playlist", "Track"])
        key = file.any(table)
        if key:
            file.do(f"UPDATE {table} SET Name = ? WHERE {file.world_table(table).key[0]} = ?", file.world.uid(), key[0])

    def do_person(self, file):
        file.insert("Employee", LastName=file.world.uid(), FirstName="x", ReportsTo=self.link(file, "Employee"))
        file.insert("Customer", LastName=file.world.uid(), FirstName="x", Email="x", SupportRepId=self.link(file, "Employee"))

    def do_invoice(self, file):
        customer = file.parent("Customer")
        if customer:
            with file.atomically():
                key = file.insert("Invoice", CustomerId=customer[0], InvoiceDate=file.world.uid(), Total=0)
                for _ in range(file.draw.randint(1, 4)):
                    track = file.parent("Track")
                    if track:
                        file.insert("InvoiceLine", InvoiceId=key, TrackId=track[0], UnitPrice=.99, Quantity=1)
                file.do("UPDATE Invoice SET Total = (SELECT sum(UnitPrice * Quantity) FROM InvoiceLine AS l WHERE l.InvoiceId = Invoice.InvoiceId)"
                        " WHERE InvoiceId = ? AND EXISTS (SELECT 1 FROM InvoiceLine AS l WHERE l.InvoiceId = Invoice.InvoiceId)", key)

    def do_list(self, file):
        playlist, track = file.parent("Playlist"), file.parent("Track")
        if playlist and track:
            file.do("INSERT OR IGNORE INTO PlaylistTrack VALUES (?, ?)", *playlist, *track)

    do_list_more = do_list

    def do_unlist(self, file):
        key = file.any("Playlist")
        if key:
            file.do("DELETE FROM PlaylistTrack WHERE PlaylistId = ? AND TrackId % 2", *key)

    def do_fail(self, file):
        file.do("INSERT INTO Album(Title, ArtistId) VALUES (?, 1), ('x', -1)", file.world.uid())


class Rails(InSql):
    name, counters = "rails", ["posts.comments_count", "users.sign_in_count"]
    deletes = ["users", "posts", "comments", "tags", "posts_tags", "memberships", "groups", "pictures"]
    NOW = {"created_at": "2024-05-01 00:00:00"}
    TIMES = {**NOW, "updated_at": "2024-05-01 00:00:00"}

    def do_user(self, file):
        file.insert("users", email=file.once("Carl", "carl", "dora"), name=file.world.uid(), **self.TIMES)

    def do_sign_in(self, file):
        key = file.any("users")
        if key:
            file.count("users", key, "sign_in_count", 1)

    def do_email(self, file):
        key = file.any("users")
        if key:
            file.do("UPDATE users SET email = ? WHERE id = ?", file.once("carl", "dora", "emil"), *key)

    def do_post(self, file):
        user = file.parent("users")
        if user:
            with file.atomically():
                post = file.insert("posts", user_id=user[0], title=file.world.uid(), body="x", **self.TIMES)
                for _ in range(file.draw.randrange(3)):
                    self.add_tag(file, (post,))

    def do_edit(self, file):
        key = file.any("posts")
        if key:
            file.do("UPDATE posts SET body = ?, published = 1, lock_version = lock_version + 1 WHERE id = ?", file.world.uid(), *key)

    def do_comment(self, file):
        post = file.parent("posts")
        if post:
            with file.atomically():
                above = file.parent("comments")
                home = file.home("comments", above) if above else "new"
                file.insert("comments", post_id=post[0], user_id=1, parent_id=above and above[0], body=file.world.uid(), home=home, **self.NOW)
                file.count("posts", post, "comments_count", 1)

    do_another_comment = do_comment

    def do_move_comment(self, file):
        key = file.any("comments")
        above = file.parent("comments", file.world.home.get(("comments", key))) if key else None
        if above:
            file.do("UPDATE comments SET parent_id = ? WHERE id = ?", *above, *key)

    def do_delete_comment(self, file):
        key = file.own("comments")
        if key:
            with file.atomically():
                file.count("posts", (file.shown["comments"][key]["post_id"],), "comments_count", -1)
                file.do("DELETE FROM comments WHERE id = ?", *key)

    def do_tag(self, file):
        post = file.parent("posts")
        if post:
            self.add_tag(file, post)

    def add_tag(self, file, post):
        """find_or_create_by: the index is not UNIQUE, so that two files may make one each."""
        name = file.draw.choice(["ruby", "Ruby", "news", "SQLite", "tips"])
        found = file.db.execute("SELECT id FROM tags WHERE name = ? ORDER BY id", [name]).fetchone()
        key = found[0] if found and file.is_open("tags", found) else file.insert("tags", name=name)
        file.do("INSERT OR IGNORE INTO posts_tags VALUES (?, ?)", *post, key)

    def do_set_tags(self, file):
        """post.tags = [...]: those that are no more among them are deleted, others inserted."""
        post = file.parent("posts")
        if post:
            with file.atomically():
                file.do("DELETE FROM posts_tags WHERE post_id = ?", *post)
                self.add_tag(file, post)

    def do_group(self, file):
        group = file.insert("groups", name=file.world.uid())
        user = file.parent("users")
        if user:
            file.do("INSERT INTO memberships VALUES (?, ?, 'owner')", group, *user)

    def do_member(self, file):
        group, user = file.parent("groups"), file.parent("users")
        if group and user:
            file.do("INSERT INTO memberships VALUES (?, ?, ?) ON CONFLICT(group_id, user_id) DO UPDATE SET role = excluded.role",
                    *group, *user, file.world.uid())

    def do_picture(self, file):
        post = file.parent("posts")
        file.do("INSERT INTO pictures VALUES (?, 'Post', ?, 1)", file.world.uid(), post and post[0])

    def do_fail(self, file):
        file.do("INSERT INTO comments(post_id, body, created_at) VALUES (1, ?, 'x'), (-1, 'x', 'x')", file.world.uid())
        file.do("UPDATE users SET sign_in_count = sign_in_count + 1, email = 'one'")


# ---- by an ORM -----------------------------------------------------------------------------------

class ByProgram(Application):
    """Each call is a transaction of the program."""

    def __init__(self, worker):
        self.worker = worker

    def key(self, row):
        return row and row[0]


class Django(ByProgram):
    name, counters = "django", ["library_item.stock", "library_profile.loans"]
    ROWS = {"Item": "library_item", "Loan": "library_loan", "Author": "library_author", "User": "auth_user", "Contribution": "library_contribution"}

    def do_user(self, file):
        file.ask("user", file.once("carl", "dora"))

    def do_book(self, file):
        author = file.parent("library_author")
        if author:
            home = file.home("library_author", author)
            file.ask("book", file.world.uid(), file.once("978-1", "978-2"), *author, home=home)

    def do_items(self, file):
        keys = file.ask("items", [file.world.uid() for _ in range(3)])
        assert all((key,) in file.shown["library_item"] for key in keys)

    def do_author(self, file):
        mentor, user = file.parent("library_author"), file.parent("auth_user")
        has_one = user and file.refers("library_author", "user_id", user[0])
        file.ask("author", file.world.uid(), self.key(mentor), user[0] if user and not has_one and file.is_mine(user) else None)

    def do_mentor(self, file):
        author, mentor = file.any("library_author"), file.parent("library_author")
        if author and mentor:
            file.ask("mentor", *author, *mentor)

    def do_title(self, file):
        item = file.any("library_item")
        if item:
            file.ask("title", *item, file.world.uid())

    def do_lend(self, file):
        item, user = file.parent("library_item"), file.parent("auth_user")
        if item and user and file.ask("lend", *item, *user):
            file.mean("library_item", item, "stock", -1)
            file.mean("library_profile", user, "loans", 1)

    do_lend_more = do_lend

    def do_give_back(self, file):
        loan = file.any("library_loan")
        if loan:
            item = file.shown["library_loan"][loan]["item_id"]
            file.ask("give_back", *loan)
            file.mean("library_item", (item,), "stock", 1)

    def do_tag(self, file):
        item, slug = file.parent("library_item"), file.draw.choice(["math", "fiction", "new", "old"])
        if item and file.is_mine(item, slug):
            file.ask("tag", *item, slug, home=None)

    do_tag_more = do_tag

    def do_untag(self, file):
        item = file.any("library_item")
        if item:
            file.ask("untag", *item, "math")

    def do_set_tags(self, file):
        item = file.parent("library_item")
        if item:
            file.ask("set_tags", *item, [slug for slug in ["math", "fiction", "new", "old"] if file.is_mine(item, slug)])

    def do_profile(self, file):
        user = file.parent("auth_user")
        if user:
            file.ask("profile", *user, file.world.uid(), home=file.home("auth_user", user))

    def do_group(self, file):
        user = file.parent("auth_user")
        if user:
            file.ask("group", file.once("staff", "press", "guests"), *user)

    def do_delete(self, file):
        """What Django takes along has the same home, or goes by SET NULL."""
        model = file.draw.choice(list(self.ROWS))
        key = file.own(self.ROWS[model])
        if key:
            file.ask("delete", model, *key)

    def do_undone(self, file):
        item, before = file.any("library_item"), file.shown
        file.ask("undone", [file.world.uid()], self.key(item))
        assert file.shown == before

    def do_half_undone(self, file):
        item = file.any("library_item")
        if item:
            key = file.ask("half_undone", file.world.uid(), file.world.uid(), *item)
            assert (key,) in file.shown["library_item"]
            file.mean("library_item", item, "stock", 1)


class ActiveRecord(ByProgram):
    name, counters = "rails", Rails.counters

    def do_user(self, file):
        file.ask("user", file.once("carl", "dora"), file.world.uid())

    def do_sign_in(self, file):
        user = file.any("users")
        if user and file.ask("sign_in", *user):
            file.mean("users", user, "sign_in_count", 1)

    def do_email(self, file):
        user = file.any("users")
        if user:
            file.ask("email", *user, file.once("carl", "dora", "emil"))

    def do_post(self, file):
        user = file.parent("users")
        if user:
            key = file.ask("post", *user, file.world.uid(), file.draw.choices(["ruby", "news", "tips"], k=2))
            assert (key,) in file.shown["posts"]

    def do_edit(self, file):
        post = file.any("posts")
        if post:
            file.ask("edit", *post, file.world.uid())

    def do_comment(self, file):
        post, above = file.parent("posts"), file.parent("comments")
        if post and file.ask("comment", *post, self.key(above), file.world.uid(), home=file.home("comments", above) if above else "new"):
            file.mean("posts", post, "comments_count", 1)

    do_comment_more = do_comment

    def do_delete_comment(self, file):
        comment = file.own("comments")
        if comment:
            post = file.shown["comments"][comment]["post_id"]
            file.ask("delete_comment", *comment)
            if comment not in file.shown["comments"]:
                file.mean("posts", (post,), "comments_count", -1)

    def do_delete_post(self, file):
        post = file.own("posts")
        if post:
            file.ask("delete_post", *post)

    def do_tag(self, file):
        post = file.any("posts")
        if post:
            file.ask("tag", *post, file.draw.choice(["ruby", "news", "tips", "Ruby"]))

    def do_untag(self, file):
        post = file.any("posts")
        if post:
            file.ask(*file.draw.choice([("untag", *post), ("set_tags", *post, ["ruby", "tips"])]))

    def do_group(self, file):
        user = file.parent("users")
        if user:
            file.ask("group", file.world.uid(), *user)

    def do_member(self, file):
        group, user = file.any("groups"), file.parent("users")
        if group and user:
            file.ask("member", *group, *user, file.world.uid())

    def do_picture(self, file):
        post = file.any("posts")
        if post:
            file.ask("picture", *post, file.world.uid())

    def do_undone(self, file):
        user, before = file.any("users"), file.shown
        if user:
            file.ask("undone", *user, file.world.uid())
            assert file.shown == before

    def do_half_undone(self, file):
        user = file.any("users")
        if user:
            key = file.ask("half_undone", *user, file.world.uid())
            assert (key,) in file.shown["users"]


@pytest.fixture(scope="module")
def django():
    if not importlib.util.find_spec("django"):
        pytest.skip("needs python3-django")
    worker = Worker([sys.executable, "-m", "library", EXTENSION], PYTHONPATH=str(SCHEMAS), PYTHONDONTWRITEBYTECODE="1")
    yield Django(worker)
    worker.close()


@pytest.fixture(scope="module")
def activerecord():
    if not shutil.which("ruby") or subprocess.run(["ruby", "-e", "require 'active_record'; require 'sqlite3'"], capture_output=True).returncode:
        pytest.skip("needs ruby-activerecord and ruby-sqlite3")
    worker = Worker(["ruby", SCHEMAS / "blog.rb", EXTENSION])
    yield ActiveRecord(worker)
    worker.close()


# ---- worlds --------------------------------------------------------------------------------------

def world_of(application, folder, number, is_calm):
    world = World(random.Random(f"{SEED} {application.name} {number} {is_calm}"), application, folder, is_calm)
    try:
        play(world)
    finally:
        world.close()


@pytest.mark.parametrize("is_calm", [True, False], ids=["calm", "meeting"])
@pytest.mark.parametrize("number", range(max(1, EXAMPLES // 20)))
@pytest.mark.parametrize("application", [Shop, Notes, Music, Rails])
def test_three_files_of_an_application_agree(tmp_path, application, number, is_calm):
    world_of(application(), tmp_path, number, is_calm)


@pytest.mark.parametrize("number", range(max(1, EXAMPLES // 20)))
@pytest.mark.parametrize("orm", ["django", "activerecord"])
def test_three_files_of_an_orm_agree(tmp_path, request, orm, number):
    """One world in three is not calm."""
    world_of(request.getfixturevalue(orm), tmp_path, number, random.Random(f"{SEED} {orm} {number}").random() < .67)
