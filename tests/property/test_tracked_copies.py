"""test_tracked_copies.py - the copies and restores of test_copies.py, of files whose counters are those of a tracked
table."""

import pytest

import test_copies
from conftest import EXAMPLES
from test_copies import (  # noqa: F401 (each is played here with the fixture of this file)
    test_a_backup_into_the_connection_of_another_replica_gives_that_a_new_id,
    test_a_clone_of_a_clone_takes_an_id_of_its_own,
    test_a_connection_that_read_a_copy_first_reads_the_id_that_it_takes_afterwards,
    test_a_copy_of_a_closed_file_takes_an_id_of_its_own,
    test_a_copy_of_a_live_file_takes_an_id_of_its_own,
    test_a_copy_that_merges_before_it_counts_has_its_own_id_too,
    test_a_copy_whose_first_count_is_rolled_back_counts_under_one_id_of_its_own,
    test_a_long_honest_chain_of_copies_counts_on,
    test_a_memory_database_between_two_backups_counts_under_its_own_id,
    test_a_replica_that_is_overwritten_by_another_one_takes_a_new_id,
    test_a_restore_is_followed_by_many_more_counts_than_were_lost,
    test_a_restore_through_the_connection_that_counts_is_noticed,
    test_a_restored_file_takes_a_new_id,
    test_copies_under_one_schema_name_are_told_apart,
    test_one_backup_is_restored_again_and_again,
    test_two_clones_meet_only_through_a_third_file,
)


class TrackedFleet(test_copies.Fleet):

    def see(self, name):
        with self.use(name) as db:
            assert test_copies.rows(db, "SELECT * FROM counter_tracked WHERE state <> 'tracked'") == []
        return super().see(name)


@pytest.fixture(params=["WAL", "DELETE"] if EXAMPLES > 500 else ["WAL"])
def fleet(request, tmp_path, monkeypatch):
    monkeypatch.setattr(test_copies, "TABLE", "CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)")
    monkeypatch.setattr(test_copies, "COUNTERS", "t_counters")
    monkeypatch.setattr(test_copies, "ADD",
                        "INSERT INTO t VALUES ('k', ?) ON CONFLICT(k) DO UPDATE SET n = n + excluded.n")
    monkeypatch.setattr(test_copies, "MAKE", ["SELECT counter_track('t', 'n')"])
    monkeypatch.setattr(test_copies, "CHECK", "INSERT INTO t_counters(t_counters) VALUES ('integrity-check')")
    monkeypatch.setattr(test_copies, "SHARDS", test_copies.SHARDS.replace("'t'", "'t_counters'"))
    fleet = TrackedFleet(tmp_path, request.param)
    yield fleet
    fleet.close()
