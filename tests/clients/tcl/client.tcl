# client.tcl - Tcl's sqlite3. A number that came as text is bound as a text, as with most values of a
# Tcl program.
package require sqlite3

set counterTable {CREATE VIRTUAL TABLE page_views USING counter(path TEXT NOT NULL PRIMARY KEY,
    hits COUNTER NOT NULL DEFAULT 0, bytes COUNTER NOT NULL DEFAULT 0)}
set ordinaryTable {CREATE TABLE page_views(path TEXT NOT NULL PRIMARY KEY,
    hits INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0)}

proc opened {file} {
    sqlite3 db $file
    db timeout 10000
    db enable_load_extension 1
    db eval {SELECT load_extension($::library)}
}

# The rows of a statement, which binds the variables of the caller.
proc rows {sql} {
    set ::rows {}
    uplevel 1 [list db eval $sql row {lappend ::rows [join [lmap column $row(*) {set row($column)}] |]}]
    return [join $::rows ";"]
}

proc row {path} {rows {SELECT path, hits, bytes FROM page_views WHERE path = $path}}

proc add {path hits bytes} {
    db eval {INSERT INTO page_views(path, hits, bytes) VALUES ($path, $hits, $bytes)}
}

proc count {path n} {
    db eval {UPDATE page_views SET hits = hits + $n WHERE path = $path}
}

# Runs the script with a row of its own, which is deleted even if the script fails.
proc withRow {path script} {
    db eval {INSERT INTO page_views(path, hits) VALUES ($path, 1)}
    try $script finally {db eval {DELETE FROM page_views WHERE path = $path}}
}

proc create {} {
    db eval [expr {$::mode eq "counter" ? $::counterTable : $::ordinaryTable}]
    if {[info exists ::env(CLIENT_TRACK)]} {db eval $::env(CLIENT_TRACK)}
}

set steps {
    create {create; set created created}
    introspect {rows {SELECT name, type FROM pragma_table_info('page_views')}}
    insert {add / 1 100; row /}
    {insert defaults} {set path /key-only; db eval {INSERT INTO page_views(path) VALUES ($path)}; row $path}
    {bulk insert} {
        db transaction {
            foreach {path hits bytes} {/a 1 10 /b 2 20 /c 3 30 /d 4 40 /e 5 50} {add $path $hits $bytes}
        }
        rows {SELECT * FROM page_views WHERE path BETWEEN '/a' AND '/e' ORDER BY path}
    }
    increment {count / 1; set changed [db changes]; string cat $changed ";" [row /]}
    save {
        db eval {SELECT * FROM page_views WHERE path = '/'} view {}
        set view(hits) 42
        db eval {UPDATE page_views SET hits = $view(hits), bytes = $view(bytes) WHERE path = $view(path)}
        row /
    }
    upsert {
        withRow /upsert {
            set n 5
            db eval {INSERT INTO page_views(path, hits) VALUES ('/upsert', $n)
                     ON CONFLICT (path) DO UPDATE SET hits = hits + excluded.hits}
            row /upsert
        }
    }
    {insert or ignore} {
        set n 5
        db eval {INSERT OR IGNORE INTO page_views(path, hits, bytes) VALUES ('/', $n, $n)}
        row /
    }
    replace {set n 7; db eval {INSERT OR REPLACE INTO page_views(path, hits) VALUES ('/b', $n)}; row /b}
    returning {
        withRow /returning {
            rows {UPDATE page_views SET hits = hits + 1 WHERE path = '/returning' RETURNING hits}
        }
    }
    {delete and create} {
        db eval {DELETE FROM page_views WHERE path = '/a'}
        set deleted [db changes]
        add /a 3 0
        string cat $deleted ";" [row /a]
    }
    join {
        db eval {CREATE TABLE pages(path TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL)}
        foreach {path title} {/ Home /c Chapter} {db eval {INSERT INTO pages VALUES ($path, $title)}}
        rows {SELECT title, hits FROM pages JOIN page_views USING (path) ORDER BY title}
    }
    paging {set n 2; rows {SELECT path, hits FROM page_views ORDER BY path LIMIT $n OFFSET $n}}
    aggregate {rows {SELECT sum(hits), count(*) FROM page_views}}
    nested {
        db transaction {
            count /c 1
            catch {db transaction {count /c 10; error "taken back"}}
            db transaction {count /c 100}
        }
        row /c
    }
    rollback {catch {db transaction {count / 1000; error "taken back"}}; row /}
    contents {rows {SELECT * FROM page_views ORDER BY path}}
    merge {
        db close
        set other [expr {$mode eq "ordinary" ? "app.db" : "other.db"}]
        if {$other ne "app.db"} {file copy app.db $other}
        foreach {file n} [list app.db 10 $other 20] {
            opened $file
            count / $n
            db close
        }
        opened app.db
        db eval {ATTACH $other AS other}
        if {$mode ne "ordinary"} {db eval {SELECT * FROM counter_sync('other')}}
        rows {SELECT a.hits AS here, b.hits AS there FROM main.page_views AS a, other.page_views AS b
              WHERE a.path = '/' AND b.path = '/'}
    }
}

proc firstLine {message} {lindex [split $message \n] 0}

proc runSteps {} {
    global steps mode
    opened app.db
    foreach {step script} $steps {
        if {[catch $script result]} {
            catch {db eval ROLLBACK}
            set result "error: [firstLine $result]"
        }
        puts "$step\t$result"
    }
    db close
}

proc pool {} {
    opened pool.db
    db eval {PRAGMA journal_mode = wal}
    create
    db eval {INSERT INTO page_views(path, hits, bytes) VALUES ('/', 0, 0)}
    db close
}

proc writers {transactions} {
    array set errors {locked 0 other 0}
    for {set n 0} {$n < $transactions} {incr n} {
        if {[catch {
            opened pool.db
            db transaction {
                count / 1
                add "/[pid]-$n" 1 0
            }
        } message]} {
            set kind [expr {[regexp -nocase {locked|busy} $message] ? "locked" : "other"}]
            if {[incr errors($kind)] == 1 && $kind eq "other"} {puts stderr [firstLine $message]}
        }
        db close
    }
    puts "transactions\t$transactions\nlock errors\t$errors(locked)\nother errors\t$errors(other)"
}

lassign $argv library folder mode action transactions
cd $folder
switch $action {
    version {puts "[info patchlevel] (SQLite [package require sqlite3])"}
    steps runSteps
    pool pool
    writers {writers $transactions}
}
