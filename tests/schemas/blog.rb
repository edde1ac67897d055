# blog.rb - the application of rails.sql by ActiveRecord: a line with [file, call, values...], a line with the answer. The library
# of the counters is the first argument.
require "active_record"
require "active_record/connection_adapters/sqlite3_adapter"
require "json"

module LoadCounter
  def configure_connection
    super
    db = @raw_connection || @connection
    db.enable_load_extension(true)
    db.load_extension(ARGV[0])
    db.enable_load_extension(false)
    db.execute("PRAGMA synchronous = OFF")
  end
end
ActiveRecord::ConnectionAdapters::SQLite3Adapter.prepend(LoadCounter)

class User < ActiveRecord::Base
  has_many :posts
  has_many :memberships
end

class Tag < ActiveRecord::Base
end

class Post < ActiveRecord::Base
  belongs_to :user
  has_many :comments
  has_and_belongs_to_many :tags
  has_many :pictures, as: :imageable
end

class Comment < ActiveRecord::Base
  belongs_to :post, counter_cache: true
  belongs_to :user, optional: true
  belongs_to :parent, class_name: "Comment", optional: true
end

class Group < ActiveRecord::Base
  has_many :memberships
end

class Membership < ActiveRecord::Base
  belongs_to :group
  belongs_to :user
end

class Picture < ActiveRecord::Base
  belongs_to :imageable, polymorphic: true, optional: true
end

module Calls
  module_function

  def user(email, name) = User.create!(email: email, name: name).id
  def sign_in(user) = User.update_counters(user, sign_in_count: 1)
  def email(user, email) = User.find(user).update!(email: email)

  def post(user, title, tags)
    Post.transaction do
      post = User.find(user).posts.create!(title: title)
      tags.each { |name| tag(post.id, name) }
      post.id
    end
  end

  # With lock_version, which ActiveRecord counts.
  def edit(post, body) = Post.find(post).update!(body: body, published: true)

  def comment(post, parent, body)
    Post.find(post).comments.create!(parent_id: parent, body: body).id
  end

  # Those below it go by the foreign key.
  def delete_comment(comment) = Comment.find(comment).destroy!

  def delete_post(post)
    Post.transaction do
      post = Post.find(post)
      post.tags.clear
      post.destroy!
    end
  end

  def tag(post, name)
    tag = Tag.find_or_create_by!(name: name)
    post = Post.find(post)
    post.tags << tag unless post.tags.include?(tag)
  end

  def untag(post) = Post.find(post).tags.clear
  def set_tags(post, tags) = Post.find(post).update!(tags: Tag.where(name: tags).to_a)

  def group(name, user)
    group = Group.create!(name: name)
    group.memberships.create!(user_id: user, role: "owner")
    group.id
  end

  def member(group, user, role) = Membership.upsert({group_id: group, user_id: user, role: role}, unique_by: [:group_id, :user_id])
  def picture(post, id) = Picture.create!(id: id, imageable: Post.find(post), byte_size: 1).id

  def undone(user, email)
    User.transaction do
      User.create!(email: email)
      User.update_counters(user, sign_in_count: 100)
      raise ActiveRecord::Rollback
    end
  end

  def half_undone(user, email)
    User.transaction do
      key = User.create!(email: email).id
      User.transaction(requires_new: true) do
        User.update_counters(user, sign_in_count: 100)
        raise ActiveRecord::Rollback
      end
      key
    end
  end
end

$stdin.each_line do |line|
  path, call, *values = JSON.parse(line)
  ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: path, timeout: 10_000)
  begin
    value = Calls.public_send(call, *values)
    answer = {value: value.is_a?(Integer) || value.is_a?(String) ? value : nil}
  rescue ActiveRecord::StatementInvalid => error
    answer = {error: error.message}
  end
  puts answer.to_json
  $stdout.flush
end
