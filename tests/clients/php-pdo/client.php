<?php
// client.php - PDO, which binds the values of execute() as texts and cannot load an extension: `run`
// preloads it.
require __DIR__ . "/../php/steps.php";

class ClassPdo extends Steps
{
    private ?PDO $db;

    public function version(): string
    {
        return (new PDO("sqlite::memory:"))->getAttribute(PDO::ATTR_SERVER_VERSION);
    }

    public function open(string $file): void
    {
        $this->db = new PDO("sqlite:$file");
        $this->db->setAttribute(PDO::ATTR_TIMEOUT, 10);
    }

    public function close(): void
    {
        $this->db = null;
    }

    public function begin(): void { $this->db->beginTransaction(); }
    public function commit(): void { $this->db->commit(); }
    public function takeBack(): void { $this->db->rollBack(); }

    public function execute(string $sql, ...$values): array
    {
        $statement = $this->db->prepare($sql);
        $statement->execute($values);
        return $statement->columnCount() ? $statement->fetchAll(PDO::FETCH_NUM) : [];
    }

    public function change(string $sql, ...$values): int
    {
        $statement = $this->db->prepare($sql);
        $statement->execute($values);
        return $statement->rowCount();
    }

    public function executeMany(string $sql, array $rows): void
    {
        $statement = $this->db->prepare($sql);
        foreach ($rows as $row) {
            $statement->execute($row);
        }
    }

    protected function stepIntrospect(): array
    {
        $empty = $this->db->query("SELECT * FROM page_views");
        return array_map(function ($n) use ($empty) {
            $column = $empty->getColumnMeta($n);
            return [$column["name"], $column["sqlite:decl_type"] ?? "none"];
        }, [0, 1, 2]);
    }
}

main(ClassPdo::class);
