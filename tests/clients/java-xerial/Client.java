// Client.java - Xerial's JDBC driver.

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.sqlite.SQLiteConfig;

public class Client {
    static final String ORDINARY = "CREATE TABLE page_views(path TEXT NOT NULL PRIMARY KEY, "
            + "hits INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0)";
    static final String COUNTER = "CREATE VIRTUAL TABLE page_views USING counter(path TEXT NOT NULL PRIMARY KEY, "
            + "hits COUNTER NOT NULL DEFAULT 0, bytes COUNTER NOT NULL DEFAULT 0)";
    static final String INSERT = "INSERT INTO page_views(path, hits, bytes) VALUES (?, ?, ?)";
    static final String SHORT = "INSERT INTO page_views(path, hits) VALUES (?, ?)";
    static final String ADD = "UPDATE page_views SET hits = hits + ? WHERE path = ?";
    static final String ROW = "SELECT path, hits, bytes FROM page_views WHERE path = ?";
    static final String DELETE = "DELETE FROM page_views WHERE path = ?";

    interface Work {
        String on(Connection db) throws SQLException, IOException;
    }

    static String library, mode;
    static Path folder;

    static PreparedStatement prepare(Connection db, String sql, Object... values) throws SQLException {
        PreparedStatement statement = db.prepareStatement(sql);
        for (int i = 0; i < values.length; i++) statement.setObject(i + 1, values[i]);
        return statement;
    }

