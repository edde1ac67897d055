# Builds the extension three times from the same C file, the amalgamation, as users may: build/counter.so
# to load, build/libcounter.a to link, build/counter-preload.so for hosts that cannot load it; and
# build/counter-folders.so, which gives a host that loads it the right to use directories.
#
#   make                  build/counter.so and -folders.so, -preload.so, build/libcounter.a, build/sqlite-counter
#   make demo             two laptops change a shop apart, merge and agree: examples/demo.sh
#   make test             all tests of tests/run, in minutes; installs what most of them need
#   make scenarios        what others test of their merges and counters, played here: docs/scenarios.md
#   make setup            installs what the others need: those of hosts, of the hub and of growth
#   make install          the libraries into PREFIX=/usr/local, below DESTDIR if given; make uninstall
#   make amalgamation     build/amalgamation/counter.c and counter.h: all in one C file
#   make packages         what npm and pip install, for this machine, into build/packages
#   make dist             what users install, for five platforms and browsers, into build/dist, in some minutes
#   make wasm             for browsers: an npm package with SQLite in it, into build/browser
#   make example-browser  examples/browser, a page that counts offline, on http://localhost:8080
#   make site             the documentation as HTML, with a search, into build/site/html
#   make bench            tests/bench/bench.c and its plots; bench-more, bench-limits, bench-merge,
#                         bench-peers: more.c, ...
#   make help             this list
#
# Long runs; make proof runs those that say P, in about an hour: tests/TESTING.md
#
#   make test-long        P  what takes long and rarely fails, of the parts of make test
#   make test-clients     thirty drivers and ORMs: tests/clients/README.md
#   make test-matrix      P  the scripts with several versions of SQLite
#   make test-platforms   the scripts on five platforms, emulated
#   make check-macos      compiles the library for macOS, where nothing of it has run
#   make test-browser     the scripts and the page of examples/browser in Chromium
#   make bench-browser    size and speed of the module for browsers
#   make test-fleet       P  CLIENTS=100 sync at once with a file under gunicorn, and one in Node
#   make test-packages    make dist twice, in two folders; its Debian packages in a new system, as root
#   make test-bare        every command of README.md in a new Debian that has git and make, as root:
#                         SKIP='test dist' leaves some out
#   make test-bounds      P  scripts and property tests where a journal is folded all the time, and
#                         lines carry little
#   make faults           P  each call of memory and disk fails, in every statement of every script
#   make fuzz             P  libFuzzer over the targets of tests/fuzz/, SECONDS=60 each
#   make model            P  all states that DEPTH=5 operations on three files can reach
#   make crash            P  power cuts at random moments of three replicas: ROUNDS=10000
#   make kill             P  the same with kill -9: ROUNDS=500
#   make soak             random tests with other seeds: MINUTES=30 of each file
#   make concurrency      P  threads, then ten processes on one file: SECONDS=60 of each
#   make walk             which files and functions one INSERT, SELECT, UPDATE or pull leads through
#   make coverage         P  lines and branches that the tests reach
#   make mutation         P  COUNT=200 small errors: how many do the tests notice?
#   make format           clang-format over all C files
#   make clean

PREFIX = /usr/local
CFLAGS = -std=c11 -O3 -fPIC -fvisibility=hidden -Wall -Wextra -Wpedantic -Wshadow -Wconversion
CPPFLAGS = -Iext -Iinclude -Ibuild/gen -I.
SANITIZE = -g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all

ifeq ($(shell uname -s),Darwin)
LOADABLE = build/counter.dylib
RIGHT = build/counter-folders.dylib
PRELOAD =
SHARED = -shared
ARCHIVE = rcs
UUID =
else
LOADABLE = build/counter.so
RIGHT = build/counter-folders.so
PRELOAD = build/counter-preload.so
SHARED = -shared -Wl,--no-undefined
ARCHIVE = rcsD
UUID = -luuid
endif

# Directories need zlib: without it they are refused by a sentence.
ZLIB := $(shell echo '\#include <zlib.h>' | $(CC) $(CPPFLAGS) -E -x c - >/dev/null 2>&1 && echo -lz)
CPPFLAGS += $(if $(ZLIB),-DCOUNTER_HAS_ZLIB)
LIBS = $(UUID) $(ZLIB)

