<?php
// client.php - PHP's class SQLite3, which binds a value by its type.
require __DIR__ . "/../php/steps.php";

class ClassSqlite3 extends Steps
{
    private SQLite3 $db;

    public function version(): string
    {
        return SQLite3::version()["versionString"];
    }

    public function open(string $file): void
    {
        $this->db = new SQLite3($file);
        $this->db->enableExceptions(true);
        $this->db->busyTimeout(10000);
        $this->db->loadExtension(basename($this->library) . "." . PHP_SHLIB_SUFFIX);
    }

    public function close(): void
    {
        $this->db->close();
    }

    public function execute(string $sql, ...$values): array
    {
        $statement = $this->db->prepare($sql);
        foreach ($values as $n => $value) {
            $statement->bindValue($n + 1, $value);
        }
        $result = $statement->execute();
        $rows = [];
        while ($result->numColumns() && $row = $result->fetchArray(SQLITE3_NUM)) {
            $rows[] = $row;
        }
        $statement->close();
        return $rows;
    }

    public function once(string $sql): void
    {
        $this->db->exec($sql);
    }

    public function change(string $sql, ...$values): int
    {
        $this->execute($sql, ...$values);
        return $this->db->changes();
    }

    public function executeMany(string $sql, array $rows): void
    {
        $statement = $this->db->prepare($sql);
        foreach ($rows as $row) {
            foreach ($row as $n => $value) {
                $statement->bindValue($n + 1, $value);
            }
            $statement->execute();
            $statement->reset();
        }
    }
}

main(ClassSqlite3::class);
