# Each target works on a bare clone: it makes .venv itself and is quick the second time.
PYTHON ?= $(firstword $(foreach version,3.11 3.12 3.13,$(shell command -v python$(version))) python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
DEMO := hopsight-demo

LOWEST := $(VENV)/lowest
AUDIT := $(VENV)/audit

.PHONY: help demo test test-long test-lowest audit lint bench browser clean

help:
	@echo "make demo         find the planted anomalies of the built-in network, report in $(DEMO)/"
	@echo "make test         lint, types, import layers and tests"
	@echo "make test-long    the tests that take minutes"
	@echo "make test-lowest  the tests with the oldest versions that pyproject.toml allows (torch aside)"
	@echo "make audit        look the versions of constraints.txt up among known vulnerabilities (asks PyPI)"
	@echo "make lint         lint, types and import layers only"
	@echo "make bench        the quick suite of experiments, results in bench-out/"
	@echo "make clean        remove what the other targets made"

demo: $(VENV)/.installed
	$(BIN)/hopsight detect --out $(DEMO)
	@echo "Open $(DEMO)/report.html in a browser."

test: lint browser
	$(BIN)/python -m pytest

test-long: $(VENV)/.installed-dev browser
	$(BIN)/python -m pytest -m slow --timeout 3600

# Old libraries warn about each other, and pyspark 4.0 leaves its sockets open; that is not ours to mend.
test-lowest: $(LOWEST)/.installed
	$(LOWEST)/bin/python -m pytest -W ignore::DeprecationWarning -W ignore::ResourceWarning

# --strict: without it pip-audit succeeds even where it could look nothing up.
audit: $(AUDIT)/.installed
	$(AUDIT)/bin/pip-audit -r constraints.txt --no-deps --disable-pip --strict

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed
	$(BIN)/hopsight bench --suite quick --out bench-out

# The tests of the HTML report drive a real browser; without one they are skipped, and say so.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && echo "Installing Chromium for the tests of the report" \
	       && { timeout 300 apt-get install -y --no-install-recommends chromium >/dev/null 2>&1 \
	            || { timeout 120 apt-get update >/dev/null 2>&1 \
	                 && timeout 300 apt-get install -y --no-install-recommends chromium >/dev/null 2>&1; }; }; } \
	  || echo "No Chromium here and none could be installed: the tests that need a browser will be skipped."

$(VENV)/.made:
	$(PYTHON) -c "import sys; sys.exit(0 if sys.version_info >= (3, 11) else 'hopsight needs Python 3.11 or newer: make PYTHON=...')"
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing hopsight into $(VENV)"
	$(PIP) install -c constraints.txt -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing hopsight and its tools into $(VENV)"
	$(PIP) install -c constraints.txt -e ".[dev]"
	touch $(VENV)/.installed $@

# Every lower bound becomes an exact version; torch stays as in constraints.txt. Most of the first time goes into
# pyspark, which is published as source only: 4 minutes here. pip keeps the wheel it builds for the next time.
$(LOWEST)/.installed: $(VENV)/.made pyproject.toml constraints.txt
	$(PYTHON) -m venv $(LOWEST)
	grep '^torch==' constraints.txt > $(LOWEST)/constraints.txt
	$(PYTHON) -c "import pathlib, tomllib; \
	  project = tomllib.loads(pathlib.Path('pyproject.toml').read_text())['project']; \
	  extras = project['optional-dependencies']; \
	  needs = project['dependencies'] + extras['pyg'] + extras['networkx'] + extras['spark']; \
	  print(*[need.replace('>=', '==') for need in needs if not need.startswith('torch>')], sep='\n')" \
	  >> $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip --disable-pip-version-check --quiet install -c $(LOWEST)/constraints.txt -e ".[dev]"
	touch $@

$(AUDIT)/.installed: $(VENV)/.made
	$(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/python -m pip --disable-pip-version-check --quiet install pip-audit
	touch $@

clean:
	rm -rf $(VENV) $(DEMO) hopsight-out bench-out build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find src tests examples experiments -name __pycache__ -type d -prune -exec rm -rf {} +
