# Steps.pm - the steps of tests/clients/README.md by DBI, in SQL with bound values. A class that
# has an interface of its own inherits them and overrides the steps that this interface has.
package Steps;
use strict;
use warnings;
use DBD::SQLite;
use DBI;
use File::Copy;

our $COUNTER_TABLE = "CREATE VIRTUAL TABLE page_views USING counter(path TEXT NOT NULL PRIMARY KEY, "
    . "hits COUNTER NOT NULL DEFAULT 0, bytes COUNTER NOT NULL DEFAULT 0)";
our $ORDINARY_TABLE = "CREATE TABLE page_views(path TEXT NOT NULL PRIMARY KEY, "
    . "hits INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0)";
our @BULK = map { ["/" . ("a" .. "e")[$_ - 1], $_, 10 * $_] } 1 .. 5;
our @PAGES = (["/", "Home"], ["/c", "Chapter"]);
our @COLUMNS = qw(path hits bytes);

my @steps = ("create", "introspect", "insert", "insert defaults", "bulk insert", "increment", "save", "upsert",
    "insert or ignore", "replace", "returning", "delete and create", "join", "paging", "aggregate", "nested",
    "rollback", "contents", "merge");

sub main {
    my ($class, $library, $folder, $mode, $action, @rest) = @_;
    chdir $folder or die "$folder: $!";
    my $self = bless {library => $library, mode => $mode}, $class;
    $self->$action(@rest);
}

