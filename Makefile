# Every target works on a fresh clone: it creates .venv when needed and reuses it later.
PYTHON ?= $(firstword $(foreach version,3.11 3.12 3.13,$(shell command -v python$(version))) python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
DEMO := hopsight-demo
# pyspark is published as source, takes minutes to build and cannot run without Java: its tests then skip with a reason.
DEV := dev$(shell command -v java >/dev/null 2>&1 && echo ,spark)

# Hundreds of processes start during the tests: they keep what Python compiled, whatever the surroundings say.
export PYTHONDONTWRITEBYTECODE :=

LOWEST := $(VENV)/lowest
AUDIT := $(VENV)/audit
EMPTY := $(VENV)/empty

.PHONY: help demo review docs results test test-long attack test-postgres test-lowest audit dist sbom lint bench bench-speed paper peers browser clean

help:
	@echo "make demo         find the planted anomalies in the built-in graph; the report is in $(DEMO)/"
	@echo "make review       judge the suspects of the demo in the browser"
	@echo "make docs         build the documentation site, running every example; open build/site/index.html"
	@echo "make test         run the linter, type checker, import checks and tests"
	@echo "make test-long    run the tests that take minutes"
	@echo "make attack       try 20,000 damaged files, 20 kills of every command and 1,000 random graphs per detector"
	@echo "make test-postgres  read tables of a real PostgreSQL server (installs postgresql with apt-get if it is missing)"
	@echo "make test-lowest  run the tests with the oldest versions that pyproject.toml allows (except torch)"
	@echo "make audit        check the versions in constraints.txt for known vulnerabilities (needs PyPI)"
	@echo "make dist         build wheel and sdist, install the wheel into an empty environment and try it from elsewhere"
	@echo "make sbom         list everything that an installation consists of (CycloneDX) in build/hopsight.cdx.json"
	@echo "make lint         run the linter, type checker and import checks only"
	@echo "make bench        compare all detectors on small graphs in minutes; results in bench-out/"
	@echo "make results      rebuild the tables and figures of RESULTS.md from the raw results under experiments/results/"
	@echo "make bench-speed  compare our speed with that of scikit-learn, SciPy, PyGOD, PyOD and other forms, and with the last commit"
	@echo "make paper        run the paper's experiments; takes many hours and can be resumed; results in bench-paper/"
	@echo "make peers        compare with the detectors of PyGOD and PyOD; can be resumed; results in bench-peers/"
	@echo "make clean        remove everything that the other targets created, except bench-paper/ and bench-peers/"

results: $(VENV)/.installed
	$(BIN)/python experiments/results.py

demo: $(VENV)/.installed
	$(BIN)/hopsight detect --out $(DEMO) --top 10 --quiet
	@echo "Judge the suspects yourself, or try your own files:"
	@echo "  make review"
	@echo "  $(BIN)/hopsight detect payments.csv --out result"

review: $(VENV)/.installed-review
	$(BIN)/hopsight review $(DEMO)

# Strict: a broken link, an undocumented public name or an example that fails stops the build.
docs: $(VENV)/.installed-docs
	$(BIN)/python -m mkdocs build --quiet
	@echo "Open build/site/index.html in a browser."

test: lint browser
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# Two processes, each with one thread.
test-long: $(VENV)/.installed-dev browser
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m slow --timeout 3600 -n 2 --durations 15

# Two processes, each with one thread. CONTRIBUTING.md has the figures of the last run.
attack: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m attack --timeout 3600 -n 2 --durations 15

# The tests start and stop a server of their own in a temporary folder; without one they fail.
test-postgres: $(VENV)/.installed-dev
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null \
	  || { timeout 120 apt-get update >/dev/null; timeout 300 apt-get install -y --no-install-recommends postgresql; }
	$(BIN)/python -m pytest -m postgres

# Old libraries warn about each other, and pyspark 4.0 does not close its sockets; we cannot fix that here.
test-lowest: $(LOWEST)/.installed
	$(LOWEST)/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -W ignore::DeprecationWarning -W ignore::ResourceWarning

# Without --strict, pip-audit succeeds even if it could not look up a single package.
audit: $(AUDIT)/.installed
	$(AUDIT)/bin/pip-audit -r constraints.txt --no-deps --disable-pip --strict

# The wheel is built from the sdist, which thereby proves to be complete.
dist: $(AUDIT)/.installed
	rm -rf build/dist $(EMPTY)
	$(AUDIT)/bin/python -m build --outdir build/dist
	$(PYTHON) -m venv $(EMPTY)
	$(EMPTY)/bin/python -m pip --disable-pip-version-check --quiet install -c constraints.txt build/dist/hopsight-*.whl
	.ci/smoke $(EMPTY)/bin/python

sbom: dist
	$(AUDIT)/bin/cyclonedx-py environment --pyproject pyproject.toml --mc-type library --output-reproducible \
	  --output-file build/hopsight.cdx.json $(EMPTY)/bin/python

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed
	$(BIN)/hopsight bench --suite quick --out bench-out

bench-speed: $(VENV)/.installed-peers
	$(BIN)/python experiments/speed.py

paper: $(VENV)/.installed
	$(BIN)/python experiments/bench.py --suite paper --out bench-paper

peers: $(VENV)/.installed-peers
	$(BIN)/python experiments/bench.py --suite peers --out bench-peers

# The tests of the HTML report need a browser; without one they are skipped with a reason.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && echo "Installing Chromium for the tests of the report" \
	       && { timeout 300 apt-get install -y --no-install-recommends chromium >/dev/null 2>&1 \
	            || { timeout 120 apt-get update >/dev/null 2>&1 \
	                 && timeout 300 apt-get install -y --no-install-recommends chromium >/dev/null 2>&1; }; }; } \
	  || echo "Chromium is not installed and could not be installed: tests that need a browser will be skipped."

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
	$(PIP) install -c constraints.txt -e ".[$(DEV)]"
	touch $(VENV)/.installed $@

