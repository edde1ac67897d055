# Long runs, which `make test` leaves out, or of which it runs a little.

# ---- test-matrix: the scripts with these versions of SQLite, and with the machine's own ----------
#
# SQLite and the extension are built with the sanitizers, the extension against that version's own
# headers. Until 3.38 JSON is an option of SQLite.

MATRIX := 3.31.1 3.35.2 3.39.1 3.45.3 3.53.2
ON_MATRIX = gcc -Ibuild/matrix/$* $(CPPFLAGS) $(CFLAGS) $(SANITIZE)

test-matrix:
	@tools/setup matrix
	@$(MAKE) --no-print-directory -s all $(MATRIX:%=build/matrix/%/run_process) $(MATRIX:%=build/matrix/%/loaded) \
		build/matrix/own/run_process build/matrix/own/loaded
	@tools/matrix run $(MATRIX)

build/matrix/%/sqlite3.c:
	@tools/matrix fetch $*

build/matrix/%/sqlite3.o: build/matrix/%/sqlite3.c
	$(TELL) CC $@
	$(Q)gcc $(SANITIZE) -w -DSQLITE_ENABLE_JSON1 -c $< -o $@

build/matrix/%/run_process: $(RUNNER) $(TEST_HEADERS) build/matrix/%/sqlite3.o \
		$(SOURCES) $(HEADERS) build/gen/statements.h
	$(TELL) CC $@
	$(Q)$(ON_MATRIX) -DSQLITE_CORE $(filter %.c %.o,$^) $(LIBS) -lm -ldl -lpthread -o $@

build/matrix/%/loaded: tests/sql/loaded.c build/matrix/%/sqlite3.o
	$(TELL) CC $@
	$(Q)$(ON_MATRIX) $^ -lm -ldl -lpthread -o $@

build/matrix/own/run_process: build/tests/run_process
	@mkdir -p $(@D)
	cp $< $@

build/matrix/own/loaded: tests/sql/loaded.c
	@mkdir -p $(@D)
	$(TELL) CC $@
	$(Q)gcc $(CFLAGS) $(SANITIZE) $^ -lsqlite3 -o $@

.PRECIOUS: build/matrix/%/sqlite3.c build/matrix/%/sqlite3.o
.PHONY: test-matrix

# ---- model: all states of three files that DEPTH operations can reach ----------------------------
#
# The linker sends what the library asks the operating system to tests/model/disk.c. KEYS: 1 or 2.
# In each state within JOINED operations, and in one of EVERY others, all files pull from each
# other. ONLY: operations by name, such as ONLY='increment delta copy restore'; all if empty.
# DEPTH=5 takes minutes, 6 an hour. test_rows does the same with a row of a replicated table, and
# ROWS operations; it begins with several states, so that 4 take minutes.

DEPTH = 5
ROWS = 4
KEYS = 1
JOINED = 3
EVERY = 1000
ONLY =
MODEL_WRAPS := statx getxattr setxattr timespec_get uuid_generate_random

