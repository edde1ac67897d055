-- A Rails application as ActiveRecord writes it: join tables without a key, a counter cache, polymorphic references.
CREATE TABLE "schema_migrations" ("version" varchar NOT NULL PRIMARY KEY);
CREATE TABLE "ar_internal_metadata" ("key" varchar NOT NULL PRIMARY KEY, "value" varchar, "created_at" datetime(6) NOT NULL, "updated_at" datetime(6) NOT NULL);
CREATE TABLE "users" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "email" varchar DEFAULT '' NOT NULL, "name" varchar, "sign_in_count" integer DEFAULT 0 NOT NULL, "created_at" datetime(6) NOT NULL, "updated_at" datetime(6) NOT NULL);
CREATE UNIQUE INDEX "index_users_on_email" ON "users" ("email");
CREATE TABLE "posts" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "user_id" integer NOT NULL, "title" varchar, "body" text, "comments_count" integer DEFAULT 0 NOT NULL, "lock_version" integer DEFAULT 0 NOT NULL, "published" boolean DEFAULT 0 NOT NULL, "created_at" datetime(6) NOT NULL, "updated_at" datetime(6) NOT NULL, CONSTRAINT "fk_rails_5b5ddfd518"
FOREIGN KEY ("user_id")
  REFERENCES "users" ("id")
);
CREATE INDEX "index_posts_on_user_id" ON "posts" ("user_id");
CREATE TABLE "comments" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "post_id" integer NOT NULL, "user_id" integer, "parent_id" integer, "body" text NOT NULL, "created_at" datetime(6) NOT NULL, CONSTRAINT "fk_rails_2fd19c0db7"
FOREIGN KEY ("post_id")
  REFERENCES "posts" ("id")
, CONSTRAINT "fk_rails_31554e7034"
FOREIGN KEY ("parent_id")
  REFERENCES "comments" ("id")
 ON DELETE CASCADE);
CREATE INDEX "index_comments_on_post_id" ON "comments" ("post_id");
CREATE TABLE "tags" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "name" varchar COLLATE NOCASE);
CREATE TABLE "posts_tags" ("post_id" integer NOT NULL, "tag_id" integer NOT NULL);
CREATE INDEX "index_posts_tags_on_tag_id" ON "posts_tags" ("tag_id");
CREATE TABLE "memberships" ("group_id" integer NOT NULL, "user_id" integer NOT NULL, "role" varchar DEFAULT 'member' NOT NULL);
CREATE UNIQUE INDEX "index_memberships_on_group_and_user" ON "memberships" ("group_id", "user_id");
CREATE TABLE "groups" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "name" varchar NOT NULL);
CREATE TABLE "pictures" ("id" varchar NOT NULL PRIMARY KEY, "imageable_type" varchar, "imageable_id" integer, "byte_size" bigint NOT NULL);
CREATE TABLE "solid_queue_jobs" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "queue_name" varchar NOT NULL, "class_name" varchar NOT NULL, "arguments" text);
INSERT INTO "schema_migrations" VALUES ('20240101000001'), ('20240102000002');
INSERT INTO "ar_internal_metadata" VALUES ('environment', 'production', '2024-01-01 00:00:00', '2024-01-01 00:00:00');
INSERT INTO "users" VALUES (1, 'ann@example.org', 'Ann', 12, '2024-01-01 00:00:00', '2024-01-01 00:00:00'), (2, 'bob@example.org', 'Bob', 3, '2024-01-01 00:00:00', '2024-01-01 00:00:00');
INSERT INTO "posts" VALUES (1, 1, 'Hello', 'First post', 2, 4, 1, '2024-01-02 00:00:00', '2024-01-02 00:00:00'), (2, 2, 'Bye', NULL, 0, 0, 0, '2024-01-03 00:00:00', '2024-01-03 00:00:00');
INSERT INTO "comments" VALUES (1, 1, 2, NULL, 'Nice', '2024-01-02 00:00:00'), (2, 1, 1, 1, 'Thanks', '2024-01-02 00:00:00');
INSERT INTO "tags" VALUES (1, 'ruby'), (2, 'sqlite');
INSERT INTO "posts_tags" VALUES (1, 1), (1, 2), (2, 2);
INSERT INTO "groups" VALUES (1, 'Editors');
INSERT INTO "memberships" VALUES (1, 1, 'owner'), (1, 2, 'member');
INSERT INTO "pictures" VALUES ('0b1f7a52-5a0e-4c57-9d1e-3f1c1f6f2a11', 'Post', 1, 52344);
INSERT INTO "solid_queue_jobs" VALUES (1, 'default', 'MailJob', '[]');
