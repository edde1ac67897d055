# client.pl - DBIx::Class; on_connect_call loads the extension. Without the option for DBD::SQLite its
# transactions would begin IMMEDIATE.
use strict;
use warnings;

package Site::PageView;
use base "DBIx::Class::Core";
__PACKAGE__->table("page_views");
__PACKAGE__->add_columns(
    path => {data_type => "text"},
    hits => {data_type => "integer", default_value => 0},
    bytes => {data_type => "integer", default_value => 0});
__PACKAGE__->set_primary_key("path");

package Site::Page;
use base "DBIx::Class::Core";
__PACKAGE__->table("pages");
__PACKAGE__->add_columns(path => {data_type => "text"}, title => {data_type => "text"});
__PACKAGE__->set_primary_key("path");
__PACKAGE__->belongs_to(view => "Site::PageView", "path");

package Site;
use base "DBIx::Class::Schema";
__PACKAGE__->register_class(PageView => "Site::PageView");
__PACKAGE__->register_class(Page => "Site::Page");

package Client;
use base "Steps";

sub version { $_[0]->print_version($DBIx::Class::VERSION) }

sub open {
    my ($self, $file) = @_;
    $self->{site} = Site->connect("dbi:SQLite:dbname=$file", "", "", {sqlite_use_immediate_transaction => 0}, {
        on_connect_call => sub {
            my $db = shift->dbh;
            $db->sqlite_busy_timeout(10000);
            $self->connected($db);
        },
    });
    $self->{views} = $self->{site}->resultset("PageView");
}

sub close { $_[0]{site}->storage->disconnect }
sub db { $_[0]{site}->storage->dbh }

sub row {
    my ($self, $path) = @_;
    return $self->values_of($self->{views}->search({path => $path}));
}

sub values_of {
    my ($self, @views) = @_;
    return map { my $view = $_; [map { $view->get_column($_) } @Steps::COLUMNS] } @views;
}

sub step_introspect {
    my $info = $_[0]{site}->storage->columns_info_for("page_views");
    return map { [$_, $info->{$_}{data_type}] } @Steps::COLUMNS;
}

sub step_insert {
    my $self = shift;
    $self->{views}->create({path => "/", hits => 1, bytes => 100});
    return $self->row("/");
}

sub step_insert_defaults {
    my $self = shift;
    my $view = $self->{views}->create({path => "/key-only"})->discard_changes;
    return [$view->path, $view->hits, $view->bytes];
}

sub step_bulk_insert {
    my $self = shift;
    $self->{views}->populate([\@Steps::COLUMNS, @Steps::BULK]);
    return $self->values_of($self->{views}->search({path => {-between => ["/a", "/e"]}}, {order_by => "path"}));
}

sub count {
    my ($self, $path, $n) = @_;
    $self->{views}->search({path => $path})->update({hits => \["hits + ?", $n]});
}

sub step_save {
    my $self = shift;
    my $view = $self->{views}->find("/");
    $view->hits(42);
    $view->make_column_dirty("bytes");
    $view->update;
    return $self->row("/");
}

sub step_upsert {
    my $self = shift;
    $self->{views}->update_or_create({path => "/upsert", hits => 1});
    my $view = $self->{views}->update_or_create({path => "/upsert", hits => 6});
    my @result = $self->row("/upsert");
    $view->delete;
    return @result;
}

sub step_returning {
    my $self = shift;
    my $view = $self->{views}->create({path => "/returning", hits => 1});
    $view->update({hits => \"hits + 1"});
    my $hits = $view->discard_changes->hits;
    $view->delete;
    return [$hits];
}

sub step_delete_and_create {
    my $self = shift;
    $self->{views}->find("/a")->delete;
    $self->{views}->create({path => "/a", hits => 3});
    return $self->row("/a");
}

sub step_join {
    my $self = shift;
    $self->execute("CREATE TABLE pages(path TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL)");
    my $pages = $self->{site}->resultset("Page");
    $pages->populate([["path", "title"], @Steps::PAGES]);
    return map { [$_->title, $_->view->hits] } $pages->search({}, {prefetch => "view", order_by => "title"})->all;
}

sub step_paging {
    my $views = $_[0]{views}->search({}, {order_by => "path", rows => 2, offset => 2});
    return map { [$_->path, $_->hits] } $views->all;
}

sub step_aggregate { [$_[0]{views}->get_column("hits")->sum, $_[0]{views}->count] }
sub step_contents { $_[0]->values_of($_[0]{views}->search({}, {order_by => "path"})) }

sub step_nested {
    my $self = shift;
    my $storage = $self->{site}->storage;
    local $storage->{auto_savepoint} = 1;
    $self->{site}->txn_do(sub {
        $self->count("/c", 1);
        eval { $self->{site}->txn_do(sub { $self->count("/c", 10); die "taken back" }) };
        $self->{site}->txn_do(sub { $self->count("/c", 100) });
    });
    return $self->row("/c");
}

sub step_rollback {
    my $self = shift;
    eval { $self->{site}->txn_do(sub { $self->count("/", 1000); die "taken back" }) };
    return $self->row("/");
}

sub write {
    my ($self, $path) = @_;
    $self->{site}->txn_do(sub {
        $self->count("/", 1);
        $self->{views}->create({path => $path, hits => 1});
    });
}

package main;

Client->main(@ARGV);