MODEL := content disk operations state test_model
MODEL_HEADERS := $(wildcard tests/model/*.h)

build/tests/model/test_model: $(MODEL:%=tests/model/%.c) ext/core/entries.c
build/tests/model/test_rows: tests/model/test_rows.c tests/model/disk.c ext/core/key.c
build/tests/model/test_model build/tests/model/test_rows: $(MODEL_HEADERS) build/libcounter.a
	@mkdir -p $(@D)
	$(TELL) CC $@
	$(Q)gcc -D_GNU_SOURCE $(CPPFLAGS) $(CFLAGS) $(MODEL_WRAPS:%=-Wl,--wrap=%) $(filter %.c,$^) \
		$(filter %.a,$^) -lcmocka -lsqlite3 $(LIBS) -o $@

tests: build/tests/model/test_model build/tests/model/test_rows

model:
	@tools/setup test
	@$(MAKE) --no-print-directory build/tests/model/test_model build/tests/model/test_rows
	build/tests/model/test_model $(DEPTH) $(KEYS) $(JOINED) $(EVERY) '$(ONLY)'
	$(if $(ONLY),,build/tests/model/test_rows $(ROWS) $(JOINED) $(EVERY))

.PHONY: model

# ---- threads: connections in threads, the library under the thread sanitizer ---------------------

WATCH_THREADS = -g -O1 -fno-omit-frame-pointer -fsanitize=thread

build/tests/threads/test_threads: tests/threads/test_threads.c build/amalgamation/counter.c $(TEST_HEADERS)
	@mkdir -p $(@D)
	$(TELL) CC $@
	$(Q)gcc -D_GNU_SOURCE -DSQLITE_CORE $(CPPFLAGS) $(CFLAGS) $(WATCH_THREADS) $(filter %.c,$^) \
		-lcmocka -lsqlite3 $(LIBS) -lpthread -o $@

tests: build/tests/threads/test_threads

# ---- walk: files, functions, statements of one INSERT, SELECT, UPDATE, pull: tests/walk/walk -v -----

$(eval $(call objects,walk,gcc,-DSQLITE_CORE -g -O0 -fno-inline -finstrument-functions))

build/walk/walk: tests/walk/walk.c $(SOURCES:%.c=build/walk/%.o)
	$(TELL) CC $@
	$(Q)gcc -D_GNU_SOURCE -g -no-pie -Wl,--wrap=sqlite3_prepare_v2,--wrap=sqlite3_step $^ -lsqlite3 $(LIBS) -o $@

walk:
	@tools/setup test
	@$(MAKE) --no-print-directory build/walk/walk
	@tests/walk/walk

.PHONY: walk

# ---- concurrency: SECONDS of threads, then as many of processes in each journal mode -------------

SECONDS = 60

concurrency:
	@tools/setup test
	@$(MAKE) --no-print-directory all build/tests/threads/test_threads
	COUNTER_SECONDS=$(SECONDS) build/tests/threads/test_threads
	COUNTER_SECONDS=$(SECONDS) /usr/bin/python3 -m pytest -q -s -p no:cacheprovider tests/property/test_crowd.py

.PHONY: concurrency

# ---- fuzz: libFuzzer over each target of tests/fuzz/, SECONDS of it ------------------------------
#
# What it finds new goes to build/fuzz/<target>/; what is worth keeping is copied to
# tests/fuzz/corpus/ by hand. `make test` replays that corpus. Memory that is freed waits for less
# to be used again than the sanitizer would have it wait, which takes half of the time.

TARGETS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZER := -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
$(eval $(call objects,fuzz,clang,-DSQLITE_CORE -g -O1 -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=all))

build/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(wildcard tests/fuzz/*.h) $(SOURCES:%.c=build/fuzz/%.o)
	$(TELL) CC $@
	$(Q)clang -D_GNU_SOURCE $(CPPFLAGS) $(CFLAGS) $(FUZZER) $(filter %.c %.o,$^) -lsqlite3 $(LIBS) -o $@

fuzz:
	@tools/setup fuzz
	@$(MAKE) --no-print-directory -s $(TARGETS:%=build/fuzz/fuzz_%)
	@for target in $(TARGETS); do \
		mkdir -p build/fuzz/$$target; \
		echo "--- $$target, $(SECONDS) s"; \
		ASAN_OPTIONS=quarantine_size_mb=8 \
		build/fuzz/fuzz_$$target -max_total_time=$(SECONDS) -max_len=4000 -timeout=30 -verbosity=0 \
			-print_final_stats=1 -artifact_prefix=build/fuzz/$$target- \
			build/fuzz/$$target tests/fuzz/corpus/$$target >build/fuzz/$$target.log 2>&1; rc=$$?; \
		grep -E 'executed_units|ERROR|does not hold|SUMMARY|Test unit written' build/fuzz/$$target.log; \
		[ $$rc -eq 0 ] || exit $$rc; \
	done

.PHONY: fuzz

# ---- crash and kill: three replicas that go down together at random moments ----------------------
#
# See tests/fault/run_crashes.c: crash is a power cut, kill is kill -9. ROUNDS of each, SEED to play
# one again.

ROUNDS =
SEED =
CRASH := run_crashes crash_steps crash_world crash_model crash_disk crash
CRASH_TESTS := $(CRASH:%=tests/fault/%.c) $(TEST_HEADERS)

build/tests/run_crashes: $(CRASH_TESTS) $(SOURCES:%.c=build/sanitized/%.o)
	@mkdir -p $(@D)
	$(TELL) CC $@
	$(Q)gcc -D_GNU_SOURCE $(CPPFLAGS) $(CFLAGS) $(SANITIZE) $(filter %.c %.o,$^) -lsqlite3 $(LIBS) -o $@

build/crash/run_crashes: $(CRASH_TESTS) build/libcounter.a
	@mkdir -p $(@D)
	$(TELL) CC $@
	$(Q)$(CC) -D_GNU_SOURCE $(CPPFLAGS) $(CFLAGS) $(filter %.c %.a,$^) -lsqlite3 $(LIBS) -o $@

tests: build/tests/run_crashes

crash: build/crash/run_crashes
	@build/crash/run_crashes cut $(or $(ROUNDS),10000) $(SEED)

kill: build/crash/run_crashes
	@build/crash/run_crashes kill $(or $(ROUNDS),500) $(SEED)

.PHONY: crash kill

# ---- soak: each file of random tests for MINUTES, with other seeds: tests/soak -------------------
#
# ONLY: files by parts of their names, such as ONLY='lineage deltas'. 30 minutes of each take seven
# hours on two cores.

MINUTES = 30

soak:
	@tools/setup test
	@$(MAKE) --no-print-directory all tests
	@tests/soak $(MINUTES) $(ONLY)

.PHONY: soak

# ---- faults: calls of memory and disk fail, in every statement of every script -------------------
#
# See tests/fault/run_faults.c. First by place, one fault behind each chain of calls that leads to
# one, in the first case that meets it. Then each n-th call, whatever leads to it. PLACES=pa, by
# place in each case, and STRIDE=1, each call, take hours. The calls of the disk are so few that
# the strides of theirs stand here. The first run has sanitizers, the others take a third of the
# time without. What tests/sql/stats.sql counts would be counted in the looks of others, so there
# are none there.

PLACES = p
STRIDE = 1997
SCRIPTS := $(filter-out tests/sql/stats.sql,$(wildcard tests/sql/*.sql))

faults: build/tests/run_faults build/plain/run_faults
	build/tests/run_faults allocation -$(PLACES) $(SCRIPTS)
	build/plain/run_faults allocation -$(PLACES)u $(SCRIPTS)
	build/plain/run_faults disk -$(PLACES) $(SCRIPTS)
	build/plain/run_faults disk -$(PLACES)w $(SCRIPTS)
	build/plain/run_faults room -$(PLACES) $(SCRIPTS)
	build/plain/run_faults allocation -s $(STRIDE) $(SCRIPTS)
	build/plain/run_faults allocation -b -s $(STRIDE) tests/sql/stats.sql
	build/plain/run_faults disk -s 61 $(SCRIPTS)
	build/plain/run_faults disk -w -s 97 $(SCRIPTS)
	build/plain/run_faults room -s 31 $(SCRIPTS)

build/plain/run_faults: $(FAULTS:%=tests/fault/%.c) tests/sql/script.c tests/sql/stage.c tests/sql/system.c $(SOURCES) \
		$(TEST_HEADERS) $(HEADERS) build/gen/statements.h
	@mkdir -p $(@D)
	$(TELL) CC $@
	$(Q)gcc $(CPPFLAGS) $(CFLAGS) -O1 -DSQLITE_CORE $(filter %.c,$^) -lsqlite3 $(LIBS) -o $@

.PHONY: faults

# ---- proof: all long runs, two at a time; the first alone ----------------------------------------
#
# What each prints is in build/proof/<run>.log; a line here tells when one begins and how it ended.

PROOF := test test-long mutation faults test-bounds coverage test-matrix model fuzz crash kill concurrency test-fleet

proof:
	@tools/setup test
	@tools/setup rest
	@tools/proof $(PROOF)

.PHONY: proof

# ---- test-long: what takes long and rarely fails, of the parts of make test ---------------------

test-long:
	@tools/setup test
	@$(MAKE) --no-print-directory all tests
	@tests/run --long

.PHONY: test-long

# ---- coverage: what tests in C, scripts and property tests reach, with faults by place -----------
#
# In a copy of the sources, without sanitizers: they cost time, and their checks are branches, too.
# The library that property tests load is made of the same objects as the programs.

MEASURED := $(CORE_TESTS) $(TABLE_TESTS) $(FAULT_TESTS) build/tests/run_process build/tests/run_faults $(REPLAYS)

coverage:
	@tools/setup coverage
	rm -rf build/coverage
	mkdir -p build/coverage
	cp -r Makefile README.md examples ext cli include third_party sql tests tools build/coverage
	@$(MAKE) -s -C build/coverage SANITIZE='-O0 --coverage' $(MEASURED) build/tests/powercut.so build/sqlite-counter build/counter-folders.so
	@cd build/coverage && gcc $(SHARED) --coverage $(SOURCES:%.c=build/sanitized/%.o) -lsqlite3 $(LIBS) -o $(LOADABLE)
	@cd build/coverage && tests/coverage

.PHONY: coverage

# ---- mutation: how many of COUNT small errors in core, sqlite, identity, table and track do the tests notice? -----
#
# SEED chooses them; ONLY: some of them by their numbers, such as ONLY='3 17'.

COUNT = 200

# To be loaded before any program, which takes its functions: so they are not hidden.
build/tests/unsynced.so: tests/fault/unsynced.c
	@mkdir -p $(@D)
	$(TELL) CC $@
	$(Q)$(CC) $(CFLAGS) -fvisibility=default $(SHARED) $< -o $@

mutation:
	@tools/setup test
	rm -rf build/mutation
	mkdir -p build/mutation
	cp -r Makefile README.md examples ext cli include third_party sql tests tools build/mutation
	@cd build/mutation && tests/mutate $(COUNT) $(or $(SEED),1) $(ONLY)

.PHONY: mutation

# ---- test-fleet: CLIENTS sync at once with one file, under gunicorn and in Node; how many in a second --

CLIENTS = 100

test-fleet:
	@tools/setup test
	@tools/setup rest
	@$(MAKE) --no-print-directory all
	COUNTER_CLIENTS=$(CLIENTS) /usr/bin/python3 -m pytest -q -s -p no:cacheprovider tests/packages/test_python_fleet.py tests/fleet

.PHONY: test-fleet
