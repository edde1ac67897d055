# SQLite and the extension as one WebAssembly module, and the ES module that opens databases in it, in
# build/browser/: `make wasm`. `make test-browser` tries them and examples/browser in Chromium, `make
# bench-browser` measures, `make example-browser` serves the example.

BROWSER := build/browser
BROWSER_SOURCES := $(wildcard packages/browser/*.mjs) $(addprefix packages/npm/,client.cjs errors.cjs lines.cjs)

# As the official module of SQLite, but for full-text search before FTS5, and for what explains SQLite
# itself. A worker is one thread, and a file is open in one worker at a time, so there is no WAL.
IN_BROWSER = -Os -w -std=gnu11 -I$(NEWEST) -Ibuild/amalgamation -Ibuild/gen -Iinclude -Iext -ffile-prefix-map='$(CURDIR)'=. \
	-DSQLITE_OS_OTHER=1 -DSQLITE_THREADSAFE=0 -DSQLITE_TEMP_STORE=3 -DSQLITE_OMIT_LOAD_EXTENSION \
	-DSQLITE_OMIT_SHARED_CACHE -DSQLITE_OMIT_DEPRECATED -DSQLITE_OMIT_UTF16 -DSQLITE_OMIT_WAL \
	-DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_RTREE -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_ENABLE_SESSION \
	-DSQLITE_ENABLE_PREUPDATE_HOOK -DSQLITE_ENABLE_DBSTAT_VTAB -DSQLITE_ENABLE_DBPAGE_VTAB \
	-DSQLITE_ENABLE_OFFSET_SQL_FUNC

# Where Debian's emscripten has its JavaScript tools.
EMCC = NODE_PATH=/usr/share/nodejs emcc
empty :=
EXPORTS = $(subst $(empty) ,$(comma),$(addprefix _sqlite3_,$(shell cat packages/browser/exports)))
comma := ,

wasm: browser-tools
	@$(MAKE) --no-print-directory -s $(BROWSER)/package/sqlite-counter.wasm $(BROWSER)/package/sqlite-counter.mjs
	@packages/browser/build $(BROWSER)/package $(BROWSER)

browser-tools:
	@tools/setup wasm
	@mkdir -p $(BROWSER)
	@[ -x $(BROWSER)/node_modules/.bin/esbuild ] || npm install --silent --no-save --prefix $(BROWSER) esbuild@0.28.2

$(BROWSER)/sqlite3.o: $(NEWEST)/sqlite3.c
	@mkdir -p $(@D)
	$(TELL) EMCC $@
	$(Q)$(EMCC) $(IN_BROWSER) -c $< -o $@

$(BROWSER)/counter.o: build/amalgamation/counter.c build/amalgamation/counter.h $(NEWEST)/sqlite3.c
	@mkdir -p $(@D)
	$(TELL) EMCC $@
	$(Q)$(EMCC) $(IN_BROWSER) -DSQLITE_CORE -c $< -o $@

$(BROWSER)/vfs.o: packages/browser/vfs.c ext/file/browser.c $(NEWEST)/sqlite3.c
	@mkdir -p $(@D)
	$(TELL) EMCC $@
	$(Q)$(EMCC) $(IN_BROWSER) -c $< -o $@

WASM_OBJECTS := $(BROWSER)/sqlite3.o $(BROWSER)/counter.o $(BROWSER)/vfs.o

$(BROWSER)/package/sqlite-counter.wasm: $(WASM_OBJECTS) packages/browser/exports
	@mkdir -p $(@D)
	$(TELL) EMCC $@
	$(Q)$(EMCC) -Os -sSTANDALONE_WASM --no-entry -sWASM_BIGINT -sALLOW_MEMORY_GROWTH -sTOTAL_STACK=1MB \
		-sERROR_ON_UNDEFINED_SYMBOLS=0 -sWARN_ON_UNDEFINED_SYMBOLS=0 -sEXPORTED_FUNCTIONS=$(EXPORTS) \
		$(WASM_OBJECTS) -o $@

$(BROWSER)/package/sqlite-counter.mjs: $(BROWSER_SOURCES)
	@mkdir -p $(@D)
	$(TELL) GEN $@
	$(Q)$(BROWSER)/node_modules/.bin/esbuild packages/browser/index.mjs --bundle --format=esm --charset=utf8 \
		--log-level=warning --external:./sqlite-counter.wasm --outfile=$@

# ---- tests: the scripts in the same objects, and the page in Chromium ----------------------------

$(BROWSER)/run_process.mjs: tools/browser.mk $(WASM_OBJECTS) $(RUNNER) $(TEST_HEADERS)
	$(TELL) EMCC $@
	$(Q)$(EMCC) $(IN_BROWSER) -Itests/sql -DSQLITE_CORE $(filter %.c %.o,$^) -o $@ -O1 -sEXPORT_ES6 -sMODULARIZE \
		-sENVIRONMENT=web,worker -sWASM_BIGINT -sALLOW_MEMORY_GROWTH -sEXIT_RUNTIME -sTOTAL_STACK=1MB \
		-sERROR_ON_UNDEFINED_SYMBOLS=0 -sWARN_ON_UNDEFINED_SYMBOLS=0 -sINVOKE_RUN=0 \
		-sEXPORTED_RUNTIME_METHODS=FS,callMain

browser-driver: browser-tools
	@tools/setup browser
	@[ -d $(BROWSER)/node_modules/puppeteer-core ] || \
		npm install --silent --no-save --prefix $(BROWSER) esbuild@0.28.2 puppeteer-core@25.16.0

test-browser: wasm browser-driver build/counter.so
	@$(MAKE) --no-print-directory -s $(BROWSER)/run_process.mjs
	node --test --test-reporter=spec tests/browser/

# Sizes, increments a second, the first count: what packages/browser/README.md tells.
bench-browser: wasm browser-driver
	node tests/browser/bench.mjs

# The page with its relay, until it is interrupted.
example-browser: wasm
	@node examples/browser/relay.mjs $(or $(PORT),8080) $(BROWSER)/relay-rows

.PHONY: wasm browser-tools browser-driver test-browser bench-browser example-browser
