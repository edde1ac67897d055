"""test_tpcc.py - TPC-C's consistency conditions over warehouses whose terminals sell offline, in files that merge.

They follow the TPC Benchmark C, revision 5.11, clauses 2.4, 2.5 and 2.7 (New-Order, Payment and Delivery, at small scale,
amounts in cents) and 3.3.2 (the conditions). Each terminal is a file. What is added up is a counter (D_YTD, C_BALANCE, S_YTD,
...); all other columns keep the last write.

Two worlds: in the first each district has a terminal of its own, and orders have the numbers of the benchmark. In the second
every terminal sells in every district: D_NEXT_O_ID counts the orders, SQLite gives out their numbers ('keys=spread'), and each
terminal delivers the orders that it took. The conditions are looked at after every merge, in the file that has merged, for
a merge brings whole transactions.
"""

import random

import pytest

from peers import SEED, Peer, differs, later, meet

COMMON = ["CREATE TABLE warehouse(w_id INTEGER NOT NULL PRIMARY KEY, w_ytd INTEGER NOT NULL DEFAULT 0)",
        "CREATE TABLE district(d_w_id, d_id, d_ytd INTEGER NOT NULL DEFAULT 0, d_next_o_id INTEGER NOT NULL DEFAULT 1,"
        " PRIMARY KEY (d_w_id, d_id))",
        "CREATE TABLE customer(c_w_id, c_d_id, c_id, c_balance INTEGER NOT NULL DEFAULT 0, c_ytd_payment INTEGER NOT NULL DEFAULT 0,"
        " c_payment_cnt INTEGER NOT NULL DEFAULT 0, c_delivery_cnt INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (c_w_id, c_d_id, c_id))",
        "CREATE TABLE history(h_id TEXT PRIMARY KEY DEFAULT (lower(hex(randomblob(16)))), h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id,"
        " h_amount INTEGER)",
        "CREATE TABLE stock(s_w_id, s_i_id, s_quantity INTEGER NOT NULL DEFAULT 50, s_ytd INTEGER NOT NULL DEFAULT 0,"
        " s_order_cnt INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (s_w_id, s_i_id))",
        "SELECT counter_replicate('warehouse', 'w_ytd', 'keys=assigned')",
        "SELECT counter_replicate('district', 'd_ytd', 'd_next_o_id')",
        "SELECT counter_replicate('customer', 'c_balance', 'c_ytd_payment', 'c_payment_cnt', 'c_delivery_cnt')",
        "SELECT counter_replicate('history')",
        "SELECT counter_replicate('stock', 's_quantity', 's_ytd', 's_order_cnt')"]
ORDER = "o_w_id, o_d_id, o_c_id, o_carrier_id, o_ol_cnt INTEGER, o_terminal"
LINE = "ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity INTEGER, ol_amount INTEGER"
NUMBERED = [*COMMON,
            f"CREATE TABLE orders(o_id INTEGER, {ORDER}, PRIMARY KEY (o_w_id, o_d_id, o_id))",
            "CREATE TABLE new_order(no_w_id, no_d_id, no_o_id, PRIMARY KEY (no_w_id, no_d_id, no_o_id))",
            f"CREATE TABLE order_line({LINE}, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))",
            "SELECT counter_replicate('orders')", "SELECT counter_replicate('new_order')", "SELECT counter_replicate('order_line')"]
SPREAD = [*COMMON,
          f"CREATE TABLE orders(o_id INTEGER PRIMARY KEY AUTOINCREMENT, {ORDER})",
          "CREATE TABLE new_order(no_w_id, no_d_id, no_o_id REFERENCES orders(o_id), PRIMARY KEY (no_w_id, no_d_id, no_o_id))",
          f"CREATE TABLE order_line({LINE}, PRIMARY KEY (ol_o_id, ol_number))",
          "SELECT counter_replicate('orders', 'keys=spread')", "SELECT counter_replicate('new_order')",
          "SELECT counter_replicate('order_line')"]

OF_DISTRICT = "{0}_w_id = d_w_id AND {0}_d_id = d_id"
ORDERS, NEW, LINES = ("FROM orders WHERE " + OF_DISTRICT.format("o"), "FROM new_order WHERE " + OF_DISTRICT.format("no"),
                      "FROM order_line WHERE " + OF_DISTRICT.format("ol"))
OF_CUSTOMER = "c_w_id = {0}_w_id AND c_d_id = {0}_d_id AND c_id = {0}_c_id"
DELIVERED = (f"(SELECT coalesce(sum(ol_amount), 0) FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id"
             f" WHERE {OF_CUSTOMER.format('o')} AND ol_delivery_d IS NOT NULL)")
