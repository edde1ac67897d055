# client.R - RSQLite behind DBI. R's numbers are doubles, and are bound as REAL.

suppressPackageStartupMessages({
  library(DBI)
  library(RSQLite)
})

arguments <- commandArgs(trailingOnly = TRUE)
lib <- arguments[1]
folder <- arguments[2]
mode <- arguments[3]

ORDINARY <- "CREATE TABLE page_views(path TEXT NOT NULL PRIMARY KEY,
  hits INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0)"
COUNTER <- "CREATE VIRTUAL TABLE page_views USING counter(path TEXT NOT NULL PRIMARY KEY,
  hits COUNTER NOT NULL DEFAULT 0, bytes COUNTER NOT NULL DEFAULT 0)"
INSERT <- "INSERT INTO page_views(path, hits, bytes) VALUES (?, ?, ?)"
SHORT <- "INSERT INTO page_views(path, hits) VALUES (?, ?)"
ADD <- "UPDATE page_views SET hits = hits + ? WHERE path = ?"
DELETE <- "DELETE FROM page_views WHERE path = ?"

open <- function(name) {
  db <- dbConnect(SQLite(), file.path(folder, name), loadable.extensions = TRUE)
  sqliteSetBusyHandler(db, 10000L)
  dbGetQuery(db, "SELECT load_extension(?)", params = list(lib))
  db
}

with_file <- function(name, work) {
  db <- open(name)
  on.exit(dbDisconnect(db))
  work(db)
}

run <- function(db, sql, ...) dbExecute(db, sql, params = if (...length()) list(...))
all_rows <- function(db, sql, ...) dbGetQuery(db, sql, params = if (...length()) list(...))
row <- function(db, path) all_rows(db, "SELECT path, hits, bytes FROM page_views WHERE path = ?", path)

# Values and data frames as value|value;value|value.
show <- function(...) {
  lines <- function(part) {
    if (!is.data.frame(part)) return(as.character(part))
    fields <- lapply(part, function(column) ifelse(is.na(column), "NULL", as.character(column)))
    if (nrow(part)) do.call(paste, c(unname(fields), sep = "|"))
  }
  paste(unlist(lapply(list(...), lines)), collapse = ";")
}

change <- function(db, path, sql, ...) show(run(db, sql, ...), row(db, path))

# Does something with a row of its own, so that what fails leaves nothing behind.
apart <- function(db, path, work) {
  run(db, SHORT, path, 1)
  on.exit(run(db, DELETE, path))
  work
}

create <- function(db) {
  run(db, if (mode == "counter") COUNTER else ORDINARY)
  track <- Sys.getenv("CLIENT_TRACK")
  if (track != "") all_rows(db, track)
  "created"
}

nested <- function(db) {
  dbWithTransaction(db, {
    run(db, ADD, 1, "/c")
    dbBegin(db, name = "inner")
    run(db, ADD, 10, "/c")
    dbRollback(db, name = "inner")
    dbBegin(db, name = "inner")
    run(db, ADD, 100, "/c")
    dbCommit(db, name = "inner")
  })
  show(row(db, "/c"))
}

rollback <- function(db) {
  dbWithTransaction(db, {
    run(db, ADD, 1000, "/")
    run(db, SHORT, "/gone", 1)
    dbBreak()
  })
  show(row(db, "/"), row(db, "/gone"))
}

bulk_insert <- function(db) {
  dbAppendTable(db, "page_views", data.frame(path = paste0("/", letters[1:5]), hits = 1:5, bytes = 10 * 1:5))
  show(all_rows(db, "SELECT * FROM page_views WHERE path BETWEEN '/a' AND '/e' ORDER BY path"))
}

save <- function(db) {
  page <- row(db, "/")
  page$hits <- 42
  change(db, "/", "UPDATE page_views SET hits = ?, bytes = ? WHERE path = ?", page$hits, page$bytes, page$path)
}

introspect <- function(db) {
  result <- dbSendQuery(db, "SELECT * FROM page_views")
  on.exit(dbClearResult(result))
  show(dbColumnInfo(result)[c("name", "type")])
}