sub shown { join ";", map { join "|", map { $_ // "NULL" } @$_ } @_ }
sub first_line { my ($line) = split /\n/, $_[0]; $line }

sub connected {
    my ($self, $db) = @_;
    $db->sqlite_enable_load_extension(1);
    $db->sqlite_load_extension($self->{library});
}

sub open {
    my ($self, $file) = @_;
    $self->{db} = DBI->connect("dbi:SQLite:dbname=$file", "", "", {RaiseError => 1, PrintError => 0});
    $self->{db}->sqlite_busy_timeout(10000);
    $self->connected($self->{db});
}

sub close { $_[0]{db}->disconnect }
sub db { $_[0]{db} }

sub version { $_[0]->print_version($DBD::SQLite::VERSION) }

sub print_version {
    my ($self, $version) = @_;
    my ($sqlite) = DBI->connect("dbi:SQLite:dbname=:memory:")->selectrow_array("SELECT sqlite_version()");
    print "$version (SQLite $sqlite)\n";
}

sub execute { my ($self, $sql, @values) = @_; $self->db->do($sql, undef, @values) }
sub rows { my ($self, $sql, @values) = @_; @{$self->db->selectall_arrayref($sql, undef, @values)} }
sub row { $_[0]->rows("SELECT path, hits, bytes FROM page_views WHERE path = ?", $_[1]) }
sub recover { my $db = $_[0]->db; $db->rollback unless $db->{AutoCommit} }

sub steps {
    my $self = shift;
    $self->open("app.db");
    for my $step (@steps) {
        (my $method = "step_$step") =~ tr/ /_/;
        my $result = eval { shown($self->$method) } // do {
            my $message = first_line($@);
            eval { $self->recover };
            "error: $message";
        };
        print "$step\t$result\n";
    }
    $self->close;
}

sub create_ordinary { $_[0]->execute($ORDINARY_TABLE) }

sub step_create {
    my $self = shift;
    if ($self->{mode} eq "counter") { $self->execute($COUNTER_TABLE) } else { $self->create_ordinary }
    $self->rows($ENV{CLIENT_TRACK}) if $ENV{CLIENT_TRACK};
    return ["created"];
}

sub step_introspect {
    my $columns = $_[0]->db->column_info(undef, undef, "page_views", "%")->fetchall_arrayref({});
    return map { [$_->{COLUMN_NAME}, $_->{TYPE_NAME}] } @$columns;
}

sub step_insert {
    my $self = shift;
    $self->execute("INSERT INTO page_views(path, hits, bytes) VALUES (?, ?, ?)", "/", 1, 100);
    return $self->row("/");
}

sub step_insert_defaults {
    my $self = shift;
    $self->execute("INSERT INTO page_views(path) VALUES (?)", "/key-only");
    return $self->row("/key-only");
}

sub step_bulk_insert {
    my $self = shift;
    my $insert = $self->db->prepare("INSERT INTO page_views(path, hits, bytes) VALUES (?, ?, ?)");
    my @rows = @BULK;
    $insert->execute_for_fetch(sub { shift @rows });
    return $self->rows("SELECT * FROM page_views WHERE path BETWEEN '/a' AND '/e' ORDER BY path");
}

sub count {
    my ($self, $path, $n) = @_;
    $self->execute("UPDATE page_views SET hits = hits + ? WHERE path = ?", $n, $path);
}

sub step_increment {
    my $self = shift;
    return [$self->count("/", 1)], $self->row("/");
}

sub step_save {
    my $self = shift;
    my $view = $self->db->selectrow_hashref("SELECT * FROM page_views WHERE path = ?", undef, "/");
    $view->{hits} = 42;
    $self->execute("UPDATE page_views SET hits = ?, bytes = ? WHERE path = ?", @$view{qw(hits bytes path)});
    return $self->row("/");
}

# Does something with a row of its own, which is deleted even if that fails.
sub with_row {
    my ($self, $path, $does) = @_;
    $self->execute("INSERT INTO page_views(path, hits) VALUES (?, ?)", $path, 1);
    my @result = eval { $does->() };
    my $error = $@;
    $self->execute("DELETE FROM page_views WHERE path = ?", $path);
    die $error if $error;
    return @result;
}

sub step_upsert {
    my $self = shift;
    return $self->with_row("/upsert", sub {
        $self->execute("INSERT INTO page_views(path, hits) VALUES (?, ?) "
            . "ON CONFLICT (path) DO UPDATE SET hits = hits + excluded.hits", "/upsert", 5);
        $self->row("/upsert");
    });
}

sub step_insert_or_ignore {
    my $self = shift;
    $self->execute("INSERT OR IGNORE INTO page_views(path, hits, bytes) VALUES (?, ?, ?)", "/", 5, 5);
    return $self->row("/");
}

sub step_replace {
    my $self = shift;
    $self->execute("INSERT OR REPLACE INTO page_views(path, hits) VALUES (?, ?)", "/b", 7);
    return $self->row("/b");
}

sub step_returning {
    my $self = shift;
    return $self->with_row("/returning", sub {
        $self->rows("UPDATE page_views SET hits = hits + 1 WHERE path = ? RETURNING hits", "/returning");
    });
}

sub step_delete_and_create {
    my $self = shift;
    my $deleted = $self->execute("DELETE FROM page_views WHERE path = ?", "/a");
    $self->execute("INSERT INTO page_views(path, hits) VALUES (?, ?)", "/a", 3);
    return [$deleted], $self->row("/a");
}

sub step_join {
    my $self = shift;
    $self->execute("CREATE TABLE pages(path TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL)");
    $self->execute("INSERT INTO pages(path, title) VALUES (?, ?)", @$_) for @PAGES;
    return $self->rows("SELECT title, hits FROM pages JOIN page_views USING (path) ORDER BY title");
}

sub step_paging { $_[0]->rows("SELECT path, hits FROM page_views ORDER BY path LIMIT ? OFFSET ?", 2, 2) }
sub step_aggregate { $_[0]->rows("SELECT sum(hits), count(*) FROM page_views") }
sub step_contents { $_[0]->rows("SELECT * FROM page_views ORDER BY path") }

sub step_nested {
    my $self = shift;
    $self->db->begin_work;
    $self->count("/c", 1);
    $self->execute("SAVEPOINT part");
    $self->count("/c", 10);
    $self->execute("ROLLBACK TO part");
    $self->execute("RELEASE part");
    $self->execute("SAVEPOINT part");
    $self->count("/c", 100);
    $self->execute("RELEASE part");
    $self->db->commit;
    return $self->row("/c");
}

sub step_rollback {
    my $self = shift;
    $self->db->begin_work;
    $self->count("/", 1000);
    $self->db->rollback;
    return $self->row("/");
}

# Two copies count apart and are merged; an ordinary table counts in one file. Both values agree.
sub step_merge {
    my $self = shift;
    $self->close;
    my $other = $self->{mode} eq "ordinary" ? "app.db" : "other.db";
    copy("app.db", $other) if $other ne "app.db";
    for (["app.db", 10], [$other, 20]) {
        my ($file, $n) = @$_;
        $self->open($file);
        $self->count("/", $n);
        $self->close;
    }
    $self->open("app.db");
    $self->execute("ATTACH ? AS other", $other);
    $self->rows("SELECT * FROM counter_sync('other')") if $self->{mode} ne "ordinary";
    return $self->rows("SELECT a.hits, b.hits FROM main.page_views AS a, other.page_views AS b "
        . "WHERE a.path = '/' AND b.path = '/'");
}

sub pool {
    my $self = shift;
    $self->open("pool.db");
    $self->rows("PRAGMA journal_mode = wal");
    $self->step_create;
    $self->execute("INSERT INTO page_views(path, hits, bytes) VALUES ('/', 0, 0)");
    $self->close;
}

sub write {
    my ($self, $path) = @_;
    $self->db->begin_work;
    $self->count("/", 1);
    $self->execute("INSERT INTO page_views(path, hits) VALUES (?, ?)", $path, 1);
    $self->db->commit;
}

sub writers {
    my ($self, $transactions) = @_;
    my ($locked, $other) = (0, 0);
    for my $n (1 .. $transactions) {
        next if eval { $self->open("pool.db"); $self->write("/$$-$n"); $self->close; 1 };
        my $message = first_line($@);
        eval { $self->recover; $self->close };
        if ($message =~ /locked|busy/i) { $locked++ }
        elsif (!$other++) { print STDERR "$message\n" }
    }
    print "transactions\t$transactions\nlock errors\t$locked\nother errors\t$other\n";
}

1;
