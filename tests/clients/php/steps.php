<?php
// steps.php - the steps of tests/clients/README.md in SQL with bound values. A driver adds how it
// connects, executes, and what it offers for transactions.

const COUNTER_TABLE = "CREATE VIRTUAL TABLE page_views USING counter(path TEXT NOT NULL PRIMARY KEY, "
    . "hits COUNTER NOT NULL DEFAULT 0, bytes COUNTER NOT NULL DEFAULT 0)";
const ORDINARY_TABLE = "CREATE TABLE page_views(path TEXT NOT NULL PRIMARY KEY, "
    . "hits INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0)";
const STEPS = ["create", "introspect", "insert", "insert defaults", "bulk insert", "increment", "save", "upsert",
    "insert or ignore", "replace", "returning", "delete and create", "join", "paging", "aggregate", "nested",
    "rollback", "contents", "merge"];
const BULK = [["/a", 1, 10], ["/b", 2, 20], ["/c", 3, 30], ["/d", 4, 40], ["/e", 5, 50]];

function first_line(Throwable $error): string
{
    return explode("\n", $error->getMessage())[0];
}

function shown(array $rows): string
{
    return implode(";", array_map(fn($row) => implode("|", array_map(fn($value) => $value ?? "NULL", $row)), $rows));
}

abstract class Steps
{
    public function __construct(protected string $library, protected string $mode)
    {
    }

    abstract public function version(): string;
    abstract public function open(string $file): void;
    abstract public function close(): void;

    /** Runs one statement; the rows are lists of values. */
    abstract public function execute(string $sql, ...$values): array;

    /** Runs one statement and returns how many rows it has changed. */
    abstract public function change(string $sql, ...$values): int;

    /** Runs one statement for each row. */
    abstract public function executeMany(string $sql, array $rows): void;

    /** A statement that must not be stepped twice, as execute() of some drivers does. */
    public function once(string $sql): void { $this->execute($sql); }

    public function begin(): void { $this->execute("BEGIN"); }
    public function commit(): void { $this->execute("COMMIT"); }
    public function takeBack(): void { $this->execute("ROLLBACK"); }

    public function recover(): void
    {
        try {
            $this->takeBack();
        } catch (Throwable) { // no transaction
        }
    }

    public function steps(): void
    {
        $this->open("app.db");
        foreach (STEPS as $step) {
            try {
                $method = "step" . str_replace(" ", "", ucwords($step));
                $result = shown($this->$method());
            } catch (Throwable $error) {
                $this->recover();
                $result = "error: " . first_line($error);
            }
            echo "$step\t$result\n";
        }
        $this->close();
    }

    protected function row(string $path): array
    {
        return $this->execute("SELECT path, hits, bytes FROM page_views WHERE path = ?", $path);
    }

    /** Returns how many rows have changed. */
    protected function count(string $path, int $n): int
    {
        return $this->change("UPDATE page_views SET hits = hits + ? WHERE path = ?", $n, $path);
    }

    protected function stepCreate(): array
    {
        $this->execute($this->mode === "counter" ? COUNTER_TABLE : ORDINARY_TABLE);
        if (getenv("CLIENT_TRACK")) {
            $this->once(getenv("CLIENT_TRACK"));
        }
        return [["created"]];
    }

    protected function stepIntrospect(): array
    {
        return array_map(fn($column) => [$column[1], $column[2]], $this->execute("PRAGMA table_info(page_views)"));
    }

    protected function stepInsert(): array
    {
        $this->execute("INSERT INTO page_views(path, hits, bytes) VALUES (?, ?, ?)", "/", 1, 100);
        return $this->row("/");
    }

    protected function stepInsertDefaults(): array
    {
        $this->execute("INSERT INTO page_views(path) VALUES (?)", "/key-only");
        return $this->row("/key-only");
    }

    protected function stepBulkInsert(): array
    {
        $this->begin();
        $this->executeMany("INSERT INTO page_views(path, hits, bytes) VALUES (?, ?, ?)", BULK);
        $this->commit();
        return $this->execute("SELECT * FROM page_views WHERE path BETWEEN '/a' AND '/e' ORDER BY path");
    }

    protected function stepIncrement(): array
    {
        return [[$this->count("/", 1)], ...$this->row("/")];
    }

    protected function stepSave(): array
    {
        [[$path, , $bytes]] = $this->row("/");
        $this->execute("UPDATE page_views SET hits = ?, bytes = ? WHERE path = ?", 42, $bytes, $path);
        return $this->row("/");
    }

    protected function stepUpsert(): array
    {
        $this->execute("INSERT INTO page_views(path, hits) VALUES (?, ?)", "/upsert", 1);
        try {
            $this->execute("INSERT INTO page_views(path, hits) VALUES (?, ?) "
                . "ON CONFLICT (path) DO UPDATE SET hits = hits + excluded.hits", "/upsert", 5);
            return $this->row("/upsert");
        } finally {
            $this->execute("DELETE FROM page_views WHERE path = ?", "/upsert");
        }
    }

