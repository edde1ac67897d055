-- client.lua - LuaSQL. It has no bound values, so that statements are made of texts, and cannot load an
-- extension: `run` preloads it.
local driver = require "luasql.sqlite3"

local COUNTER_TABLE = [[CREATE VIRTUAL TABLE page_views USING counter(path TEXT NOT NULL PRIMARY KEY,
    hits COUNTER NOT NULL DEFAULT 0, bytes COUNTER NOT NULL DEFAULT 0)]]
local ORDINARY_TABLE = [[CREATE TABLE page_views(path TEXT NOT NULL PRIMARY KEY,
    hits INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0)]]

local _, folder, mode, action, transactions = table.unpack(arg)
local environment = driver.sqlite3()
local db

local function open(file)
    db = assert(environment:connect(folder .. "/" .. file, 10000))
end

local function execute(sql, ...)
    return assert(db:execute(sql:format(...)))
end

local function rows(sql, ...)
    local cursor, found = execute(sql, ...), {}
    local row = cursor:fetch({}, "n")
    while row do
        local values = {}
        for n = 1, #cursor:getcolnames() do values[n] = row[n] == nil and "NULL" or tostring(row[n]) end
        found[#found + 1] = table.concat(values, "|")
        row = cursor:fetch({}, "n")
    end
    return table.concat(found, ";")
end

local function row(path)
    return rows("SELECT path, hits, bytes FROM page_views WHERE path = '%s'", path)
end

local function count(path, n)
    return execute("UPDATE page_views SET hits = hits + %d WHERE path = '%s'", n, path)
end

local function add(path, hits, bytes)
    execute("INSERT INTO page_views(path, hits, bytes) VALUES ('%s', %d, %d)", path, hits, bytes)
end

-- A transaction of LuaSQL: begun by leaving the automatic commit, ended by commit or rollback.
local function transaction(work, finish)
    db:setautocommit(false)
    local done, message = pcall(work)
    if not (done and finish ~= "rollback") then db:rollback() else done, message = pcall(assert, db:commit()) end
    db:setautocommit(true)
    if not done then error(message, 0) end
end

local function create()
    execute("%s", mode == "counter" and COUNTER_TABLE or ORDINARY_TABLE)
    local track = os.getenv("CLIENT_TRACK")
    if track then rows(track) end
    return "created"
end

-- Something with a row of its own, which is deleted even if that fails.
local function with_row(path, work)
    add(path, 1, 0)
    local done, result = pcall(work)
    execute("DELETE FROM page_views WHERE path = '%s'", path)
    if not done then error(result, 0) end
    return result
end

local steps = {
    {"create", create},
    {"introspect", function()
        local cursor = execute("SELECT * FROM page_views")
        local names, types, both = cursor:getcolnames(), cursor:getcoltypes(), {}
        for n, name in ipairs(names) do both[n] = name .. "|" .. types[n] end
        cursor:close()
        return table.concat(both, ";")
    end},
    {"insert", function() add("/", 1, 100) return row("/") end},
    {"insert defaults", function()
        execute("INSERT INTO page_views(path) VALUES ('/key-only')")
        return row("/key-only")
    end},
    {"bulk insert", function()
        transaction(function() for n = 1, 5 do add("/" .. ("abcde"):sub(n, n), n, 10 * n) end end)
        return rows("SELECT * FROM page_views WHERE path BETWEEN '/a' AND '/e' ORDER BY path")
    end},
    {"increment", function() return ("%d;%s"):format(count("/", 1), row("/")) end},
    {"save", function()
        local cursor = execute("SELECT * FROM page_views WHERE path = '/'")
        local view = cursor:fetch({}, "a")
        cursor:close()
        view.hits = 42
        execute("UPDATE page_views SET hits = %s, bytes = %s WHERE path = '%s'", view.hits, view.bytes, view.path)
        return row("/")
    end},
    {"upsert", function()
        return with_row("/upsert", function()
            execute("INSERT INTO page_views(path, hits) VALUES ('/upsert', 5) "
                .. "ON CONFLICT (path) DO UPDATE SET hits = hits + excluded.hits")
            return row("/upsert")
        end)
    end},
    {"insert or ignore", function()
        execute("INSERT OR IGNORE INTO page_views(path, hits, bytes) VALUES ('/', 5, 5)")
        return row("/")
    end},
    {"replace", function()
        execute("INSERT OR REPLACE INTO page_views(path, hits) VALUES ('/b', 7)")
        return row("/b")
    end},
    {"returning", function()
        return with_row("/returning", function()
            return rows("UPDATE page_views SET hits = hits + 1 WHERE path = '/returning' RETURNING hits")
        end)
    end},
    {"delete and create", function()
        local deleted = execute("DELETE FROM page_views WHERE path = '/a'")
        add("/a", 3, 0)
        return ("%d;%s"):format(deleted, row("/a"))
    end},
    {"join", function()
        execute("CREATE TABLE pages(path TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL)")
        execute("INSERT INTO pages(path, title) VALUES ('/', 'Home'), ('/c', 'Chapter')")
        return rows("SELECT title, hits FROM pages JOIN page_views USING (path) ORDER BY title")
    end},
    {"paging", function() return rows("SELECT path, hits FROM page_views ORDER BY path LIMIT 2 OFFSET 2") end},
    {"aggregate", function() return rows("SELECT sum(hits), count(*) FROM page_views") end},
    {"nested", function()
        transaction(function()
            count("/c", 1)
            execute("SAVEPOINT part")
            count("/c", 10)
            execute("ROLLBACK TO part")
            execute("RELEASE part")
            execute("SAVEPOINT part")
            count("/c", 100)
            execute("RELEASE part")
        end)
        return row("/c")
    end},
    {"rollback", function() transaction(function() count("/", 1000) end, "rollback") return row("/") end},
    {"contents", function() return rows("SELECT * FROM page_views ORDER BY path") end},
    {"merge", function()
        db:close()
        local other = mode == "ordinary" and "app.db" or "other.db"
        if other ~= "app.db" then os.execute(("cp '%s/app.db' '%s/%s'"):format(folder, folder, other)) end
        for _, file in ipairs {{"app.db", 10}, {other, 20}} do
            open(file[1])
            count("/", file[2])
            db:close()
        end
        open("app.db")
        execute("ATTACH '%s/%s' AS other", folder, other)
        if mode ~= "ordinary" then rows("SELECT * FROM counter_sync('other')") end
        return rows("SELECT a.hits, b.hits FROM main.page_views AS a, other.page_views AS b "
            .. "WHERE a.path = '/' AND b.path = '/'")
    end},
}

local function first_line(message) return tostring(message):match("[^\n]*") end

local actions = {}

function actions.steps()
    open("app.db")
    for _, step in ipairs(steps) do
        local done, result = pcall(step[2])
        if not done then result = "error: " .. first_line(result) end
        print(step[1] .. "\t" .. result)
    end
end

function actions.pool()
    open("pool.db")
    rows("PRAGMA journal_mode = wal")
    create()
    add("/", 0, 0)
    db:close()
end

function actions.writers()
    local locked, other = 0, 0
    local process = io.open("/proc/self/stat"):read("n")
    for n = 1, tonumber(transactions) do
        local done, message = pcall(function()
            open("pool.db")
            transaction(function()
                count("/", 1)
                add(("/%d-%d"):format(process, n), 1, 0)
            end)
        end)
        if not done and message:lower():match("locked") or not done and message:lower():match("busy") then
            locked = locked + 1
        elseif not done then
            other = other + 1
            if other == 1 then io.stderr:write(first_line(message), "\n") end
        end
        db:close()
    end
    print("transactions\t" .. transactions .. "\nlock errors\t" .. locked .. "\nother errors\t" .. other)
end

function actions.version()
    open("version.db")
    print(driver._VERSION:match("[%d.]+") .. " (SQLite " .. rows("SELECT sqlite_version()") .. ")")
end

actions[action]()
