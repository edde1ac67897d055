// client.go - mattn's go-sqlite3 behind database/sql, with its pool of connections.
package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/mattn/go-sqlite3"
)

const (
	ordinary = `CREATE TABLE page_views(path TEXT NOT NULL PRIMARY KEY,
		hits INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0)`
	counter = `CREATE VIRTUAL TABLE page_views USING counter(path TEXT NOT NULL PRIMARY KEY,
		hits COUNTER NOT NULL DEFAULT 0, bytes COUNTER NOT NULL DEFAULT 0)`
	insert = "INSERT INTO page_views(path, hits, bytes) VALUES (?, ?, ?)"
	short  = "INSERT INTO page_views(path, hits) VALUES (?, ?)"
	add    = "UPDATE page_views SET hits = hits + ? WHERE path = ?"
	row    = "SELECT path, hits, bytes FROM page_views WHERE path = ?"
	remove = "DELETE FROM page_views WHERE path = ?"
)

var mode string

// What *sql.DB and *sql.Tx have in common.
type runner interface {
	Exec(query string, values ...any) (sql.Result, error)
	Query(query string, values ...any) (*sql.Rows, error)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// The number of rows changed.
func run(db runner, query string, values ...any) string {
	result, err := db.Exec(query, values...)
	must(err)
	changes, err := result.RowsAffected()
	must(err)
	return strconv.FormatInt(changes, 10)
}

// The rows, as value|value;value|value.
func all(db runner, query string, values ...any) string {
	rows, err := db.Query(query, values...)
	must(err)
	defer rows.Close()
	names, err := rows.Columns()
	must(err)
	fields := make([]any, len(names))
	for i := range fields {
		fields[i] = new(any)
	}
	lines := []string{}
	for rows.Next() {
		must(rows.Scan(fields...))
		line := []string{}
		for _, field := range fields {
			line = append(line, strings.ReplaceAll(fmt.Sprint(*field.(*any)), "<nil>", "NULL"))
		}
		lines = append(lines, strings.Join(line, "|"))
	}
	must(rows.Err())
	return strings.Join(lines, ";")
}

func change(db *sql.DB, path, query string, values ...any) string {
	return run(db, query, values...) + ";" + all(db, row, path)
}

// Does something with a row of its own, so that what fails leaves nothing behind.
func apart(db *sql.DB, path string, work func() string) string {
	run(db, short, path, 1)
	defer run(db, remove, path)
	return work()
}

func begin(db *sql.DB) *sql.Tx {
	tx, err := db.Begin()
	must(err)
	return tx
}

func create(db *sql.DB) string {
	if mode == "counter" {
		run(db, counter)
	} else {
		run(db, ordinary)
	}
	if track := os.Getenv("CLIENT_TRACK"); track != "" {
		all(db, track)
	}
	return "created"
}

func bulkInsert(db *sql.DB) string {
	tx := begin(db)
	defer tx.Rollback()
	statement, err := tx.Prepare(insert)
	must(err)
	for i, path := range []string{"/a", "/b", "/c", "/d", "/e"} {
		_, err := statement.Exec(path, i+1, 10*(i+1))
		must(err)
	}
	must(tx.Commit())
	return all(db, "SELECT * FROM page_views WHERE path BETWEEN '/a' AND '/e' ORDER BY path")
}

func save(db *sql.DB) string {
	var path string
	var hits, bytes int
	must(db.QueryRow(row, "/").Scan(&path, &hits, &bytes))
	hits = 42
	return change(db, "/", "UPDATE page_views SET hits = ?, bytes = ? WHERE path = ?", hits, bytes, path)
}

func join(db *sql.DB) string {
	run(db, "CREATE TABLE pages(path TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL)")
	run(db, "INSERT INTO pages VALUES (?, ?), (?, ?)", "/", "Home", "/c", "Chapter")
	return all(db, "SELECT title, hits FROM pages JOIN page_views USING (path) ORDER BY title")
}

func nested(db *sql.DB) string {
	tx := begin(db)
	defer tx.Rollback()
	run(tx, add, 1, "/c")
	run(tx, "SAVEPOINT inner")
	run(tx, add, 10, "/c")
	run(tx, "ROLLBACK TO inner")
	run(tx, "RELEASE inner")
	run(tx, "SAVEPOINT inner")
	run(tx, add, 100, "/c")
	run(tx, "RELEASE inner")
	must(tx.Commit())
	return all(db, row, "/c")
}

func rollback(db *sql.DB) string {
	tx := begin(db)
	defer tx.Rollback()
	run(tx, add, 1000, "/")
	run(tx, short, "/gone", 1)
	must(tx.Rollback())
	return all(db, row, "/") + all(db, row, "/gone")
}

var steps = []struct {
	name string
	work func(db *sql.DB) string
}{
	{"create", create},
	{"introspect", func(db *sql.DB) string { return all(db, "SELECT name, type FROM pragma_table_info('page_views')") }},
	{"insert", func(db *sql.DB) string { return change(db, "/", insert, "/", 1, 100) }},
	{"insert defaults", func(db *sql.DB) string {
		return change(db, "/key-only", "INSERT INTO page_views(path) VALUES (?)", "/key-only")
	}},
	{"bulk insert", bulkInsert},
	{"increment", func(db *sql.DB) string { return change(db, "/", add, 1, "/") }},
	{"save", save},
	{"upsert", func(db *sql.DB) string {
		return apart(db, "/upsert", func() string {
			return change(db, "/upsert", short+" ON CONFLICT(path) DO UPDATE SET hits = hits + excluded.hits", "/upsert", 5)
		})
	}},
	{"insert or ignore", func(db *sql.DB) string {
		return change(db, "/", "INSERT OR IGNORE INTO page_views(path, hits, bytes) VALUES (?, ?, ?)", "/", 5, 5)
	}},
	{"replace", func(db *sql.DB) string {
		return change(db, "/b", "INSERT OR REPLACE INTO page_views(path, hits) VALUES (?, ?)", "/b", 7)
	}},
	{"returning", func(db *sql.DB) string {
		return apart(db, "/returning", func() string { return all(db, add+" RETURNING hits", 1, "/returning") })
	}},
	{"delete and create", func(db *sql.DB) string {
		return run(db, remove, "/a") + ";" + change(db, "/a", short, "/a", 3)
	}},
	{"join", join},
	{"paging", func(db *sql.DB) string {
		return all(db, "SELECT path, hits FROM page_views ORDER BY path LIMIT ? OFFSET ?", 2, 2)
	}},
	{"aggregate", func(db *sql.DB) string { return all(db, "SELECT sum(hits), count(*) FROM page_views") }},
	{"nested", nested},
	{"rollback", rollback},
	{"contents", func(db *sql.DB) string { return all(db, "SELECT * FROM page_views ORDER BY path") }},
}

func open(file string) *sql.DB {
	db, err := sql.Open("counters", "file:"+file+"?_busy_timeout=10000")
	must(err)
	return db
}

func merge(dir string) string {
	app, other := filepath.Join(dir, "app.db"), filepath.Join(dir, "other.db")
	if mode == "ordinary" {
		other = app
	} else {
		content, err := os.ReadFile(app)
		must(err)
		must(os.WriteFile(other, content, 0o644))
	}
	for i, file := range []string{app, other} {
		db := open(file)
		run(db, add, 10*(i+1), "/")
		must(db.Close())
	}
	db := open(app)
	defer db.Close()
	db.SetMaxOpenConns(1) // ATTACH is for one connection
	run(db, "ATTACH ? AS other", other)
	if mode != "ordinary" {
		all(db, "SELECT * FROM counter_sync('other')")
	}
	return all(db, "SELECT hits FROM main.page_views WHERE path = '/'") + ";" +
		all(db, "SELECT hits FROM other.page_views WHERE path = '/'")
}

// Calls work, and returns the message of its error, if it fails, in place of its result.
func try(work func() string) (result string, failed bool) {
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case runtime.Error:
			panic(problem)
		case error:
			result, failed = strings.SplitN(problem.Error(), "\n", 2)[0], true
		}
	}()
	return work(), false
}

