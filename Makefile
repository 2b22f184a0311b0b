# Thalweg. `make run` and `make test` do everything they need, starting from Python 3.11 and Java 17.
PYTHON ?= python3.11
BIN := .venv/bin
SHELL := /bin/bash

.PHONY: setup run test test-fast test-cases test-spark test-long test-services lint format bench-kernels bench-spark bench-ordering bench-planning bench-soak clean

setup: .venv/ready

.venv/ready: pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 is needed (set PYTHON=… if it has another name)"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch .venv/ready

run: setup
	$(BIN)/python examples/run_bargains.py

# Two halves of the tests side by side, a core for each.
define both
@set -o pipefail; trap 'kill 0' INT; \
$(BIN)/python -m pytest $(1) 2>&1 | sed -u 's/^/[1] /' & half=$$!; \
$(BIN)/python -m pytest $(2) 2>&1 | sed -u 's/^/[2] /'; rest=$$?; \
wait $$half; exit $$((rest + $$?))
endef

# Spark starts faster behind this, and each run of the tests starts it dozens of times.
.venv/started: .venv/ready
	$(BIN)/thalweg doctor --start
	touch .venv/started

# All that needs no JVM, with the runs on Spark that are killed; and all else that runs on Spark.
test: setup .venv/started
	$(call both, tests -v -m "not spark or processes" --durations=10, tests -v -m "spark and not processes" --durations=20)

# A minute: no JVM, no processes, and few random cases.
COMPILER := analysis codegen ir lang optimize runtime
test-fast: export THALWEG_CASES = 50
test-fast: setup
	$(call both, $(COMPILER:%=tests/%) -m "not spark and not slow", tests $(COMPILER:%=--ignore=tests/%) -m "not spark and not slow")

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

bench-spark: setup
	$(BIN)/python benchmarks/spark/bench.py
	$(BIN)/python benchmarks/spark/keys.py

bench-ordering: setup
	$(BIN)/python benchmarks/ordering/bench.py

bench-planning: setup
	$(BIN)/python -m benchmarks.planning.bench

bench-soak: setup
	$(BIN)/python benchmarks/soak/soak.py

clean:
	rm -rf .venv build *.egg-info src/*.egg-info