PAID = f"(SELECT coalesce(sum(h_amount), 0) FROM history WHERE {OF_CUSTOMER.format('h_c').replace('h_c_c_id', 'h_c_id')})"
OF_ORDER = "{0}_w_id = o_w_id AND {0}_d_id = o_d_id AND {0}_o_id = o_id"

# Clause 3.3.2: the rows that break each condition. 2 and 3 say nothing of a district without new orders.
CONDITIONS = {
    1: "SELECT * FROM warehouse WHERE w_ytd <> (SELECT sum(d_ytd) FROM district WHERE d_w_id = w_id)",
    2: f"SELECT * FROM district WHERE d_next_o_id - 1 <> (SELECT max(o_id) {ORDERS}) OR d_next_o_id - 1 <> (SELECT max(no_o_id) {NEW})",
    3: f"SELECT * FROM district WHERE (SELECT max(no_o_id) - min(no_o_id) + 1 <> count(*) {NEW})",
    4: f"SELECT * FROM district WHERE (SELECT sum(o_ol_cnt) {ORDERS}) <> (SELECT count(*) {LINES})",
    5: f"SELECT * FROM orders WHERE (o_carrier_id IS NULL) <> EXISTS (SELECT * FROM new_order WHERE {OF_ORDER.format('no')})",
    6: f"SELECT * FROM orders WHERE o_ol_cnt <> (SELECT count(*) FROM order_line WHERE {OF_ORDER.format('ol')})",
    7: f"SELECT * FROM order_line WHERE (ol_delivery_d IS NULL) <> (SELECT o_carrier_id IS NULL FROM orders WHERE {OF_ORDER.format('ol')})",
    8: "SELECT * FROM warehouse WHERE w_ytd <> (SELECT sum(h_amount) FROM history WHERE h_w_id = w_id)",
    9: f"SELECT * FROM district WHERE d_ytd <> (SELECT sum(h_amount) FROM history WHERE {OF_DISTRICT.format('h')})",
    10: f"SELECT * FROM customer WHERE c_balance <> {DELIVERED} - {PAID}",
    11: f"SELECT * FROM district WHERE (SELECT count(*) {ORDERS}) - (SELECT count(*) {NEW}) <> "
        f"(SELECT count(*) {ORDERS} AND o_carrier_id IS NOT NULL)",
    12: f"SELECT * FROM customer WHERE c_balance + c_ytd_payment <> {DELIVERED}",
}
WAREHOUSES, DISTRICTS, CUSTOMERS, ITEMS = 2, 3, 4, 10


def broken(peer):
    return {number for number, sql in CONDITIONS.items() if peer.run(sql)}


class Terminal(Peer):
    """A file that sells, is paid and delivers. Numbers: what an order of its district gets is D_NEXT_O_ID, else SQLite's."""

    def __init__(self, path, chance, numbers, name):
        super().__init__(path)
        self.chance, self.numbers, self.name = chance, numbers, name

    def place(self):
        """One of its districts, if they have terminals of their own, else any."""
        own = range(self.name, DISTRICTS + 1, DISTRICTS) if self.numbers else range(1, DISTRICTS + 1)
        return self.chance.randint(1, WAREHOUSES), self.chance.choice(own)

    def customer(self, w, d):
        return w, d, self.chance.randint(1, CUSTOMERS)

    def new_order(self):
        chance, (w, d) = self.chance, self.place()
        self.run("BEGIN IMMEDIATE")
        number = self.one("SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?", w, d) if self.numbers else None
        self.run("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?", w, d)
        items = [(chance.randint(1, ITEMS), chance.choice([w, w, w, chance.randint(1, WAREHOUSES)]), chance.randint(1, 10))
                 for _ in range(chance.randint(1, 5))]
        order = self.db.execute("INSERT INTO orders(o_id, o_w_id, o_d_id, o_c_id, o_ol_cnt, o_terminal) VALUES (?, ?, ?, ?, ?, ?)",
                                [number, w, d, chance.randint(1, CUSTOMERS), len(items), self.name]).lastrowid
        number = number or order
        self.run("INSERT INTO new_order VALUES (?, ?, ?)", w, d, number)
        for line, (item, supplier, quantity) in enumerate(items, 1):
            self.run("UPDATE stock SET s_quantity = s_quantity - ? + CASE WHEN s_quantity < ? + 10 THEN 91 ELSE 0 END, s_ytd = s_ytd + ?,"
                     " s_order_cnt = s_order_cnt + 1 WHERE s_w_id = ? AND s_i_id = ?", quantity, quantity, quantity, supplier, item)
            self.run("INSERT INTO order_line VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?)", w, d, number, line, item, supplier, quantity,
                     quantity * (100 + item))
        self.run("ROLLBACK" if chance.random() < 0.05 else "COMMIT")  # 2.4.1.4: one in a hundred names an unused item

    def payment(self):
        w, d = self.place()
        customer = self.customer(*(w, d) if self.chance.random() < 0.85 else (3 - w, self.chance.randint(1, DISTRICTS)))
        amount = self.chance.randint(100, 500000)
        self.run("BEGIN IMMEDIATE")
        self.run("UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?", amount, w)
        self.run("UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?", amount, w, d)
        self.run("UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1"
                 " WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", amount, amount, *customer)
        self.run("INSERT INTO history(h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_amount) VALUES (?, ?, ?, ?, ?, ?)", *customer, w, d, amount)
        self.run("COMMIT")

    def delivery(self, of_all=False):
        """The oldest new order of a district; of those that this terminal took, if others take orders there, too."""
        w, d = self.place()
        own = "" if self.numbers or of_all else f" AND o_terminal = {self.name}"
        found = self.run("SELECT o_id, o_c_id FROM new_order JOIN orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id"
                         f" WHERE no_w_id = ? AND no_d_id = ?{own} ORDER BY o_id LIMIT 1", w, d)
        left = self.one("SELECT count(*) FROM new_order WHERE no_w_id = ? AND no_d_id = ?", w, d)
        if found and left > 1: self.deliver(w, d, *found[0])  # the benchmark has 900 at least, and 2 needs one

    def deliver(self, w, d, order, customer):
        amount = self.one("SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?", w, d, order)
        self.run("BEGIN IMMEDIATE")
        self.run("DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?", w, d, order)
        self.run("UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?", self.name, w, d, order)
        self.run("UPDATE order_line SET ol_delivery_d = 'today' WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?", w, d, order)
        self.run("UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1"
                 " WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", amount, w, d, customer)
        self.run("COMMIT")

    def work(self):
        self.chance.choice([self.new_order] * 10 + [self.payment] * 10 + [self.delivery] * 3)()