func printStep(name string, work func() string) {
	result, failed := try(work)
	if failed {
		result = "error: " + result
	}
	fmt.Printf("%s\t%s\n", name, result)
}

func runSteps(dir string) {
	db := open(filepath.Join(dir, "app.db"))
	for _, step := range steps {
		printStep(step.name, func() string { return step.work(db) })
	}
	must(db.Close())
	printStep("merge", func() string { return merge(dir) })
}

func pool(dir string) {
	db := open(filepath.Join(dir, "pool.db"))
	all(db, "PRAGMA journal_mode = WAL")
	create(db)
	run(db, "INSERT INTO page_views(path) VALUES ('/')")
	must(db.Close())
}

func write(dir, path string) string {
	db := open(filepath.Join(dir, "pool.db"))
	defer db.Close()
	tx := begin(db)
	defer tx.Rollback()
	run(tx, add, 1, "/")
	run(tx, short, path, 1)
	must(tx.Commit())
	return ""
}

func writers(dir string, transactions int) {
	locks, others := 0, 0
	for i := 0; i < transactions; i++ {
		message, failed := try(func() string { return write(dir, fmt.Sprintf("/%d-%d", os.Getpid(), i)) })
		if failed && (strings.Contains(message, "locked") || strings.Contains(message, "busy")) {
			locks++
		} else if failed {
			if others++; others == 1 {
				fmt.Fprintln(os.Stderr, message)
			}
		}
	}
	fmt.Printf("transactions\t%d\nlock errors\t%d\nother errors\t%d\n", transactions, locks, others)
}

func main() {
	library, dir, action := os.Args[1], os.Args[2], os.Args[4]
	mode = os.Args[3]
	sql.Register("counters", &sqlite3.SQLiteDriver{Extensions: []string{library}})
	switch action {
	case "version":
		version, _, _ := sqlite3.Version()
		fmt.Printf("%s (SQLite %s)\n", runtime.Version(), version)
	case "steps":
		runSteps(dir)
	case "pool":
		pool(dir)
	case "writers":
		transactions, err := strconv.Atoi(os.Args[5])
		must(err)
		writers(dir, transactions)
	}
}
