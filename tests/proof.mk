# Long runs, which `make test` leaves out.

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
	gcc $(SANITIZE) -w -DSQLITE_ENABLE_JSON1 -c $< -o $@

build/matrix/%/run_process: $(RUNNER) build/matrix/%/sqlite3.o \
		$(SOURCES) $(HEADERS) build/gen/statements.h
	$(ON_MATRIX) -DSQLITE_CORE $(filter %.c %.o,$^) $(UUID) -lm -ldl -lpthread -o $@

build/matrix/%/loaded: tests/sql/loaded.c build/matrix/%/sqlite3.o
	$(ON_MATRIX) $^ -lm -ldl -lpthread -o $@

build/matrix/own/run_process: build/tests/run_process
	@mkdir -p $(@D)
	cp $< $@

build/matrix/own/loaded: tests/sql/loaded.c
	@mkdir -p $(@D)
	gcc $(CFLAGS) $(SANITIZE) $^ -lsqlite3 -o $@

.PRECIOUS: build/matrix/%/sqlite3.c build/matrix/%/sqlite3.o
.PHONY: test-matrix
