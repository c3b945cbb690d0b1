# Everything runs in an environment of its own, .venv, which the first target makes. Only Python 3.11+, make and git are needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all costs lint api docs wheel bench fuzz fuzz-serve soak conformance e2e clients browser engines live envtest clean

demo: $(VENV)/.ready
	@$(BIN)/python examples/double_plan.py

# In one process more than there are processors, because many tests wait, and at most eight; WORKERS=0 is one after the other.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
PYTEST = $(BIN)/pytest -n $(WORKERS) --maxprocesses 8 --dist loadfile --no-loadscope-reorder

# Of each file the cheapest tests, by the costs that make costs has measured (tests/costs.py); all, where none is measured.
test: $(VENV)/.ready
	$(PYTEST) -m "not costly"

# All tests, as in CI.
test-all: $(VENV)/.ready
	$(PYTEST)

# Measure what each test takes, into tests/costs.json.
costs: $(VENV)/.ready
	KONTEND_COSTS=tests/costs.json $(PYTEST)

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check src tests tools benchmarks examples zoo
	$(BIN)/mypy
	$(BIN)/lint-imports

# The reference in docs/api, from docstrings. A test fails when it is out of date.
api: $(VENV)/.ready
	$(BIN)/python tools/make_api_reference.py

# The manual as a site in build/site. A link that leads nowhere is an error.
docs: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

conformance: $(VENV)/.ready
	$(BIN)/pytest tests/conformance

# Real clients for tests/clients and operators for tests/live: the Python ones from PyPI, the Go ones built where Go is installed.
clients: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group clients --group operators
	@if command -v go >/dev/null; then $(BIN)/python tools/build_clients.py; else echo "going without the Go clients: go is not installed"; fi

# Real operators in Go with published bugs, for tests/live/test_kro.py. Takes ten minutes or so.
operators: $(VENV)/.ready
	$(BIN)/python tools/build_clients.py --operators

# Playwright for the tests of the HTML page in Chromium, which the system has to have (Debian: apt-get install chromium).
browser: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group browser

# Ray and Dask, for the tests of executors.
engines: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group engines

# Planted bugs in real operators: each verdict must come out the same three times. Needs make clients. All verdicts are
# printed at the end, and kept in build/live.txt.
live: $(VENV)/.ready
	@mkdir -p build && rm -f build/live.txt
	@KONTEND_LIVE_ROUNDS=3 KONTEND_LIVE_RECORD=build/live.txt $(BIN)/pytest -n 2 tests/live; code=$$?; cat build/live.txt; exit $$code

# controller-runtime's own envtest suites on kontend, with a summary.
envtest: $(VENV)/.ready
	$(BIN)/python tools/envtest_suites.py

# Kubernetes' own Conformance specs. The first time builds them from the module proxy, which takes ten minutes: make e2e FOCUS=sig-apps
FOCUS ?= sig-api-machinery
e2e: $(VENV)/.ready
	@$(BIN)/python tools/run_e2e.py --focus '$(FOCUS)'

bench: $(VENV)/.ready
	@$(BIN)/python -m benchmarks

# Compare the explorer with the oracle of tests/explore/oracle on generated scenarios: make fuzz SEED=1000 SECONDS=600 JOBS=4
JOBS ?= 2
fuzz: $(VENV)/.ready
	@PYTHONPATH=tests $(BIN)/python -W ignore -m explore.oracle.generated.fuzz --seed $(SEED) --seconds $(SECONDS) --jobs $(JOBS)

# Build the sdist and, from it, the wheel; install the wheel into an environment of its own; run the demo
# and the pytest plugin there.
wheel: $(VENV)/.ready
	rm -rf dist build/wheel
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd build/wheel && bin/kontend --version && bin/python ../../examples/double_plan.py
	cd build/wheel && bin/kontend explore ../../examples/double_plan.py --scenario locked --one-process --html page.html && test -s page.html
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check pytest pytest-xdist pytest-html
	$(BIN)/python tools/plugin_from_wheel.py build/wheel/bin/python

# Both are time-boxed; SECONDS and SEED may be given.
SECONDS ?= 60
SEED ?= 1
fuzz-serve: $(VENV)/.ready
	@$(BIN)/python -m benchmarks.fuzz_serve --seconds $(SECONDS) --seed $(SEED)

soak: $(VENV)/.ready
	@$(BIN)/python -m benchmarks.soak

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache dist build

$(VENV)/.ready: pyproject.toml
	@echo "installing kontend and its tools into $(VENV), once; this takes a minute or two"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "kontend needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version). Say which one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $@