def open_terminals(folder, chance, schema):
    """The first one has the rows that all begin with; the others are copies."""
    first = Terminal(folder / "terminal1.db", chance, schema is NUMBERED, 1)
    for sql in schema: first.run(sql)
    first.run("BEGIN")
    for w in range(1, WAREHOUSES + 1):
        first.run("INSERT INTO warehouse VALUES (?, ?)", w, DISTRICTS * CUSTOMERS * 1000)
        for item in range(1, ITEMS + 1): first.run("INSERT INTO stock(s_w_id, s_i_id) VALUES (?, ?)", w, item)
        for d in range(1, DISTRICTS + 1):
            first.run("INSERT INTO district(d_w_id, d_id, d_ytd) VALUES (?, ?, ?)", w, d, CUSTOMERS * 1000)
            for c in range(1, CUSTOMERS + 1):
                first.run("INSERT INTO customer VALUES (?, ?, ?, -1000, 1000, 1, 0)", w, d, c)
                first.run("INSERT INTO history(h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_amount) VALUES (?, ?, ?, ?, ?, 1000)", w, d, c, w, d)
    first.run("COMMIT")
    others = [folder / f"terminal{n}.db" for n in (2, 3)]
    for path in others: first.run("VACUUM INTO ?", str(path))
    return [first, *(Terminal(path, chance, first.numbers, n) for n, path in enumerate(others, 2))]


class Day:
    """What was broken in a file after any merge, and in the end; who was there."""

    def __init__(self, folder, schema, steps=150):
        chance = random.Random(f"{SEED} {schema is NUMBERED}")
        self.terminals = open_terminals(folder, chance, schema)
        self.ever = set()
        for _ in range(steps):
            chance.choice(self.terminals).work()
            if chance.random() < 0.2:
                to, of = chance.sample(self.terminals, 2)
                to.pull(of) if chance.random() < 0.5 else to.take_new(of)
                self.ever |= broken(to)
        meet(*self.terminals)
        self.end = [broken(terminal) for terminal in self.terminals]

    def holds(self, number):
        return number not in self.ever and all(number not in end for end in self.end)

    def one(self, sql):
        answers = {terminal.one(sql) for terminal in self.terminals}
        assert len(answers) == 1
        return answers.pop()


@pytest.fixture(scope="module")
def own_districts(tmp_path_factory):
    return Day(tmp_path_factory.mktemp("own"), NUMBERED)


@pytest.fixture(scope="module")
def any_district(tmp_path_factory):
    return Day(tmp_path_factory.mktemp("any"), SPREAD)


def test_condition_1_the_year_to_date_of_a_warehouse_is_that_of_its_districts(own_districts, any_district):
    assert own_districts.holds(1) and any_district.holds(1)


def test_condition_2_the_next_order_follows_the_last_one_where_a_district_has_a_terminal_of_its_own(own_districts):
    assert own_districts.holds(2)


