"""client.py - Qt's QtSql through PyQt5, with its driver QSQLITE."""
from PyQt5.QtCore import QT_VERSION_STR, QCoreApplication
from PyQt5.QtSql import QSqlDatabase, QSqlQuery

import steps

NAME = "app"


class QtError(Exception):
    pass


class PyQt5Sql(steps.SqlClient):
    def version(self):
        self.open(":memory:")
        (sqlite,), = self.execute("SELECT sqlite_version()")
        self.close()
        return f"Qt {QT_VERSION_STR} (SQLite {sqlite})"

    def open(self, file):
        self.db = QSqlDatabase.addDatabase("QSQLITE", NAME)
        self.db.setDatabaseName(file)
        self.db.setConnectOptions("QSQLITE_BUSY_TIMEOUT=10000")
        self.check(self.db.open())

    def close(self):
        self.db.close()
        del self.db
        QSqlDatabase.removeDatabase(NAME)

    def check(self, fine, of=None):
        if not fine:
            raise QtError((of or self.db).lastError().text())

    def prepared(self, sql):
        query = QSqlQuery(self.db)
        self.check(query.prepare(sql), query)
        return query

    def executed(self, sql, values):
        query = self.prepared(sql)
        for value in values:
            query.addBindValue(value)
        self.check(query.exec(), query)
        return query

    def execute(self, sql, *values):
        query = self.executed(sql, values)
        columns = range(query.record().count())
        rows = []
        while query.next():
            rows.append([None if query.isNull(i) else query.value(i) for i in columns])
        return rows

    def change(self, sql, *values):
        return self.executed(sql, values).numRowsAffected()

    def execute_many(self, sql, rows):
        query = self.prepared(sql)
        for column in zip(*rows):
            query.addBindValue(list(column))
        self.check(query.execBatch(), query)

    def introspect(self):
        record = self.db.record("page_views")
        fields = [record.field(i) for i in range(record.count())]
        return [(field.name(), field.type()) for field in fields]

    def recover(self):
        self.db.rollback()

    def write(self, path):
        self.check(self.db.transaction())
        try:
            self.count("/", 1)
            self.execute("INSERT INTO page_views(path, hits) VALUES (?, ?)", path, 1)
            self.check(self.db.commit())
        except QtError:
            self.db.rollback()
            raise


application = QCoreApplication([])
steps.main(PyQt5Sql)
