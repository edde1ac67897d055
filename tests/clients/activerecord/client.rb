# client.rb - ActiveRecord; the adapter's configure_connection loads the extension.
require "active_record"
require "active_record/connection_adapters/sqlite3_adapter"
require_relative "../ruby/steps"

module LoadCounter
  class << self
    attr_accessor :library
  end

  def configure_connection
    super
    @connection.enable_load_extension(true)
    @connection.load_extension(LoadCounter.library)
    @connection.enable_load_extension(false)
  end
end
ActiveRecord::ConnectionAdapters::SQLite3Adapter.prepend(LoadCounter)

class PageView < ActiveRecord::Base
  self.primary_key = "path"
end

class Page < ActiveRecord::Base
  self.primary_key = "path"
  belongs_to :view, class_name: "PageView", foreign_key: "path"
end

class Order < ActiveRecord::Base
end

class CreatePageViews < ActiveRecord::Migration[6.1]
  def change
    create_table :page_views, id: false do |table|
      table.text :path, null: false, primary_key: true
      table.integer :hits, :bytes, null: false, default: 0
    end
  end
end

class CreatePages < ActiveRecord::Migration[6.1]
  def change
    create_table :pages, id: false do |table|
      table.text :path, null: false, primary_key: true
      table.text :title, null: false
    end
  end
end

class Client < Steps
  def version
    open("version.db")
    puts "#{ActiveRecord.version} (SQLite #{rows("SELECT sqlite_version()").first.first})"
  end

  def open(file)
    LoadCounter.library = @library
    ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: File.absolute_path(file), timeout: 10_000)
    ActiveRecord::Migration.verbose = false
  end

  def add_order(item)
    Order.create!(item: item).id
  end

  def order(key)
    Order.find(key).item
  end

  def close
    ActiveRecord::Base.remove_connection
  end

  def db = ActiveRecord::Base.connection
  def execute(sql) = db.execute(sql)
  def rows(sql) = db.select_rows(sql)
  def row(path) = PageView.where(path: path).pluck(*COLUMNS)
  def create_ordinary = CreatePageViews.migrate(:up)

  def step_introspect
    PageView.reset_column_information
    PageView.columns.map { |column| [column.name, column.type || column.sql_type] }
  end

  def step_insert
    PageView.create!(path: "/", hits: 1, bytes: 100)
    row("/")
  end

  def step_insert_defaults
    view = PageView.create!(path: "/key-only").reload
    [[view.path, view.hits, view.bytes]]
  end

  # insert_all, insert and upsert look for a unique index, which a virtual table does not have.
  def step_bulk_insert
    PageView.create!(BULK)
    PageView.where(path: "/a".."/e").order(:path).pluck(*COLUMNS)
  end

  def step_increment
    [[PageView.update_counters("/", hits: 1)], *row("/")]
  end

  def count(path, n)
    PageView.where(path: path).update_all(["hits = hits + ?", n])
  end

  def step_save
    view = PageView.find("/")
    view.hits = 42
    view.bytes_will_change!
    view.save!
    row("/")
  end

  def step_upsert
    view = PageView.create!(path: "/upsert", hits: 1)
    PageView.upsert({path: "/upsert", hits: 6, bytes: 0})
    row("/upsert")
  ensure
    view.destroy
  end

  def step_insert_or_ignore
    PageView.insert({path: "/", hits: 5, bytes: 5})
    row("/")
  end

  def step_replace
    execute("INSERT OR REPLACE INTO page_views(path, hits) VALUES ('/b', 7)")
    row("/b")
  end

  def step_returning
    view = PageView.create!(path: "/returning", hits: 1)
    view.increment!(:hits)
    [[view.reload.hits]]
  ensure
    view.destroy
  end

  def step_delete_and_create
    PageView.find("/a").destroy!
    PageView.create!(path: "/a", hits: 3)
    row("/a")
  end

  def step_join
    CreatePages.migrate(:up)
    Page.insert_all!(PAGES)
    Page.joins(:view).order(:title).pluck(:title, "page_views.hits")
  end

  def step_paging = PageView.order(:path).limit(2).offset(2).pluck(:path, :hits)
  def step_aggregate = [[PageView.sum(:hits), PageView.count]]
  def step_contents = PageView.order(:path).pluck(*COLUMNS)

  def step_nested
    PageView.transaction do
      count("/c", 1)
      PageView.transaction(requires_new: true) do
        count("/c", 10)
        raise ActiveRecord::Rollback
      end
      PageView.transaction(requires_new: true) { count("/c", 100) }
    end
    row("/c")
  end

  def step_rollback
    PageView.transaction do
      count("/", 1000)
      raise ActiveRecord::Rollback
    end
    row("/")
  end

  # The model has asked for its columns by then, as in an application that loads its classes at the start.
  def write(path)
    PageView.columns
    PageView.transaction do
      count("/", 1)
      PageView.create!(path: path, hits: 1)
    end
  end
end

Client.main