# One line for each file that is made; all of the command with V=1, nothing with -s.
TELL = @$(if $(findstring s,$(firstword -$(MAKEFLAGS))),:,printf '  %-5s %s\n')
Q = $(if $(V),,@)

# As many jobs as there are processors, unless something else is asked for.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)
endif

# From the bottom up, in an order that is the same everywhere.
FOLDERS := core base file table counter tracked merge cluster functions
SOURCES := $(foreach folder,$(FOLDERS),$(sort $(wildcard ext/$(folder)/*.c))) ext/counter.c
HEADERS := $(wildcard ext/*/*.h include/*.h)
CORE := $(wildcard ext/core/*.c)
STATEMENTS := $(wildcard sql/*.sql)
CORE_TESTS := $(patsubst tests/core/%.c,build/tests/core/%,$(wildcard tests/core/test_*.c))
FAULT_TESTS := $(patsubst tests/fault/%.c,build/tests/fault/%,$(wildcard tests/fault/test_*.c))
TABLE_TESTS := $(patsubst tests/table/%.c,build/tests/table/%,$(wildcard tests/table/test_*.c))
CHECKED_BY := $(foreach cc,gcc clang,$(if $(shell command -v $(cc) 2>/dev/null),$(cc)))

COMMAND := $(sort $(wildcard cli/*.c cli/merge/*.c))

# A recipe that does nothing keeps make from saying that there is nothing to be done.
all: $(LOADABLE) $(RIGHT) build/libcounter.a $(PRELOAD) build/sqlite-counter
	@:

# objects(variant, compiler, flags): how build/<variant>/**.o are made from the sources. No object
# knows in which folder that was.
define objects
build/$(1)/%.o: %.c | build/gen/statements.h
	@mkdir -p $$(@D)
	$$(TELL) CC $$@
	$$(Q)$(2) $(CPPFLAGS) $(CFLAGS) $(3) -ffile-prefix-map='$(CURDIR)'=. -MMD -MP -c $$< -o $$@
endef
$(eval $(call objects,sanitized,gcc,-DSQLITE_CORE $(SANITIZE)))

# What the compiler sees at once it makes a fifth faster. Its warnings are kept for check-warnings.
ONE_FILE = $(CC) $(CPPFLAGS) $(CFLAGS) -ffile-prefix-map='$(CURDIR)'=.
build/static/counter.o: KIND = -DSQLITE_CORE
build/so/counter.o build/static/counter.o: build/amalgamation/counter.c build/amalgamation/counter.h
	@mkdir -p $(@D)
	$(TELL) CC $@
	$(Q)$(ONE_FILE) $(KIND) -c $< -o $@ 2>$(@D)/warnings || { cat $(@D)/warnings >&2; exit 1; }
	$(Q)cat $(@D)/warnings >&2

$(LOADABLE): build/so/counter.o
	$(TELL) LD $@
	$(Q)$(CC) $(SHARED) $(LDFLAGS) $^ $(LIBS) -o $@

$(RIGHT): ext/folders.c
	@mkdir -p $(@D)
	$(TELL) LD $@
	$(Q)$(ONE_FILE) $(SHARED) $(LDFLAGS) $< -o $@

build/libcounter.a: build/static/counter.o
	$(Q)rm -f $@
	$(TELL) AR $@
	$(Q)ZERO_AR_DATE=1 $(AR) $(ARCHIVE) $@ $^

build/counter-preload.so: ext/preload.c build/static/counter.o
	$(TELL) LD $@
	$(Q)$(ONE_FILE) $(SHARED) $(LDFLAGS) $^ -lsqlite3 $(LIBS) -o $@

build/sqlite-counter: $(COMMAND) $(wildcard cli/*.h cli/merge/*.h) build/gen/cli_statements.h include/counter.h build/libcounter.a
	@mkdir -p $(@D)
	$(TELL) LD $@
	$(Q)$(ONE_FILE) $(LDFLAGS) $(filter %.c %.a,$^) -lsqlite3 $(LIBS) -o $@

build/gen/statements.h: tools/embed.awk $(STATEMENTS)
	@mkdir -p $(@D)
	$(TELL) GEN $@
	$(Q)awk -f tools/embed.awk $(STATEMENTS) /dev/null > $@.new
	$(Q)mv $@.new $@

build/gen/cli_statements.h: tools/embed.awk cli/statements.sql cli/merge/statements.sql
	@mkdir -p $(@D)
	$(TELL) GEN $@
	$(Q)awk -f $^ > $@.new
	$(Q)mv $@.new $@

build/amalgamation/counter.h: tools/amalgamate.awk include/counter.h include/counter_cell.h
	@mkdir -p $(@D)
	$(TELL) GEN $@
	$(Q)awk -f $^ > $@

build/amalgamation/counter.c: tools/amalgamate.awk $(SOURCES) $(HEADERS) build/gen/statements.h
	@mkdir -p $(@D)
	$(TELL) GEN $@
	$(Q)awk -v one=counter.h -f tools/amalgamate.awk $(SOURCES) > $@

amalgamation: build/amalgamation/counter.c build/amalgamation/counter.h
	@:

# The library to load goes where Debian puts those of others: its name is too short for a folder
# that the linker searches.
PLACE = $(DESTDIR)$(PREFIX)
build/sqlite-counter.pc: tools/sqlite-counter.pc.in include/counter.h FORCE
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LOADABLE@|$(notdir $(LOADABLE))|' \
		-e "s|@VERSION@|$(VERSION)|" -e 's|@ZLIB@|$(if $(ZLIB), zlib)|' $< > $@

install: all build/sqlite-counter.pc
	install -d '$(PLACE)/lib/sqlite3' '$(PLACE)/lib/pkgconfig' '$(PLACE)/include/sqlite-counter' \
		'$(PLACE)/bin' '$(PLACE)/share/man/man1'
	install -m 644 $(LOADABLE) $(RIGHT) $(PRELOAD) '$(PLACE)/lib/sqlite3'
	install -m 644 build/libcounter.a '$(PLACE)/lib'
	install -m 644 build/sqlite-counter.pc '$(PLACE)/lib/pkgconfig'
	install -m 644 $(wildcard include/*.h) '$(PLACE)/include/sqlite-counter'
	install -m 755 build/sqlite-counter '$(PLACE)/bin'
	install -m 644 cli/sqlite-counter.1 '$(PLACE)/share/man/man1'

uninstall:
	rm -f $(patsubst %,'$(PLACE)/lib/sqlite3/%',$(notdir $(LOADABLE) $(RIGHT) $(PRELOAD))) \
		'$(PLACE)/lib/libcounter.a' \
		'$(PLACE)/lib/pkgconfig/sqlite-counter.pc' \
		'$(PLACE)/bin/sqlite-counter' '$(PLACE)/share/man/man1/sqlite-counter.1'
	rm -rf '$(PLACE)/include/sqlite-counter'

# The tests are built by gcc with the address and undefined behaviour sanitizers. A compiler that
# gets several files notes the headers of the last, so programs of several depend on all headers.
TEST_HEADERS := $(wildcard tests/*.h tests/*/*.h)

build/tests/core/%: tests/core/%.c $(CORE:%.c=build/sanitized/%.o)
	@mkdir -p $(@D)
	$(TELL) LD $@
	$(Q)gcc $(CPPFLAGS) $(CFLAGS) $(SANITIZE) -MMD -MP -MF $@.d $(filter %.c %.o,$^) -lcmocka -o $@

$(FAULT_TESTS) $(TABLE_TESTS): build/tests/%: tests/%.c $(SOURCES:%.c=build/sanitized/%.o)
	@mkdir -p $(@D)
	$(TELL) LD $@
	$(Q)gcc -D_GNU_SOURCE $(CPPFLAGS) $(CFLAGS) $(SANITIZE) -MMD -MP -MF $@.d $(filter %.c %.o,$^) \
		-lcmocka -lsqlite3 $(LIBS) -o $@

build/tests/fault/test_commit: tests/fault/disk.c tests/fault/countdown.c $(TEST_HEADERS)

RUNNER := tests/sql/run_process.c tests/sql/script.c tests/sql/stage.c tests/sql/system.c
build/tests/run_process: $(RUNNER) tests/sql/ties.c $(TEST_HEADERS) $(SOURCES:%.c=build/sanitized/%.o)
	@mkdir -p $(@D)
	$(TELL) LD $@
	$(Q)gcc $(CPPFLAGS) $(CFLAGS) $(SANITIZE) $(filter %.c %.o,$^) -lsqlite3 $(LIBS) -o $@

FAULTS := run_faults course witness countdown allocations disk
build/tests/run_faults: $(FAULTS:%=tests/fault/%.c) tests/sql/script.c tests/sql/stage.c tests/sql/system.c \
		$(TEST_HEADERS) $(SOURCES:%.c=build/sanitized/%.o)
	@mkdir -p $(@D)
	$(TELL) LD $@
	$(Q)gcc $(CPPFLAGS) $(CFLAGS) $(SANITIZE) $(filter %.c %.o,$^) -lsqlite3 $(LIBS) -o $@

REPLAYS := $(patsubst tests/fuzz/fuzz_%.c,build/tests/replay_%,$(wildcard tests/fuzz/fuzz_*.c))
build/tests/replay_%: tests/fuzz/fuzz_%.c tests/fuzz/replay.c $(TEST_HEADERS) \
		$(SOURCES:%.c=build/sanitized/%.o)
	@mkdir -p $(@D)
	$(TELL) CC $@
	$(Q)gcc -D_GNU_SOURCE $(CPPFLAGS) $(CFLAGS) $(SANITIZE) $(filter %.c %.o,$^) \
		-lsqlite3 $(LIBS) -o $@

# A VFS to be loaded by Python, so without sanitizers.
build/tests/powercut.so: tests/fault/powercut.c
	@mkdir -p $(@D)
	$(TELL) LD $@
	$(Q)$(CC) -D_GNU_SOURCE $(CFLAGS) $(SHARED) -MMD -MP -MF $@.d $(filter %.c,$^) -o $@

tests: $(CORE_TESTS) $(TABLE_TESTS) $(FAULT_TESTS) build/tests/run_process build/tests/run_faults $(REPLAYS) build/tests/powercut.so
	@:

# No warning in either build, by gcc and by clang. Those of gcc that need its optimizer come when the
# amalgamation is compiled; clang's need none, and it reads all in one file, too.
WARNS = $(CPPFLAGS) $(CFLAGS) -Werror -fsyntax-only
check-warnings: $(CHECKED_BY:%=warnings-by-%)
warnings-by-gcc: build/so/counter.o build/static/counter.o build/gen/cli_statements.h
	@cat build/so/warnings build/static/warnings && ! grep -q . build/so/warnings build/static/warnings
	gcc $(WARNS) $(SOURCES)
	gcc $(WARNS) -DSQLITE_CORE ext/preload.c
	gcc $(WARNS) ext/folders.c
	gcc $(WARNS) $(COMMAND)
warnings-by-clang: build/amalgamation/counter.c build/amalgamation/counter.h build/gen/cli_statements.h
	clang $(WARNS) $<
	clang $(WARNS) -DSQLITE_CORE $< ext/preload.c
	clang $(WARNS) ext/folders.c
	clang $(WARNS) $(COMMAND)

help:
	@sed -n '/^#   make /,/^$$/s/^# \{0,1\}//p' Makefile

demo:
	@tools/setup demo
	@$(MAKE) --no-print-directory all
	@examples/demo.sh

test:
	@tools/setup test
	@$(MAKE) --no-print-directory all check-warnings tests
	@tests/run

SCENARIOS := tests/scenarios tests/property/test_bounds_antidote.py
scenarios:
	@tools/setup test
	@$(MAKE) --no-print-directory all
	@/usr/bin/python3 -m pytest -q -p no:cacheprovider $(SCENARIOS)

# Each in a copy of the sources, for the tests look for the library in build/.
BOUNDS := build/bounds/tiny build/bounds/none build/bounds/ahead build/bounds/short
build/bounds/tiny: LIMITS := -DCTR_JOURNAL_AMOUNTS=4 -DCTR_JOURNAL_ROWS=2 -DCTR_CACHE_BYTES=600 -DCTR_PULL_MILLISECONDS=0
build/bounds/none: LIMITS := -DCTR_JOURNAL_AMOUNTS=0 -DCTR_JOURNAL_ROWS=0 -DCTR_CACHE_BYTES=0
build/bounds/ahead: LIMITS := -DCTR_JOURNAL_AMOUNTS=4 -DCTR_CACHE_MISSED=0
build/bounds/short: LIMITS := -DCTR_LINE_VALUES_MOST=200
build/bounds/short: BOUNDED := tests/property/test_all_ways.py
build/bounds/short: BOUNDED_SCRIPTS :=
$(filter-out %/short,$(BOUNDS)): BOUNDED_SCRIPTS := tests/sql/*.sql
build/bounds/none: BOUNDED_SCRIPTS := -j tests/sql/*.sql
$(filter-out %/short,$(BOUNDS)): BOUNDED := tests/fault tests/property
test-bounds: $(BOUNDS)
$(BOUNDS): build/bounds/%:
	@tools/setup test
	rm -rf $@
	mkdir -p $@
	cp -r Makefile README.md examples ext cli include third_party sql tests tools $@
	$(MAKE) -C $@ CPPFLAGS='$(CPPFLAGS) $(LIMITS)' all $(if $(BOUNDED_SCRIPTS),tests)
	$(if $(BOUNDED_SCRIPTS),cd $@ && build/tests/run_process $(BOUNDED_SCRIPTS))
	cd $@ && COUNTER_EXAMPLES=200 /usr/bin/python3 -m pytest -q -p no:cacheprovider $(BOUNDED)

# Debian's packages at once, npm's by each client.
test-clients: all
	@tools/setup clients
	@tests/clients/clients

# The measurements: build/bench/<name> is tests/bench/<name>.c and what it needs.
# ONLY='by key' measures only lines whose name contains that, and draws nothing.
build/bench/bench build/bench/limits: tests/bench/requests.c
build/bench/bench: $(patsubst %,tests/bench/%.c,pairs tracked tables fsyncs)
build/bench/peers: tests/bench/redis.c tests/bench/rocks.c
build/bench/bench build/bench/more build/bench/limits build/bench/peers: build/bench/%: tests/bench/%.c \
		tests/bench/common.c build/libcounter.a
	@mkdir -p $(@D)
	$(TELL) LD $@
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(PEERS) -MMD -MP -MF $@.d $(filter %.c %.a,$^) -lsqlite3 $(LIBS) \
		$(PEER_LIBRARIES) -o $@

bench:
	@tools/setup bench
	@$(MAKE) --no-print-directory build/bench/bench
	@build/bench/bench build/bench '$(ONLY)'
ifeq ($(ONLY),)
	@gnuplot -e "folder='build/bench'" tests/bench/plots.gp
	@echo 'drawn: build/bench/ratios.svg build/bench/growth.svg'
endif

bench-more bench-limits: bench-%: build/bench/%
	@$< build/bench '$(ONLY)'

bench-merge: all
	@tests/bench/merge.py

# RocksDB is linked if its header is there, installed or fetched.
PEERS_LIB = build/peers/usr/lib/$(shell $(CC) -dumpmachine)
build/bench/peers: PEERS = $(shell printf '\#include <rocksdb/c.h>\n' | $(CC) -Ibuild/peers/usr/include \
	-E -x c - >/dev/null 2>&1 && echo -DWITH_ROCKSDB -isystem build/peers/usr/include)
build/bench/peers: PEER_LIBRARIES = $(if $(PEERS),-L$(PEERS_LIB) -Wl$(comma)-rpath-link$(comma)$(PEERS_LIB) -lrocksdb)
comma = ,

bench-peers:
	@tools/peers
	@$(MAKE) --no-print-directory build/bench/peers
	@PATH="$$PATH:$(CURDIR)/build/peers/usr/bin" \
		LD_LIBRARY_PATH="$(CURDIR)/$(PEERS_LIB)" build/bench/peers build/bench '$(ONLY)'

# README.md and docs/ as HTML, to be opened from the folder or put on any server.
site:
	@tools/setup site
	@tools/site/assemble build/site/pages
	@mkdocs build --quiet --strict --config-file tools/site/mkdocs.yml
	@echo 'made: build/site/html/index.html'

setup:
	@tools/setup test
	@tools/setup rest

format:
	clang-format -i $(shell find include ext cli tests -name '*.[ch]')

clean:
	rm -rf build

include tests/proof.mk
include tools/dist.mk
include tools/browser.mk

.PHONY: all amalgamation install uninstall FORCE tests check-warnings warnings-by-gcc warnings-by-clang demo help test scenarios test-clients test-bounds $(BOUNDS)
.PHONY: bench bench-more bench-limits bench-merge bench-peers site setup format clean
.DELETE_ON_ERROR:
-include $(shell find build -name '*.d' -type f 2>/dev/null)
