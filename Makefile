# Thalweg. `make run` and `make test` do everything they need, starting from Python 3.11 and Java 17.
PYTHON ?= python3.11
BIN := .venv/bin

.PHONY: setup run test test-fast test-spark test-long test-services lint format bench-kernels bench-spark bench-ordering bench-soak clean

setup: .venv/ready

.venv/ready: pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 is needed (set PYTHON=… if it has another name)"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch .venv/ready

run: setup
	$(BIN)/python examples/run_bargains.py

# Two halves side by side, a core for each: all that needs no JVM; all that runs on Spark, with fewer kills and cases than
# test-long has.
test: setup
	@$(BIN)/python -m pytest tests -m "not spark" --durations=8 > .half.log 2>&1 & half=$$!; \
	THALWEG_KILLS=6 THALWEG_SPARK_CASES=24 $(BIN)/python -m pytest tests -m spark --durations=25; rest=$$?; \
	wait $$half; found=$$?; cat .half.log; exit $$((rest + found))

# No JVM: the compiler, the local engine and a share of the random cases.
test-fast: setup
	THALWEG_CASES=200 $(BIN)/python -m pytest tests -m "not spark"

test-spark: setup
	$(BIN)/python -m pytest tests -m spark

# Hours: new random cases by the ten thousand, on Spark by the thousand, some of these killed and started again.
test-long: setup
	THALWEG_EXPLORE=1 THALWEG_CASES=20000 THALWEG_SPARK_CASES=4000 THALWEG_SPARK_KILLED=400 THALWEG_KILLS=60 \
	$(BIN)/python -m pytest tests --durations=20

# Against real services, which the tests fetch (into .services) and start themselves.
test-services: setup
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

bench-soak: setup
	$(BIN)/python benchmarks/soak/soak.py

clean:
	rm -rf .venv build *.egg-info src/*.egg-info