    protected function stepInsertOrIgnore(): array
    {
        $this->execute("INSERT OR IGNORE INTO page_views(path, hits, bytes) VALUES (?, ?, ?)", "/", 5, 5);
        return $this->row("/");
    }

    protected function stepReplace(): array
    {
        $this->execute("INSERT OR REPLACE INTO page_views(path, hits) VALUES (?, ?)", "/b", 7);
        return $this->row("/b");
    }

    protected function stepReturning(): array
    {
        $this->execute("INSERT INTO page_views(path, hits) VALUES (?, ?)", "/returning", 1);
        try {
            return $this->execute("UPDATE page_views SET hits = hits + 1 WHERE path = ? RETURNING hits", "/returning");
        } finally {
            $this->execute("DELETE FROM page_views WHERE path = ?", "/returning");
        }
    }

    protected function stepDeleteAndCreate(): array
    {
        $deleted = $this->change("DELETE FROM page_views WHERE path = ?", "/a");
        $this->execute("INSERT INTO page_views(path, hits) VALUES (?, ?)", "/a", 3);
        return [[$deleted], ...$this->row("/a")];
    }

    protected function stepJoin(): array
    {
        $this->execute("CREATE TABLE pages(path TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL)");
        $this->executeMany("INSERT INTO pages(path, title) VALUES (?, ?)", [["/", "Home"], ["/c", "Chapter"]]);
        return $this->execute("SELECT title, hits FROM pages JOIN page_views USING (path) ORDER BY title");
    }

    protected function stepPaging(): array
    {
        return $this->execute("SELECT path, hits FROM page_views ORDER BY path LIMIT ? OFFSET ?", 2, 2);
    }

    protected function stepAggregate(): array
    {
        return $this->execute("SELECT sum(hits), count(*) FROM page_views");
    }

    protected function stepNested(): array
    {
        $this->begin();
        $this->count("/c", 1);
        $this->execute("SAVEPOINT part");
        $this->count("/c", 10);
        $this->execute("ROLLBACK TO part");
        $this->execute("RELEASE part");
        $this->execute("SAVEPOINT part");
        $this->count("/c", 100);
        $this->execute("RELEASE part");
        $this->commit();
        return $this->row("/c");
    }

    protected function stepRollback(): array
    {
        $this->begin();
        $this->count("/", 1000);
        $this->takeBack();
        return $this->row("/");
    }

    protected function stepContents(): array
    {
        return $this->execute("SELECT * FROM page_views ORDER BY path");
    }

    /** Two copies count apart and are merged; an ordinary table counts in one file. Both values agree. */
    protected function stepMerge(): array
    {
        $this->close();
        $other = $this->mode === "ordinary" ? "app.db" : "other.db";
        if ($other !== "app.db") {
            copy("app.db", $other);
        }
        foreach ([["app.db", 10], [$other, 20]] as [$file, $n]) {
            $this->open($file);
            $this->count("/", $n);
            $this->close();
        }
        $this->open("app.db");
        $this->execute("ATTACH ? AS other", $other);
        if ($this->mode !== "ordinary") {
            $this->execute("SELECT * FROM counter_sync('other')");
        }
        return $this->execute("SELECT a.hits, b.hits FROM main.page_views AS a, other.page_views AS b "
            . "WHERE a.path = '/' AND b.path = '/'");
    }

    public function pool(): void
    {
        $this->open("pool.db");
        $this->execute("PRAGMA journal_mode = wal");
        $this->stepCreate();
        $this->execute("INSERT INTO page_views(path, hits, bytes) VALUES ('/', 0, 0)");
        $this->close();
    }

    public function writers(string $transactions): void
    {
        $locked = $others = 0;
        for ($n = 0; $n < $transactions; $n++) {
            try {
                $this->open("pool.db");
                $this->begin();
                $this->count("/", 1);
                $this->execute("INSERT INTO page_views(path, hits) VALUES (?, ?)", "/" . getmypid() . "-$n", 1);
                $this->commit();
            } catch (Throwable $error) {
                $this->recover();
                if (preg_match("/locked|busy/i", $error->getMessage())) {
                    $locked++;
                } elseif ($others++ === 0) {
                    fwrite(STDERR, first_line($error) . "\n");
                }
            }
            $this->close();
        }
        echo "transactions\t$transactions\nlock errors\t$locked\nother errors\t$others\n";
    }
}

function main(string $class): void
{
    [, $library, $folder, $mode, $action] = $GLOBALS["argv"];
    chdir($folder);
    $steps = new $class($library, $mode);
    if ($action === "version") {
        echo PHP_VERSION, " (SQLite ", $steps->version(), ")\n";
    } else {
        $steps->$action(...array_slice($GLOBALS["argv"], 5));
    }
}
