# client.pl - DBI with DBD::SQLite, which binds numbers as texts and begins transactions IMMEDIATE.
use Steps;

Steps->main(@ARGV);
