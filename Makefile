# The whole developer interface. Needs python3 (3.11 or newer), make and the package registries.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
# Compiled modules are kept, or every process that a test starts compiles all of its packages again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo serve test test-long test-one lint types docs bench verify soak coverage branches minimum sbom lock clean

$(STAMP): pyproject.toml lab/pyproject.toml requirements.lock
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	VIRTUAL_ENV=.venv $(BIN)/uv pip install --quiet --require-hashes -r requirements.lock
	VIRTUAL_ENV=.venv $(BIN)/uv pip install --quiet --no-deps -e . -e ./lab
	touch $(STAMP)

# Spark is large and only tests need it: in a lock of its own, never installed for the demo.
SPARK := .venv/.installed-spark
$(SPARK): $(STAMP) requirements-spark.lock
	VIRTUAL_ENV=.venv UV_HTTP_TIMEOUT=300 $(BIN)/uv pip install --quiet --require-hashes -r requirements-spark.lock || \
	VIRTUAL_ENV=.venv UV_HTTP_TIMEOUT=300 $(BIN)/uv pip install --quiet --require-hashes -r requirements-spark.lock
	touch $(SPARK)

# A second checker of types, with its Node: for users of editors that have it.
PYRIGHT := .venv/.installed-pyright
$(PYRIGHT): $(STAMP) requirements-pyright.lock
	VIRTUAL_ENV=.venv $(BIN)/uv pip install --quiet --require-hashes -r requirements-pyright.lock
	touch $(PYRIGHT)

# What builds the documentation as a site.
DOCS := .venv/.installed-docs
$(DOCS): $(STAMP) requirements-docs.lock
	VIRTUAL_ENV=.venv $(BIN)/uv pip install --quiet --require-hashes -r requirements-docs.lock
	touch $(DOCS)

# The demo's table from its file, or from a server of its own: ENGINE=postgres, ENGINE=spark.
ifdef ENGINE
demo: $(STAMP) $(if $(filter spark,$(ENGINE)),$(SPARK))
	$(BIN)/python tools/demo_on.py $(ENGINE)
else
demo: $(STAMP)
	$(BIN)/dalenius demo
endif

# The checks of the text side by side; then the tests, longest files first (tests/durations.json, which the first two targets renew
# when they are called with RECORD=--record-durations). A worker that dies, or hangs in compiled code, which no signal interrupts, ends
# the run with the name of its test.
PYTEST := $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder --max-worker-restart 0 $(RECORD)
PYTEST += -o faulthandler_timeout=660 -o faulthandler_exit_on_timeout=true
test: $(STAMP)
	$(MAKE) --no-print-directory -j 2 --output-sync=target lint types
	tools/system-packages
	$(PYTEST) -m "not long"

# What needs another system or a matrix of settings.
test-long: $(STAMP) $(SPARK) $(PYRIGHT) $(DOCS)
	tools/system-packages
	$(PYTEST) -m long

# The tests of one package and its kit, without the longest: make test-one PACKAGE=ledger
test-one: $(STAMP)
	$(BIN)/pytest -q --within 7 -m "not long" tests/$(PACKAGE) $(wildcard tests/conformance/test_$(PACKAGE).py)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

types: $(STAMP)
	$(BIN)/mypy

# The documentation in build/docs; for its search, serve it: python -m http.server --directory build/docs
docs: $(STAMP) $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# What is installed, as CycloneDX.
sbom: $(STAMP)
	@$(BIN)/python tools/sbom.py

serve: $(STAMP)
	$(BIN)/dalenius serve --demo

bench: $(STAMP)
	$(BIN)/python -m bench

verify: $(STAMP)
	$(BIN)/python -m verify

soak: $(STAMP)
	$(BIN)/python -m soak

# Which lines the tests reach; one line of percent, and build/coverage for a look.
coverage: $(STAMP) $(SPARK) $(PYRIGHT) $(DOCS)
	$(PYTEST) --cov=dalenius --cov-report=term:skip-covered --cov-report=html:build/coverage

# Every branch of what keeps the budget and adds the noise, or a reason beside it; fails below 100 %. Several minutes.
GUARDS := --ignore=tests/ledger/test_concurrency.py --ignore=tests/ledger/test_life.py # processes of their own, not counted
GUARDS += tests/ledger lab/tests/accounting tests/measurements tests/conformance/test_measurements.py tests/curator/test_gate.py
GUARDS += $(addprefix tests/curator/test_, batches.py inspection.py keyed_lists.py)
GUARDS += $(addprefix tests/methods/test_, at_the_data.py block_models.py propose_test_release.py)
GUARDS += $(addprefix tests/methods/test_, quantiles.py range_count.py sample_and_aggregate.py)
branches: $(STAMP)
	$(PYTEST) $(GUARDS) --cov=dalenius.ledger --cov=dalenius.measurements --cov=dalenius.curator.gate --cov-fail-under=100 --cov-report=term-missing:skip-covered

# The oldest versions that pyproject.toml allows, in an environment of their own.
MINIMUM := build/minimum
minimum: $(STAMP)
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(MINIMUM)
	VIRTUAL_ENV=$(MINIMUM) $(BIN)/uv pip install --quiet --resolution lowest-direct -e '.[server,formats,plot]' pytest==8.4.1 hypothesis==6.135.0 mpmath==1.3.0 pexpect==4.9.0 pytest-timeout==2.4.0
	$(MINIMUM)/bin/python -m pytest -q -p no:cacheprovider tests/core tests/spec/test_table.py tests/spec/test_codebook.py tests/engines/test_duckdb.py tests/engines/test_memory.py tests/publish tests/cli/test_verbs.py tests/cli/test_comfort.py tests/examples

lock: $(STAMP)
	$(BIN)/uv pip compile pyproject.toml --extra dev --generate-hashes --no-header --universal --quiet -o requirements.lock
	echo 'pyright[nodejs]>=1.1.414' | $(BIN)/uv pip compile - --generate-hashes --no-header --no-annotate --universal --quiet -o requirements-pyright.lock
	echo 'pyspark>=4.0' | $(BIN)/uv pip compile - --generate-hashes --no-header --no-annotate --universal --quiet -o requirements-spark.lock
	printf '%s\n' 'mkdocs>=1.6,<2' 'mkdocs-material>=9.6' 'mkdocstrings[python]>=0.30' | $(BIN)/uv pip compile - -c requirements.lock --generate-hashes --no-header --no-annotate --universal --quiet -o requirements-docs.lock

clean:
	rm -rf .venv build dist
