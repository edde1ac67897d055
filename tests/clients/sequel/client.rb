# client.rb - Sequel; its option after_connect loads the extension.
require "sequel"
require_relative "../ruby/steps"

class Client < Steps
  def version
    open("version.db")
    puts "#{Sequel.version} (SQLite #{rows("SELECT sqlite_version()").first.first})"
  end

  def open(file)
    @db = Sequel.sqlite(file, timeout: 10_000, after_connect: lambda { |connection|
      connection.enable_load_extension(true)
      connection.load_extension(@library)
      connection.enable_load_extension(false)
    })
    @views = @db[:page_views]
  end

  def close
    @db.disconnect
    Sequel.synchronize { Sequel::DATABASES.delete(@db) }
  end

  def execute(sql) = @db.run(sql)
  def rows(sql) = @db[sql].map(&:values)
  def row(path) = @views.where(path: path).select_map(COLUMNS)

  def create_ordinary
    @db.create_table(:page_views) do
      String :path, text: true, null: false, primary_key: true
      Integer :hits, null: false, default: 0
      Integer :bytes, null: false, default: 0
    end
  end

  # A model asks the table for its columns, so it is made behind it.
  def model
    @model ||= Class.new(Sequel::Model(@views)) do
      set_primary_key :path
      unrestrict_primary_key
    end
  end

  def step_introspect
    @db.schema(:page_views).map { |name, column| [name, column[:type] || column[:db_type]] }
  end

  def step_insert
    model.create(path: "/", hits: 1, bytes: 100)
    row("/")
  end

  def step_insert_defaults
    view = model.create(path: "/key-only")
    [[view.path, view.hits, view.bytes]]
  end

  def step_bulk_insert
    @views.multi_insert(BULK)
    @views.where(path: "/a".."/e").order(:path).select_map(COLUMNS)
  end

  def step_increment
    [[count("/", 1)], *row("/")]
  end

  def count(path, n)
    @views.where(path: path).update(hits: Sequel[:hits] + n)
  end

  def step_save
    view = model["/"]
    view.hits = 42
    view.save
    row("/")
  end

  def step_upsert
    @views.insert(path: "/upsert", hits: 1)
    @views.insert_conflict(target: :path, update: {hits: Sequel[:page_views][:hits] + Sequel[:excluded][:hits]})
          .insert(path: "/upsert", hits: 5)
    row("/upsert")
  ensure
    @views.where(path: "/upsert").delete
  end

  def step_insert_or_ignore
    @views.insert_ignore.insert(path: "/", hits: 5, bytes: 5)
    row("/")
  end

  def step_replace
    @views.replace(path: "/b", hits: 7)
    row("/b")
  end

  def step_returning
    @views.insert(path: "/returning", hits: 1)
    @views.where(path: "/returning").returning(:hits).update(hits: Sequel[:hits] + 1).map(&:values)
  ensure
    @views.where(path: "/returning").delete
  end

  def step_delete_and_create
    model["/a"].destroy
    model.create(path: "/a", hits: 3)
    row("/a")
  end

  def step_join
    @db.create_table(:pages) do
      String :path, text: true, null: false, primary_key: true
      String :title, text: true, null: false
    end
    @db[:pages].multi_insert(PAGES)
    @db[:pages].join(:page_views, path: :path).order(:title).select_map(%i[title hits])
  end

  def step_paging = @views.order(:path).limit(2, 2).select_map(%i[path hits])
  def step_aggregate = [[@views.sum(:hits), @views.count]]
  def step_contents = @views.order(:path).select_map(COLUMNS)

  def step_nested
    @db.transaction do
      count("/c", 1)
      @db.transaction(savepoint: true) do
        count("/c", 10)
        raise Sequel::Rollback
      end
      @db.transaction(savepoint: true) { count("/c", 100) }
    end
    row("/c")
  end

  def step_rollback
    @db.transaction do
      count("/", 1000)
      raise Sequel::Rollback
    end
    row("/")
  end

  def write(path)
    @db.transaction do
      count("/", 1)
      @views.insert(path: path, hits: 1)
    end
  end
end

Client.main
