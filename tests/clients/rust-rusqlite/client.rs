//! client.rs - rusqlite: binds numbers as INTEGER, and begins transactions by types.

use rusqlite::types::ValueRef;
use rusqlite::{params, Connection, LoadExtensionGuard, Params, Result};
use std::path::Path;
use std::time::Duration;

const ORDINARY: &str = "CREATE TABLE page_views(path TEXT NOT NULL PRIMARY KEY,
    hits INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0)";
const COUNTER: &str = "CREATE VIRTUAL TABLE page_views USING counter(path TEXT NOT NULL PRIMARY KEY,
    hits COUNTER NOT NULL DEFAULT 0, bytes COUNTER NOT NULL DEFAULT 0)";
const INSERT: &str = "INSERT INTO page_views(path, hits, bytes) VALUES (?, ?, ?)";
const SHORT: &str = "INSERT INTO page_views(path, hits) VALUES (?, ?)";
const ADD: &str = "UPDATE page_views SET hits = hits + ? WHERE path = ?";
const ROW: &str = "SELECT path, hits, bytes FROM page_views WHERE path = ?";
const DELETE: &str = "DELETE FROM page_views WHERE path = ?";

struct Client {
    library: String,
    folder: String,
    mode: String,
}

fn show(value: ValueRef) -> String {
    match value {
        ValueRef::Null => "NULL".to_string(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => format!("{:?}", number),
        ValueRef::Text(text) => String::from_utf8_lossy(text).to_string(),
        ValueRef::Blob(bytes) => format!("{:02x?}", bytes),
    }
}

/// The rows, as value|value;value|value.
fn all(db: &Connection, sql: &str, values: impl Params) -> Result<String> {
    let mut statement = db.prepare(sql)?;
    let columns = statement.column_count();
    let lines = statement.query_map(values, |row| {
        let fields: Result<Vec<String>> = (0..columns).map(|i| row.get_ref(i).map(show)).collect();
        Ok(fields?.join("|"))
    })?;
    Ok(lines.collect::<Result<Vec<String>>>()?.join(";"))
}

/// A statement, and the row that it was about.
fn change(db: &Connection, path: &str, sql: &str, values: impl Params) -> Result<String> {
    let changes = db.execute(sql, values)?;
    Ok(format!("{};{}", changes, all(db, ROW, [path])?))
}

/// Does something with a row of its own, so that what fails leaves nothing behind.
fn apart(db: &Connection, path: &str, work: impl Fn() -> Result<String>) -> Result<String> {
    db.execute(SHORT, params![path, 1])?;
    let result = work();
    db.execute(DELETE, [path])?;
    result
}

fn bulk_insert(db: &mut Connection) -> Result<String> {
    let tx = db.transaction()?;
    {
        let mut statement = tx.prepare(INSERT)?;
        for (i, path) in ["/a", "/b", "/c", "/d", "/e"].iter().enumerate() {
            statement.execute(params![path, i + 1, 10 * (i + 1)])?;
        }
    }
    tx.commit()?;
    all(db, "SELECT * FROM page_views WHERE path BETWEEN '/a' AND '/e' ORDER BY path", [])
}

fn save(db: &Connection) -> Result<String> {
    let bytes: i64 = db.query_row(ROW, ["/"], |row| row.get("bytes"))?;
    change(db, "/", "UPDATE page_views SET hits = ?, bytes = ? WHERE path = ?", params![42, bytes, "/"])
}

fn join(db: &Connection) -> Result<String> {
    db.execute("CREATE TABLE pages(path TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL)", [])?;
    db.execute("INSERT INTO pages VALUES (?, ?), (?, ?)", ["/", "Home", "/c", "Chapter"])?;
    all(db, "SELECT title, hits FROM pages JOIN page_views USING (path) ORDER BY title", [])
}

fn nested(db: &mut Connection) -> Result<String> {
    let mut tx = db.transaction()?;
    tx.execute(ADD, params![1, "/c"])?;
    let inner = tx.savepoint()?;
    inner.execute(ADD, params![10, "/c"])?;
    inner.finish()?; // rolls back
    let inner = tx.savepoint()?;
    inner.execute(ADD, params![100, "/c"])?;
    inner.commit()?;
    tx.commit()?;
    all(db, ROW, ["/c"])
}

fn rollback(db: &mut Connection) -> Result<String> {
    let tx = db.transaction()?;
    tx.execute(ADD, params![1000, "/"])?;
    tx.execute(SHORT, params!["/gone", 1])?;
    tx.rollback()?;
    Ok(all(db, ROW, ["/"])? + &all(db, ROW, ["/gone"])?)
}

fn step(client: &Client, db: &mut Connection, name: &str) -> Result<String> {
    match name {
        "create" => client.create(db),
        "introspect" => all(db, "SELECT name, type FROM pragma_table_info('page_views')", []),
        "insert" => change(db, "/", INSERT, params!["/", 1, 100]),
        "insert defaults" => change(db, "/key-only", "INSERT INTO page_views(path) VALUES (?)", ["/key-only"]),
        "bulk insert" => bulk_insert(db),
        "increment" => change(db, "/", ADD, params![1, "/"]),
        "save" => save(db),
        "upsert" => apart(db, "/upsert", || {
            let upsert = format!("{SHORT} ON CONFLICT(path) DO UPDATE SET hits = hits + excluded.hits");
            change(db, "/upsert", &upsert, params!["/upsert", 5])
        }),
        "insert or ignore" => change(db, "/", &INSERT.replace("INSERT", "INSERT OR IGNORE"), params!["/", 5, 5]),
        "replace" => change(db, "/b", &SHORT.replace("INSERT", "INSERT OR REPLACE"), params!["/b", 7]),
        "returning" => apart(db, "/returning", || all(db, &format!("{ADD} RETURNING hits"), params![1, "/returning"])),
        "delete and create" => {
            let deleted = db.execute(DELETE, ["/a"])?;
            Ok(format!("{};{}", deleted, change(db, "/a", SHORT, params!["/a", 3])?))
        }
        "join" => join(db),
        "paging" => all(db, "SELECT path, hits FROM page_views ORDER BY path LIMIT ? OFFSET ?", [2, 2]),
        "aggregate" => all(db, "SELECT sum(hits), count(*) FROM page_views", []),
        "nested" => nested(db),
        "rollback" => rollback(db),
        "contents" => all(db, "SELECT * FROM page_views ORDER BY path", []),
        _ => unreachable!(),
    }
}

const STEPS: [&str; 18] = [
    "create", "introspect", "insert", "insert defaults", "bulk insert", "increment", "save", "upsert",
    "insert or ignore", "replace", "returning", "delete and create", "join", "paging", "aggregate",
    "nested", "rollback", "contents",
];

fn print_step(name: &str, result: Result<String>) {
    match result {
        Ok(text) => println!("{name}\t{text}"),
        Err(error) => println!("{name}\terror: {}", error.to_string().lines().next().unwrap_or("")),
    }
}

impl Client {
    fn open(&self, file: &str) -> Result<Connection> {
        let db = Connection::open(Path::new(&self.folder).join(file))?;
        db.busy_timeout(Duration::from_secs(10))?;
        unsafe {
            let _guard = LoadExtensionGuard::new(&db)?;
            db.load_extension(&self.library, None)?;
        }
        Ok(db)
    }

    fn create(&self, db: &Connection) -> Result<String> {
        db.execute(if self.mode == "counter" { COUNTER } else { ORDINARY }, [])?;
        if let Ok(track) = std::env::var("CLIENT_TRACK") {
            all(db, &track, [])?;
        }
        Ok("created".to_string())
    }

    fn merge(&self) -> Result<String> {
        let other = if self.mode == "ordinary" { "app.db" } else { "other.db" };
        let folder = Path::new(&self.folder);
        if other != "app.db" {
            std::fs::copy(folder.join("app.db"), folder.join(other)).expect("copies app.db");
        }
        self.open("app.db")?.execute(ADD, params![10, "/"])?;
        self.open(other)?.execute(ADD, params![20, "/"])?;

        let db = self.open("app.db")?;
        db.execute("ATTACH ? AS other", [folder.join(other).to_str()])?;
        if self.mode != "ordinary" {
            all(&db, "SELECT * FROM counter_sync('other')", [])?;
        }
        let value = |schema| all(&db, &format!("SELECT hits FROM {schema}.page_views WHERE path = '/'"), []);
        Ok(format!("{};{}", value("main")?, value("other")?))
    }

    fn steps(&self) -> Result<()> {
        let mut db = self.open("app.db")?;
        for name in STEPS {
            print_step(name, step(self, &mut db, name));
        }
        db.close().map_err(|(_, error)| error)?;
        print_step("merge", self.merge());
        Ok(())
    }

    fn pool(&self) -> Result<()> {
        let db = self.open("pool.db")?;
        all(&db, "PRAGMA journal_mode = WAL", [])?;
        self.create(&db)?;
        db.execute("INSERT INTO page_views(path) VALUES ('/')", [])?;
        Ok(())
    }

    fn write(&self, path: &str) -> Result<()> {
        let mut db = self.open("pool.db")?;
        let tx = db.transaction()?;
        tx.execute(ADD, params![1, "/"])?;
        tx.execute(SHORT, params![path, 1])?;
        tx.commit()
    }

    fn writers(&self, transactions: u32) {
        let (mut locks, mut others) = (0, 0);
        for i in 0..transactions {
            if let Err(error) = self.write(&format!("/{}-{}", std::process::id(), i)) {
                let message = error.to_string();
                if message.contains("locked") || message.contains("busy") {
                    locks += 1;
                } else {
                    others += 1;
                    if others == 1 {
                        eprintln!("{message}");
                    }
                }
            }
        }
        println!("transactions\t{transactions}\nlock errors\t{locks}\nother errors\t{others}");
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [library, folder, mode, action] = [1, 2, 3, 4].map(|i| arguments[i].clone());
    let client = Client { library, folder, mode };
    match action.as_str() {
        "version" => println!("rusqlite 0.28 (SQLite {})", rusqlite::version()),
        "steps" => client.steps()?,
        "pool" => client.pool()?,
        "writers" => client.writers(arguments[5].parse().expect("a number")),
        _ => panic!("unknown action {action}"),
    }
    Ok(())
}
