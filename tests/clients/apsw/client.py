"""client.py - apsw: `with db` is a transaction, and a savepoint within another `with db`."""
import apsw

import steps


class TakeBack(Exception):
    pass


class Apsw(steps.SqlClient):
    def version(self):
        return f"{apsw.apswversion()} (SQLite {apsw.sqlitelibversion()})"

    def open(self, file):
        self.db = apsw.Connection(file)
        self.db.setbusytimeout(10000)
        self.db.enableloadextension(True)
        self.db.loadextension(self.library)

    def close(self):
        self.db.close()

    def execute(self, sql, *values):
        return list(self.db.cursor().execute(sql, values))

    def change(self, sql, *values):
        self.execute(sql, *values)
        return self.db.changes()

    def execute_many(self, sql, rows):
        self.db.cursor().executemany(sql, rows)

    def nested(self):
        with self.db:
            self.count("/c", 1)
            try:
                with self.db:
                    self.count("/c", 10)
                    raise TakeBack
            except TakeBack:
                pass
            with self.db:
                self.count("/c", 100)
        return self.row("/c")

    def rollback(self):
        try:
            with self.db:
                self.count("/", 1000)
                raise TakeBack
        except TakeBack:
            return self.row("/")

    def write(self, path):
        with self.db:
            self.count("/", 1)
            self.execute("INSERT INTO page_views(path, hits) VALUES (?, ?)", path, 1)


steps.main(Apsw)