join <- function(db) {
  dbWriteTable(db, "pages", data.frame(path = c("/", "/c"), title = c("Home", "Chapter")))
  show(all_rows(db, "SELECT title, hits FROM pages JOIN page_views USING (path) ORDER BY title"))
}

steps <- list(
  "create" = create,
  "introspect" = introspect,
  "insert" = function(db) change(db, "/", INSERT, "/", 1, 100),
  "insert defaults" = function(db) change(db, "/key-only", "INSERT INTO page_views(path) VALUES (?)", "/key-only"),
  "bulk insert" = bulk_insert,
  "increment" = function(db) change(db, "/", ADD, 1, "/"),
  "save" = save,
  "upsert" = function(db) apart(db, "/upsert", change(
    db, "/upsert", paste(SHORT, "ON CONFLICT(path) DO UPDATE SET hits = hits + excluded.hits"), "/upsert", 5)),
  "insert or ignore" = function(db) change(db, "/", sub("INSERT", "INSERT OR IGNORE", INSERT), "/", 5, 5),
  "replace" = function(db) change(db, "/b", sub("INSERT", "INSERT OR REPLACE", SHORT), "/b", 7),
  "returning" = function(db) apart(db, "/returning", show(all_rows(db, paste(ADD, "RETURNING hits"), 1, "/returning"))),
  "delete and create" = function(db) show(run(db, DELETE, "/a"), change(db, "/a", SHORT, "/a", 3)),
  "join" = join,
  "paging" = function(db) show(all_rows(db, "SELECT path, hits FROM page_views ORDER BY path LIMIT ? OFFSET ?", 2, 2)),
  "aggregate" = function(db) show(all_rows(db, "SELECT sum(hits), count(*) FROM page_views")),
  "nested" = nested,
  "rollback" = rollback,
  "contents" = function(db) show(all_rows(db, "SELECT * FROM page_views ORDER BY path"))
)

merge_files <- function() {
  other <- if (mode == "ordinary") "app.db" else "other.db"
  if (mode != "ordinary") file.copy(file.path(folder, "app.db"), file.path(folder, other), overwrite = TRUE)
  with_file("app.db", function(db) run(db, ADD, 10, "/"))
  with_file(other, function(db) run(db, ADD, 20, "/"))
  with_file("app.db", function(db) {
    run(db, "ATTACH ? AS other", file.path(folder, other))
    if (mode != "ordinary") all_rows(db, "SELECT * FROM counter_sync('other')")
    value <- "SELECT hits FROM %s.page_views WHERE path = '/'"
    show(all_rows(db, sprintf(value, "main")), all_rows(db, sprintf(value, "other")))
  })
}

first_line <- function(error) strsplit(conditionMessage(error), "\n")[[1]][1]

print_step <- function(name, work) {
  result <- suppressWarnings(tryCatch(work, error = function(error) paste("error:", first_line(error))))
  cat(name, "\t", result, "\n", sep = "")
}

writers <- function(transactions) {
  locks <- others <- 0
  for (i in seq_len(transactions)) {
    tryCatch(
      with_file("pool.db", function(db) dbWithTransaction(db, {
        run(db, ADD, 1, "/")
        run(db, SHORT, sprintf("/%d-%d", Sys.getpid(), i), 1)
      })),
      error = function(error) {
        if (grepl("locked|busy", conditionMessage(error))) {
          locks <<- locks + 1
        } else {
          others <<- others + 1
          if (others == 1) message(first_line(error))
        }
      }
    )
  }
  cat("transactions\t", transactions, "\nlock errors\t", locks, "\nother errors\t", others, "\n", sep = "")
}

switch(arguments[4],
  version = cat(format(packageVersion("RSQLite")), " (SQLite ", rsqliteVersion()[["library"]], ")\n", sep = ""),
  steps = {
    with_file("app.db", function(db) for (name in names(steps)) print_step(name, steps[[name]](db)))
    print_step("merge", merge_files())
  },
  pool = with_file("pool.db", function(db) {
    all_rows(db, "PRAGMA journal_mode = WAL")
    create(db)
    invisible(run(db, "INSERT INTO page_views(path) VALUES ('/')"))
  }),
  writers = writers(as.integer(arguments[5]))
)