@differs
def test_condition_2_the_next_order_counts_the_orders_where_several_terminals_sell_in_a_district(any_district):
    """Terminals that are apart cannot give out numbers without gaps."""
    assert any_district.one(f"SELECT count(*) FROM district WHERE d_next_o_id - 1 <> (SELECT count(*) {ORDERS})") == 0
    assert not any_district.holds(2)


def test_condition_3_new_orders_have_no_gaps_where_a_district_has_a_terminal_of_its_own(own_districts):
    assert own_districts.holds(3)


@differs
def test_condition_3_new_orders_are_as_many_as_orders_that_no_carrier_has_where_several_terminals_sell(any_district):
    assert any_district.one(f"SELECT count(*) FROM district WHERE (SELECT count(*) {NEW}) <>"
                            f" (SELECT count(*) {ORDERS} AND o_carrier_id IS NULL)") == 0
    assert not any_district.holds(3)


def test_condition_4_the_lines_of_a_district_are_as_many_as_its_orders_say(own_districts, any_district):
    assert own_districts.holds(4) and any_district.holds(4)


def test_condition_5_an_order_has_a_carrier_or_is_a_new_order(own_districts, any_district):
    assert own_districts.holds(5) and any_district.holds(5)


def test_condition_6_an_order_has_as_many_lines_as_it_says(own_districts, any_district):
    assert own_districts.holds(6) and any_district.holds(6)


def test_condition_7_a_line_is_delivered_as_its_order_is(own_districts, any_district):
    assert own_districts.holds(7) and any_district.holds(7)


def test_condition_8_the_year_to_date_of_a_warehouse_is_its_history(own_districts, any_district):
    assert own_districts.holds(8) and any_district.holds(8)


def test_condition_9_the_year_to_date_of_a_district_is_its_history(own_districts, any_district):
    assert own_districts.holds(9) and any_district.holds(9)


def test_condition_10_a_balance_is_what_was_delivered_less_what_was_paid(own_districts, any_district):
    assert own_districts.holds(10) and any_district.holds(10)


def test_condition_11_orders_less_new_orders_are_those_that_a_carrier_has(own_districts, any_district):
    """The benchmark gives the number at the start, 2,100 of each district, which the first delivery changes."""
    assert own_districts.holds(11) and any_district.holds(11)


def test_condition_12_balance_and_payments_are_what_was_delivered(own_districts, any_district):
    assert own_districts.holds(12) and any_district.holds(12)


def test_stock_each_unit_that_was_ordered_is_counted_once(own_districts, any_district):
    for day in own_districts, any_district:
        assert day.one("SELECT count(*) FROM stock WHERE s_ytd <> (SELECT coalesce(sum(ol_quantity), 0) FROM order_line"
                       " WHERE ol_supply_w_id = s_w_id AND ol_i_id = s_i_id)") == 0
        assert day.one("SELECT sum(s_order_cnt) = (SELECT count(*) FROM order_line) FROM stock") == 1


@differs
def test_two_terminals_that_number_the_orders_of_one_district_give_one_number_twice(tmp_path):
    """One key is one row: the two orders become one, of mixed lines. That is why a number belongs to one terminal, or is spread."""
    one, two, _ = open_terminals(tmp_path, random.Random(SEED), NUMBERED)
    for terminal, n in (one, 3), (two, 2):
        terminal.transaction("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 1",
                             f"INSERT INTO orders(o_id, o_w_id, o_d_id, o_c_id, o_ol_cnt) VALUES (1, 1, 1, {n}, {n})",
                             "INSERT INTO new_order VALUES (1, 1, 1)",
                             *(f"INSERT INTO order_line VALUES (1, 1, 1, {line}, 1, 1, NULL, 1, 100)" for line in range(1, n + 1)))
        assert broken(terminal) == set()
        later()
    meet(one, two)
    assert one.run("SELECT o_c_id, o_ol_cnt, (SELECT count(*) FROM order_line) FROM orders") == [(2, 2, 3)]
    assert broken(one) == broken(two) == {2, 4, 6}


@differs
def test_two_terminals_that_deliver_one_order_credit_the_customer_twice(tmp_path):
    """A counter adds what both have done. That is why the terminal that took an order delivers it."""
    one, two, _ = open_terminals(tmp_path, random.Random(SEED), SPREAD)
    while not one.run("SELECT * FROM orders WHERE o_w_id = 1"): one.new_order()
    two.pull(one)
    order = one.run("SELECT o_w_id, o_d_id, o_id, o_c_id FROM orders WHERE o_w_id = 1")[0]
    for terminal in one, two: terminal.deliver(*order)
    assert broken(one) <= {2, 3} and broken(two) <= {2, 3}
    meet(one, two)
    assert broken(one) - {2, 3} == broken(two) - {2, 3} == {10, 12}
