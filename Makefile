# Thalweg. `make run` and `make test` do everything they need, starting from Python 3.11 and Java 17.
PYTHON ?= python3.11
BIN := .venv/bin
SHELL := /bin/bash

PIP := -m pip --quiet --disable-pip-version-check

.PHONY: setup lock run test test-fast test-lowest test-cases test-spark test-long test-services lint format \
	bench-kernels bench-spark bench-ordering bench-planning bench-versions bench-soak bench-start bench-failures clean

setup: .venv/ready

# Exactly the versions of the lock file. The bytecode is made here because an editable install makes none, and where
# Python may not write it every start compiles all it imports; it is checked by content, so a checkout does not age it.
.venv/ready: pyproject.toml requirements/lock.txt
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 is needed (set PYTHON=… if it has another name)"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python $(PIP) install --requirement requirements/lock.txt
	$(BIN)/python $(PIP) install --no-deps --editable .
	$(BIN)/python $(PIP) check
	$(BIN)/python -m compileall -q --invalidation-mode checked-hash src
	touch .venv/ready

# The newest versions that pyproject.toml allows become the lock file: then `make test`, and commit it.
lock:
	rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python $(PIP) install --editable '.[dev]'
	{ echo '# What `make setup` installs. Made by `make lock`.'; .venv-lock/bin/python -m pip freeze --exclude-editable; } \
	> requirements/lock.txt
	rm -rf .venv-lock

run: setup .venv/started
	$(BIN)/thalweg run examples/bargains.py --degree 2 --max-tuples-per-epoch 50000
	$(BIN)/python examples/check_bargains.py spark

# The picture of a run in README.md. Its figures are those of this machine: leave it alone while it runs.
.PHONY: picture
picture: setup
	$(BIN)/python examples/draw_run.py

# Two halves of the tests side by side, a core for each.
define both
@set -o pipefail; trap 'kill 0' INT; \
$(BIN)/python -m pytest $(1) 2>&1 | sed -u 's/^/[1] /' & half=$$!; \
$(BIN)/python -m pytest $(2) 2>&1 | sed -u 's/^/[2] /'; rest=$$?; \
wait $$half; exit $$((rest + $$?))
endef

# Makes an archive of Spark's classes, with which every later start takes two thirds of the CPU time.
.venv/started: .venv/ready
	$(BIN)/thalweg doctor --start
	touch .venv/started

# All that needs no JVM, with the runs on Spark that are killed; and all else that runs on Spark.
test: setup .venv/started
	$(call both, tests -v -m "not spark or processes" --durations=10, tests -v -m "spark and not processes" --durations=20)

# A minute: no JVM, no processes, and few random cases.
COMPILER := analysis codegen ir lang library optimize runtime
test-fast: export THALWEG_CASES = 50
test-fast: setup
	$(call both, $(COMPILER:%=tests/%) -m "not spark and not slow", tests $(COMPILER:%=--ignore=tests/%) -m "not spark and not slow")

# The lowest versions of all dependencies: what `make test-fast` runs, and an example on Spark.
.venv-lowest/ready: pyproject.toml requirements/lowest.txt
	rm -rf .venv-lowest && $(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python $(PIP) install --constraint requirements/lowest.txt --editable '.[all]' pytest hypothesis
	touch .venv-lowest/ready

test-lowest: .venv-lowest/ready
	THALWEG_CASES=50 .venv-lowest/bin/python -m pytest tests -m "not spark and not slow"
	.venv-lowest/bin/python -m pytest tests/spark/test_examples.py

# A single test may take longer here than one that hangs is given elsewhere.
PATIENT := -o faulthandler_timeout=0

# More random cases: over 5,000 on the local engine, 40 on Spark, 20 kills.
test-cases: setup .venv/started
	THALWEG_CASES=2450 THALWEG_SPARK_CASES=40 THALWEG_KILLS=20 $(BIN)/python -m pytest $(PATIENT) tests/properties \
	tests/codegen/test_random_functions.py tests/analysis/test_random_code.py tests/engine/test_crash.py \
	tests/spark/test_plan_invariance.py tests/spark/test_crash.py

test-spark: setup .venv/started
	$(BIN)/python -m pytest tests -m spark

# Hours: new random cases by the ten thousand, on Spark by the thousand, some of these killed and started again.
test-long: setup .venv/started
	THALWEG_EXPLORE=1 THALWEG_CASES=20000 THALWEG_SPARK_CASES=4000 THALWEG_SPARK_KILLED=400 THALWEG_KILLS=60 \
	$(BIN)/python -m pytest $(PATIENT) tests --durations=20

# Against real services, which the tests fetch (into .services) and start themselves.
test-services: setup .venv/started
	$(BIN)/python -m pytest tests/services --durations=5

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench-kernels: setup
	$(BIN)/python benchmarks/kernels/bench.py
	$(BIN)/python benchmarks/kernels/functions.py
	$(BIN)/python benchmarks/kernels/sliding.py
	$(BIN)/python benchmarks/kernels/event_time.py
	$(BIN)/python benchmarks/kernels/brackets.py
	$(BIN)/python benchmarks/kernels/marks.py

bench-spark: setup
	$(BIN)/python benchmarks/spark/bench.py
	$(BIN)/python benchmarks/spark/keys.py

bench-ordering: setup
	$(BIN)/python benchmarks/ordering/bench.py

bench-planning: setup
	$(BIN)/python -m benchmarks.planning.bench

# Whether anything became slower since a commit: make bench-versions OLD=COMMIT
bench-versions: setup .venv/started
	$(BIN)/python -m benchmarks.versions.compare $(OLD)
	$(BIN)/python -m benchmarks.versions.compare $(OLD) --spark

bench-soak: setup
	$(BIN)/python benchmarks/soak/soak.py

# What failing tuples and bad lines of files cost, by kind of operator and format.
bench-failures: setup
	$(BIN)/python -m benchmarks.failures.bench

# How long commands take that do next to nothing; and where the time of a start on Spark goes.
bench-start: setup .venv/started
	$(BIN)/python benchmarks/start/commands.py
	$(BIN)/python benchmarks/start/spark.py

clean:
	rm -rf .venv .venv-lowest .venv-lock build *.egg-info src/*.egg-info
