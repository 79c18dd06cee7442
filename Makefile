# Everything is installed into .venv, from a machine that has Python 3.11 or later, make and git.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# Some hundred processes are started; they need not compile Python anew, whatever the machine says.
export PYTHONDONTWRITEBYTECODE :=

# Tests share the physical cores: one process for each. PROCESSES=0 runs them in one, as pytest alone does.
PROCESSES ?= auto
# Examples that hypothesis draws: a quarter, or EXAMPLES=all, as each night. Kernels as plain Python take hundreds of
# times as long, and a tenth runs every line of them and looks at every index.
EXAMPLES ?= quarter
PYTEST := $(BIN)/python -m pytest --durations 20 --durations-min 2 --hypothesis-profile $(EXAMPLES)
PARALLEL := -n $(PROCESSES) --dist worksteal
# Many slow tests wait for servers and clocks, so two cores have work for three processes.
WAITING := -n $(if $(filter auto,$(PROCESSES)),3,$(PROCESSES)) --dist worksteal
# Kernels are compiled once, and not in the processes of tests, which would keep the compiler's memory.
COMPILED := $(BIN)/python tests/trials/compiled.py
# The compiled tests in five parts. Every test is in exactly one of them (tests/test_selections.py).
FAST := not slow
SLOW := slow and not nightly and not alone and not browser
BY_NIGHT := nightly and not alone and not browser
ALONE := alone and not browser
BROWSER := browser
# What has kernels is run twice more: as plain Python, and each night with index checks.
KERNELS := not no_kernel and not slow
CHECKED := not no_kernel
# Collecting all tests to find a few takes longer than running them.
ALONE_TESTS := $(shell grep -rlw mark.alone tests)
KERNEL_TESTS := tests/numeric tests/rating tests/tournament tests/test_every_system.py
COVERAGE := --cov=equipoise.numeric --cov=equipoise.rating --cov=equipoise.tournament \
	--cov-report=term --cov-fail-under=90

.PHONY: all setup kernels demo serve test test-all test-slow test-nightly test-fast test-jit-off test-bounds test-pages \
	test-browser test-lowest chromium mutants \
	format lint types layers papers docs outputs bench bench-readme clean \
	dist sbom dist-same release-check release-notes release-page bench-chart bench-nightly

all: lint types layers test-all docs  ## all checks

setup: .venv/.base .venv/.kernels  ## install the package and its libraries, compile its kernels

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed"; exit 1; }
	$(PYTHON) -m venv .venv
	$(PIP) pip

.venv/.base: pyproject.toml constraints.txt | .venv/bin/python
	$(PIP) --editable '.[charts,tune,service]'
	@touch $@

.venv/.kernels: .venv/.base
	@echo "compiling kernels for this machine, once (about a minute)"
	@$(BIN)/equipoise demo >/dev/null 2>&1 && touch $@

.venv/.test: .venv/.base
	$(PIP) --group test --group browser
	@touch $@

# All of them in one go, which is quicker than one after the other.
.venv/.groups: .venv/.base
	$(PIP) --group test --group browser --group lint --group docs --group bench
	@touch .venv/.test .venv/.lint .venv/.docs .venv/.bench $@

.venv/.lint: .venv/.test
	$(PIP) --group lint
	@touch $@

.venv/.docs: .venv/.base
	$(PIP) --group docs
	@touch $@

.venv/.bench: .venv/.base
	$(PIP) --group bench
	@touch $@

kernels: .venv/.base  ## compile what tests of the service need, if it is not on disk
	$(COMPILED)

demo: .venv/.base  ## rate the bundled sample
	$(BIN)/equipoise rate examples/contests.csv --system elo-mmr --output ratings.csv
	@head -6 ratings.csv

serve: .venv/.base  ## the service with a demo pool, filled from the bundled sample
	$(BIN)/equipoise serve --demo

test: .venv/.test  ## the tests that find most faults in about five minutes
	$(COMPILED)
	$(PYTEST) $(PARALLEL) -m "$(FAST)"

test-all: test test-slow test-nightly test-jit-off test-bounds test-pages  ## every test of every kind

# Tests that watch a clock come last, with the machine to themselves.
test-slow: .venv/.test  ## the compiled tests that `make test` leaves out
	$(PYTEST) $(WAITING) -m "$(SLOW)"
	$(PYTEST) -m "$(ALONE)" $(ALONE_TESTS)

test-nightly: .venv/.test  ## the compiled tests that CI leaves to the night
	$(PYTEST) $(PARALLEL) -m "$(BY_NIGHT)"

test-fast: test test-slow test-nightly  ## the compiled tests

test-jit-off: .venv/.test  ## kernels as plain Python, with coverage
	NUMBA_DISABLE_JIT=1 $(PYTEST:quarter=tenth) $(PARALLEL) -m "$(KERNELS)" $(KERNEL_TESTS) $(COVERAGE)

test-bounds: .venv/.test  ## kernels with every index checked, each night
	NUMBA_BOUNDSCHECK=1 $(COMPILED)
	NUMBA_BOUNDSCHECK=1 $(PYTEST) $(PARALLEL) -m "$(CHECKED)" $(KERNEL_TESTS)

test-pages: .venv/.test  ## the pages in a browser, if there is one
	$(PYTEST) -m "$(BROWSER)" tests/browser

test-browser: chromium  ## what CI looks at in a browser, which is installed where there is none
	NEED_CHROMIUM=1 $(PYTEST) -m "$(BROWSER) and not nightly" tests/browser

