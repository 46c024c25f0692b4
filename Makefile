# The whole developer interface. Needs python3 (3.11 or newer), make and the package registries.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: demo serve test lint types docs bench verify soak lock clean

$(STAMP): pyproject.toml requirements.lock
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	VIRTUAL_ENV=.venv $(BIN)/uv pip install --quiet --require-hashes -r requirements.lock
	VIRTUAL_ENV=.venv $(BIN)/uv pip install --quiet --no-deps -e .
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/dalenius demo

test: $(STAMP) lint types
	tools/system-packages
	$(BIN)/pytest -n 2 --dist loadfile

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

types: $(STAMP)
	$(BIN)/mypy

docs: $(STAMP)
	$(BIN)/python tools/docs.py

serve: $(STAMP)
	$(BIN)/dalenius serve --demo

bench: $(STAMP)
	$(BIN)/python -m bench

verify: $(STAMP)
	$(BIN)/python -m verify

soak: $(STAMP)
	$(BIN)/python -m soak

lock: $(STAMP)
	$(BIN)/uv pip compile pyproject.toml --extra dev --generate-hashes --no-header --universal --quiet -o requirements.lock

clean:
	rm -rf .venv build dist