$(VENV)/.installed-review: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing hopsight and its review page into $(VENV)"
	$(PIP) install -c constraints.txt -e ".[review]"
	touch $(VENV)/.installed $@

$(VENV)/.installed-docs: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing hopsight and the tools of its documentation into $(VENV)"
	$(PIP) install -c constraints.txt -e ".[docs,pyg,networkx]"
	touch $(VENV)/.installed $@

$(VENV)/.installed-peers: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing hopsight, PyGOD and PyOD into $(VENV)"
	$(PIP) install -c constraints.txt -e ".[peers]"
	touch $(VENV)/.installed $@

# Turn every lower bound into an exact version; torch stays as in constraints.txt. The first build takes minutes, because
# pyspark is published as source only; pip keeps the wheel that it builds.
$(LOWEST)/.installed: $(VENV)/.made pyproject.toml constraints.txt
	$(PYTHON) -m venv $(LOWEST)
	grep '^torch==' constraints.txt > $(LOWEST)/constraints.txt
	$(PYTHON) -c "import pathlib, tomllib; \
	  project = tomllib.loads(pathlib.Path('pyproject.toml').read_text())['project']; \
	  extras = project['optional-dependencies']; \
	  needs = project['dependencies'] + sum((extras[name] for name in ('pyg', 'networkx', 'excel', 'sql', 'zstd', 'frames', 'review', 'spark')), []); \
	  print(*[need.replace('>=', '==') for need in needs if not need.startswith('torch>')], sep='\n')" \
	  >> $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip --disable-pip-version-check --quiet install -c $(LOWEST)/constraints.txt -e ".[$(DEV)]"
	touch $@

$(AUDIT)/.installed: $(VENV)/.made
	$(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/python -m pip --disable-pip-version-check --quiet install pip-audit build cyclonedx-bom
	touch $@

clean:
	rm -rf $(VENV) $(DEMO) hopsight-out bench-out build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find src tests examples experiments -name __pycache__ -type d -prune -exec rm -rf {} +