# In their own environment, each night. What the package needs has its lower bound, and pip chooses the rest,
# of which old libraries use what is deprecated.
LOWEST := .venv/lowest
test-lowest: .venv/bin/python  ## the tests of `make test`, with the lowest versions that pyproject.toml allows
	$(BIN)/python release/lowest.py > $(LOWEST).txt
	$(BIN)/python -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(LOWEST).txt \
		--editable '.[$(EXTRAS)]' --group test
	$(subst $(BIN),$(LOWEST)/bin,$(COMPILED))
	$(subst $(BIN),$(LOWEST)/bin,$(PYTEST)) $(PARALLEL) -m "$(FAST)" -W ignore::DeprecationWarning

# Debian's package where it can be installed, else the one Playwright knows.
chromium: .venv/.test
	@$(BIN)/python tests/browser/chromium.py || \
	{ test "$$(id -u)" = 0 && apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
		apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core; } || \
	$(BIN)/playwright install chromium

format: .venv/.lint
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: .venv/.lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: .venv/.lint .venv/.bench
	$(BIN)/mypy

layers: .venv/.lint
	$(BIN)/lint-imports

papers: .venv/.base  ## what the papers print beside what is computed, into docs/papers
	$(BIN)/python -m papers.pages

docs: .venv/.docs  ## the documentation; warnings and outputs of commands that differ are errors
	$(BIN)/python docs/generate_commands.py
	$(BIN)/python docs/generate_layout.py
	$(BIN)/python docs/generate_settings.py
	$(BIN)/python docs/generate_outputs.py --check
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo docs/_build/html/index.html

outputs: .venv/.base  ## write what the commands in guides print now
	$(BIN)/python docs/generate_outputs.py

bench: .venv/.bench  ## measure against the peers, results into benchmarks/results
	$(BIN)/python benchmarks/elo_mmr.py
	$(BIN)/python benchmarks/elo_mmx.py
	$(BIN)/python benchmarks/contest_size.py
	$(BIN)/python benchmarks/team_glicko2.py
	$(BIN)/python benchmarks/backtest.py
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/team_games.py
	$(BIN)/python benchmarks/draws.py
	$(BIN)/python benchmarks/balance.py
	$(BIN)/python benchmarks/rebalance.py
	$(BIN)/python benchmarks/equilibrium.py
	$(BIN)/python benchmarks/command.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/cold_start.py
	$(BIN)/python benchmarks/service.py
	$(BIN)/python benchmarks/service_crash.py
	$(BIN)/python benchmarks/service_void.py

mutants: .venv/.test  ## which small faults the tests nearest to them find
	$(BIN)/python benchmarks/mutants.py

bench-readme: .venv/.bench  ## measure the README's table again and write it there; ORDO= path of Ordo
	$(BIN)/python benchmarks/readme.py --readme $(if $(ORDO),--ordo $(ORDO))

clean:
	rm -rf .venv docs/_build ratings.csv

# What a release consists of. The workflows in .github call these targets, and those above.
EXTRAS := amg,charts,client,cluster,excel,postgresql,service,tracing,tune,zstd
SBOM := dist/sbom.cdx.json
RESULTS ?= benchmarks/history

.venv/.dist: .venv/.base
	$(PIP) --group dist
	@touch $@

dist: .venv/.dist  ## source archive and wheel into dist, the same bytes from the same commit
	$(BIN)/python release/dist.py

# The wheel with all extras, and the program that lists it, each in an environment of its own.
sbom: dist  ## the libraries of the wheel with all extras, as CycloneDX, into dist
	$(BIN)/python -m venv --clear --without-pip .venv/sbom
	$(BIN)/python -m venv --clear --without-pip .venv/sbom-writer
	$(subst -m pip,-m pip --python .venv/sbom/bin/python,$(PIP)) "$$(ls dist/*.whl)[$(EXTRAS)]"
	$(subst -m pip,-m pip --python .venv/sbom-writer/bin/python,$(PIP)) --group sbom
	.venv/sbom-writer/bin/python -m cyclonedx_py environment --pyproject pyproject.toml --mc-type library \
		--short-PURLs --output-reproducible --output-file $(SBOM) .venv/sbom/bin/python
	@echo $(SBOM)

# Builds anew, so FIRST must be outside the tree.
dist-same: dist  ## whether the packages are those in the folder FIRST, byte by byte
	@for one in dist/*; do cmp "$$one" "$(FIRST)/$$(basename "$$one")" || exit 1; done; echo the same bytes

release-check: .venv/bin/python  ## whether all files name VERSION, and the changelog has its section
	$(BIN)/python release/check.py '$(VERSION)'

release-notes: .venv/bin/python  ## the section of VERSION in CHANGELOG.md, printed or into the file NOTES
	@$(BIN)/python release/notes.py '$(VERSION)' '$(NOTES)'

# Only a workflow calls it: it needs the tag, and GitHub's program gh with the right to write.
release-page:
	gh release create '$(VERSION)' --verify-tag --title 'Equipoise $(patsubst v%,%,$(VERSION))' \
		--notes-file '$(NOTES)' dist/*

bench-chart: .venv/.base  ## charts of the results kept in the folder RESULTS; those of now are kept under DAY
	$(BIN)/python benchmarks/over_time.py $(RESULTS) $(DAY) $(if $(DAY),$(wildcard .venv/.bench-began))

# Others read real data that is not in this repository.
NIGHTLY := contest_size team_glicko2 balance rebalance equilibrium cold_start service service_void

bench-nightly: .venv/.bench  ## the benchmarks that need no data from elsewhere
	@touch .venv/.bench-began
	for one in $(NIGHTLY); do $(BIN)/python benchmarks/$$one.py || exit 1; done
