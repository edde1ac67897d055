# steps.rb - the steps of tests/clients/README.md, for clients written in Ruby. A client has a method
# for each of them, open(file), close, execute(sql), rows(sql) and write(path).
require "fileutils"

class Steps
  COUNTER_TABLE = "CREATE VIRTUAL TABLE page_views USING counter(path TEXT NOT NULL PRIMARY KEY, " \
                  "hits COUNTER NOT NULL DEFAULT 0, bytes COUNTER NOT NULL DEFAULT 0)"
  STEPS = ["create", "introspect", "insert", "insert defaults", "bulk insert", "increment", "save", "upsert",
           "insert or ignore", "replace", "returning", "delete and create", "join", "paging", "aggregate",
           "nested", "rollback", "contents", "merge"]
  BULK = ("a".."e").each.with_index(1).map { |letter, n| {path: "/#{letter}", hits: n, bytes: 10 * n} }
  PAGES = [{path: "/", title: "Home"}, {path: "/c", title: "Chapter"}]
  COLUMNS = %i[path hits bytes]

  def self.main
    library, folder, mode, action, *rest = ARGV
    Dir.chdir(folder)
    new(library, mode).send(action, *rest)
  end

  def initialize(library, mode)
    @library, @mode = library, mode
  end

  def steps
    open("app.db")
    STEPS.each do |step|
      result = begin
        shown(send("step_#{step.tr(' ', '_')}"))
      rescue StandardError => error
        "error: #{first_line(error)}"
      end
      puts "#{step}\t#{result}"
    end
    close
  end

  def shown(result)
    result.map { |row| row.map { |value| value.nil? ? "NULL" : value }.join("|") }.join(";")
  end

  def first_line(error)
    error.message.lines.first.chomp
  end

  def step_create
    if @mode == "counter"
      execute(COUNTER_TABLE)
    else
      create_ordinary
    end
    rows(ENV["CLIENT_TRACK"]) if ENV["CLIENT_TRACK"]
    [["created"]]
  end

  # Two copies count apart and are merged; an ordinary table counts in one file. Both values agree.
  def step_merge
    close
    other = @mode == "ordinary" ? "app.db" : "other.db"
    FileUtils.cp("app.db", other) unless other == "app.db"
    {10 => "app.db", 20 => other}.each do |n, file|
      open(file)
      count("/", n)
      close
    end
    open("app.db")
    execute("ATTACH '#{other}' AS other")
    rows("SELECT * FROM counter_sync('other')") unless @mode == "ordinary"
    rows("SELECT a.hits AS here, b.hits AS there FROM main.page_views AS a, other.page_views AS b " \
         "WHERE a.path = '/' AND b.path = '/'")
  end

  # Rows whose keys SQLite gives out, before a merge and after it, each read by the key that the client told.
  def keys
    open("app.db")
    keys = ("a".."f").map do |item|
      rows("SELECT * FROM counter_sync('other.db')") if item == "d"
      [item, add_order(item)]
    end
    keys.each { |item, key| puts "#{item}\t#{key}|#{order(key)}" }
    close
  end

  def pool
    open("pool.db")
    rows("PRAGMA journal_mode = wal")
    step_create
    execute("INSERT INTO page_views(path, hits, bytes) VALUES ('/', 0, 0)")
    close
  end

  def writers(transactions)
    errors = Hash.new(0)
    transactions.to_i.times do |n|
      open("pool.db")
      write("/#{$$}-#{n}")
    rescue StandardError => error
      kind = error.message =~ /locked|busy/i ? "lock" : "other"
      errors[kind] += 1
      $stderr.puts first_line(error) if kind == "other" && errors[kind] == 1
    ensure
      close
    end
    puts "transactions\t#{transactions}", "lock errors\t#{errors["lock"]}", "other errors\t#{errors["other"]}"
  end
end