    /** The number of rows changed. */
    static String run(Connection db, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = prepare(db, sql, values)) {
            return String.valueOf(statement.executeUpdate());
        }
    }

    /** The rows, as value|value;value|value. */
    static String all(Connection db, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = prepare(db, sql, values); ResultSet rows = statement.executeQuery()) {
            return all(rows);
        }
    }

    static String all(ResultSet rows) throws SQLException {
        List<String> lines = new ArrayList<>();
        while (rows.next()) {
            List<String> line = new ArrayList<>();
            for (int i = 1; i <= rows.getMetaData().getColumnCount(); i++) {
                Object value = rows.getObject(i);
                line.add(value == null ? "NULL" : value.toString());
            }
            lines.add(String.join("|", line));
        }
        return String.join(";", lines);
    }

    static String change(Connection db, String path, String sql, Object... values) throws SQLException {
        return run(db, sql, values) + ";" + all(db, ROW, path);
    }

    /** Does something with a row of its own, so that what fails leaves nothing behind. */
    static String apart(Connection db, String path, Work work) throws SQLException, IOException {
        run(db, SHORT, path, 1);
        try {
            return work.on(db);
        } finally {
            run(db, DELETE, path);
        }
    }

    /** Does something in a transaction, which ends by rolling back whatever it has not committed. */
    static String transaction(Connection db, Work work) throws SQLException, IOException {
        db.setAutoCommit(false);
        try {
            return work.on(db);
        } finally {
            db.rollback();
            db.setAutoCommit(true);
        }
    }

    static String create(Connection db) throws SQLException {
        run(db, mode.equals("counter") ? COUNTER : ORDINARY);
        String track = System.getenv("CLIENT_TRACK");
        if (track != null) all(db, track);
        return "created";
    }

    static String introspect(Connection db) throws SQLException {
        DatabaseMetaData data = db.getMetaData();
        List<String> lines = new ArrayList<>();
        try (ResultSet columns = data.getColumns(null, null, "page_views", null)) {
            while (columns.next()) lines.add(columns.getString("COLUMN_NAME") + "|" + columns.getString("TYPE_NAME"));
        }
        return String.join(";", lines);
    }

    static String bulkInsert(Connection db) throws SQLException, IOException {
        transaction(db, tx -> {
            try (PreparedStatement statement = tx.prepareStatement(INSERT)) {
                for (int i = 1; i <= 5; i++) {
                    statement.setString(1, "/" + "abcde".charAt(i - 1));
                    statement.setInt(2, i);
                    statement.setLong(3, 10L * i);
                    statement.addBatch();
                }
                statement.executeBatch();
            }
            tx.commit();
            return null;
        });
        return all(db, "SELECT * FROM page_views WHERE path BETWEEN '/a' AND '/e' ORDER BY path");
    }

    static String save(Connection db) throws SQLException {
        long bytes;
        try (PreparedStatement statement = prepare(db, ROW, "/"); ResultSet row = statement.executeQuery()) {
            row.next();
            bytes = row.getLong("bytes");
        }
        return change(db, "/", "UPDATE page_views SET hits = ?, bytes = ? WHERE path = ?", 42, bytes, "/");
    }

    static String join(Connection db) throws SQLException {
        run(db, "CREATE TABLE pages(path TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL)");
        run(db, "INSERT INTO pages VALUES (?, ?), (?, ?)", "/", "Home", "/c", "Chapter");
        return all(db, "SELECT title, hits FROM pages JOIN page_views USING (path) ORDER BY title");
    }

    static String nested(Connection db) throws SQLException, IOException {
        transaction(db, tx -> {
            run(tx, ADD, 1, "/c");
            Savepoint first = tx.setSavepoint("first");
            run(tx, ADD, 10, "/c");
            tx.rollback(first);
            Savepoint second = tx.setSavepoint("second");
            run(tx, ADD, 100, "/c");
            tx.releaseSavepoint(second);
            tx.commit();
            return null;
        });
        return all(db, ROW, "/c");
    }

    static String rollback(Connection db) throws SQLException, IOException {
        transaction(db, tx -> run(tx, ADD, 1000, "/") + run(tx, SHORT, "/gone", 1));
        return all(db, ROW, "/") + all(db, ROW, "/gone");
    }

    static Map<String, Work> steps() {
        Map<String, Work> steps = new LinkedHashMap<>();
        steps.put("create", Client::create);
        steps.put("introspect", Client::introspect);
        steps.put("insert", db -> change(db, "/", INSERT, "/", 1, 100));
        steps.put("insert defaults", db -> change(db, "/key-only", "INSERT INTO page_views(path) VALUES (?)", "/key-only"));
        steps.put("bulk insert", Client::bulkInsert);
        steps.put("increment", db -> change(db, "/", ADD, 1, "/"));
        steps.put("save", Client::save);
        steps.put("upsert", db -> apart(db, "/upsert", on -> change(on, "/upsert",
                SHORT + " ON CONFLICT(path) DO UPDATE SET hits = hits + excluded.hits", "/upsert", 5)));
        steps.put("insert or ignore", db -> change(db, "/", INSERT.replace("INSERT", "INSERT OR IGNORE"), "/", 5, 5));
        steps.put("replace", db -> change(db, "/b", SHORT.replace("INSERT", "INSERT OR REPLACE"), "/b", 7));
        steps.put("returning", db -> apart(db, "/returning", on -> all(on, ADD + " RETURNING hits", 1, "/returning")));
        steps.put("delete and create", db -> run(db, DELETE, "/a") + ";" + change(db, "/a", SHORT, "/a", 3));
        steps.put("join", Client::join);
        steps.put("paging", db -> all(db, "SELECT path, hits FROM page_views ORDER BY path LIMIT ? OFFSET ?", 2, 2));
        steps.put("aggregate", db -> all(db, "SELECT sum(hits), count(*) FROM page_views"));
        steps.put("nested", Client::nested);
        steps.put("rollback", Client::rollback);
        steps.put("contents", db -> all(db, "SELECT * FROM page_views ORDER BY path"));
        return steps;
    }

    static Connection open(Path file) throws SQLException {
        SQLiteConfig config = new SQLiteConfig();
        config.enableLoadExtension(true);
        config.setBusyTimeout(10000);
        Connection db = config.createConnection("jdbc:sqlite:" + file);
        all(db, "SELECT load_extension(?)", library);
        return db;
    }

    static String merge() throws SQLException, IOException {
        Path app = folder.resolve("app.db");
        Path other = mode.equals("ordinary") ? app : folder.resolve("other.db");
        if (other != app) Files.copy(app, other, StandardCopyOption.REPLACE_EXISTING);
        try (Connection db = open(app)) {
            run(db, ADD, 10, "/");
        }
        try (Connection db = open(other)) {
            run(db, ADD, 20, "/");
        }
        try (Connection db = open(app)) {
            run(db, "ATTACH ? AS other", other.toString());
            if (other != app) all(db, "SELECT * FROM counter_sync('other')");
            return all(db, "SELECT hits FROM main.page_views WHERE path = '/'") + ";"
                    + all(db, "SELECT hits FROM other.page_views WHERE path = '/'");
        }
    }

    static void printStep(String name, Work work, Connection db) {
        String result;
        try {
            result = work.on(db);
        } catch (SQLException | IOException error) {
            result = "error: " + error.getMessage().split("\n")[0];
        }
        System.out.println(name + "\t" + result);
    }

    static void write(String path) throws SQLException, IOException {
        try (Connection db = open(folder.resolve("pool.db"))) {
            transaction(db, tx -> {
                run(tx, ADD, 1, "/");
                run(tx, SHORT, path, 1);
                tx.commit();
                return null;
            });
        }
    }

    static void writers(int transactions) throws IOException {
        int locks = 0, others = 0;
        for (int i = 0; i < transactions; i++) {
            try {
                write("/" + ProcessHandle.current().pid() + "-" + i);
            } catch (SQLException error) {
                if (error.getMessage().matches("(?si).*(locked|busy).*")) locks++;
                else if (others++ == 0) System.err.println(error.getMessage());
            }
        }
        System.out.printf("transactions\t%d%nlock errors\t%d%nother errors\t%d%n", transactions, locks, others);
    }

    public static void main(String[] arguments) throws SQLException, IOException {
        library = arguments[0];
        folder = Path.of(arguments[1]);
        mode = arguments[2];
        switch (arguments[3]) {
            case "version" -> {
                try (Connection db = open(Path.of(":memory:"))) {
                    DatabaseMetaData data = db.getMetaData();
                    System.out.println(data.getDriverVersion() + " (SQLite " + data.getDatabaseProductVersion() + ")");
                }
            }
            case "steps" -> {
                try (Connection db = open(folder.resolve("app.db"))) {
                    steps().forEach((name, work) -> printStep(name, work, db));
                }
                printStep("merge", db -> merge(), null);
            }
            case "pool" -> {
                try (Connection db = open(folder.resolve("pool.db"))) {
                    all(db, "PRAGMA journal_mode = WAL");
                    create(db);
                    run(db, "INSERT INTO page_views(path) VALUES ('/')");
                }
            }
            case "writers" -> writers(Integer.parseInt(arguments[4]));
            default -> throw new IllegalArgumentException("unknown action " + arguments[3]);
        }
    }
}
