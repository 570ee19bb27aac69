# `make help` lists what there is. Variables: PYTHON (the interpreter that makes .venv), ARGS; TORCH and
# RUNTIME of `make bundle`.

PYTHON ?= python3
ARGS ?=
BIN := .venv/bin
PICTURE := helixscope-window.png
# Seconds after which a window that nobody can see, and so nobody can close, is given up.
PATIENCE := 300

# Without a display, everything that opens a window runs under a virtual one.
HEADLESS := $(if $(filter Linux,$(shell uname -s)),$(if $(DISPLAY)$(WAYLAND_DISPLAY),,yes))
XVFB := $(if $(HEADLESS),bash .ci/xvfb.sh)

.DEFAULT_GOAL := help
.PHONY: help run test test-all findings check format bench docs wheel bundle clean app-environment test-environment docs-environment bundle-environment static audit

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 16

run: app-environment ## open the window; make run ARGS="a/model/folder --positions 1-99"
ifeq ($(HEADLESS),yes)
	@echo "No display here: opening the window on a virtual one."
	@$(XVFB) timeout $(PATIENCE) $(BIN)/python main.py open --picture $(PICTURE) $(ARGS)
	@echo "A picture of the window is in $(CURDIR)/$(PICTURE)"
else
	@$(BIN)/python main.py $(ARGS)
endif

# All cores are busy with tests: threads of linear algebra would only wait for each other. The many
# processes that tests start share what the first of them compiles.
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest \
	--numprocesses auto --dist loadfile --no-loadscope-reorder

test: test-environment static ## the static checks, then the tests on all cores, but for slow ones
	@$(PYTEST) -m "not slow" $(ARGS)

test-all: test-environment static ## the static checks, then all tests, slow ones too
	@PYTHON="$(PYTHON)" bash .ci/system-packages.sh all-tests
	@$(PYTEST) $(ARGS)

findings: test-environment ## make all tables of docs/findings.md again, in hours; goes on where it stopped
	@HELIXSCOPE_FINDINGS=build/findings $(BIN)/python -m pytest tests/main/test_findings_of_*.py $(ARGS)

check: test-environment static audit ## lint, format, types, import contract, known vulnerabilities

static: test-environment
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy --no-error-summary
	@kept=$$($(BIN)/lint-imports --no-logo --no-cache 2>&1) || { echo "$$kept"; exit 1; }

# Asks the network, so it is no part of `make test`; without one it is left out with a line.
audit: test-environment
	@$(BIN)/python .ci/audit.py

format: test-environment ## sort imports and lay out the code
	@$(BIN)/ruff check --fix --quiet .
	@$(BIN)/ruff format .

bench: test-environment ## the benchmarks, each against its baseline, as tables
	@status=0; for script in tests/benchmarks/bench_*.py; do \
		$(XVFB) $(BIN)/python $$script || status=1; \
	done; exit $$status

# Notebooks are shown as they are: the tests run them.
docs: docs-environment ## build the pages of the guide, the findings and the code into build/docs
	@$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -c docs/site . build/docs
	@echo "The first page is $(CURDIR)/build/docs/docs/site/index.html"

wheel: app-environment ## build dist/helixscope-….whl
	@$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	@ls dist/*.whl

# RUNTIME is the file that AppImages begin with, from github.com/AppImage/type2-runtime.
bundle: bundle-environment ## a folder and an AppImage that need no Python; with PyTorch: TORCH=cpu
	@$(BIN)/python -m tools.bundle --torch "$(TORCH)" $(if $(RUNTIME),--runtime "$(RUNTIME)")

clean: ## remove the environment and all that was built
	rm -rf .venv build dist docs/site/generated *.egg-info $(PICTURE) .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

app-environment:
	@PYTHON="$(PYTHON)" bash .ci/set-up.sh app

docs-environment:
	@PYTHON="$(PYTHON)" bash .ci/set-up.sh docs

bundle-environment:
	@PYTHON="$(PYTHON)" bash .ci/set-up.sh bundle

test-environment:
	@PYTHON="$(PYTHON)" bash .ci/set-up.sh test
