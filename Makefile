# Every target sets up what it needs on a machine with python3 (3.11 to 3.13), git and make. ARGS is handed to the program.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo serve worker test lint format bench bench-crawl bench-save bench-feed lock clean

ARGS ?=
SETUP := deploy/setup
PYTHON_IN := .venv/bin/python

help:  ## Show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo:  ## Crawl the bundled government site and keep serving what was stored (ARGS=--once ends when done)
	@$(SETUP)/runtime.sh
	@$(PYTHON_IN) deploy/demo/run.py $(ARGS)

serve:  ## Serve the admin and the API on 127.0.0.1, port PORT (8000)
	@$(SETUP)/runtime.sh
	@$(SETUP)/local_env.sh flock .var/migrate.lock $(PYTHON_IN) manage.py migrate --noinput
	@exec $(SETUP)/local_env.sh .venv/bin/gunicorn govcrawler.wsgi --workers 2 --no-control-socket --bind "127.0.0.1:$${PORT:-8000}" $(ARGS)

worker:  ## Run one worker that takes crawl jobs from the queue
	@$(SETUP)/runtime.sh
	@$(SETUP)/local_env.sh flock .var/migrate.lock $(PYTHON_IN) manage.py migrate --noinput
	@exec $(SETUP)/local_env.sh $(PYTHON_IN) manage.py worker $(ARGS)

test:  ## Run all tests on SQLite, then those that need a database or processes on a private MariaDB
	@$(SETUP)/packages.sh test
	@$(SETUP)/venv.sh requirements-dev.txt
	@$(SETUP)/venv.sh --optional requirements-production.txt
	@$(PYTHON_IN) -m tests.run $(ARGS)

lint:  ## Check style, types, import arrows, migrations and house rules
	@$(SETUP)/venv.sh requirements-dev.txt
	@$(SETUP)/lint.sh

format:  ## Put the code into the house format
	@$(SETUP)/venv.sh requirements-dev.txt
	@.venv/bin/ruff check --fix-only --quiet .
	@.venv/bin/ruff format .

bench:  ## Measure the program on this machine; status 1 when a ratio misses its goal (all three below)
bench-crawl:  ## Measure a crawl of the demo site against a bare loop that fetches the same URLs
bench-save:  ## Measure saving in batches against one by one, and late rows against early ones
bench-feed:  ## Measure what a consumer's page costs with ten times as many articles
bench bench-crawl bench-save bench-feed:
	@$(SETUP)/venv.sh requirements-dev.txt
	@$(PYTHON_IN) deploy/bench/run.py $(patsubst bench-%,%,$(filter bench-%,$@)) $(ARGS)

lock:  ## Compile the lock files anew from pyproject.toml
	@$(SETUP)/lock.sh $(ARGS)

clean:  ## Remove the virtual environment and caches; .var/ with its data stays
	@rm -rf .venv .bench .var/tools build *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .coverage
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "Removed the virtual environment and the caches. Data in .var/ was kept."
