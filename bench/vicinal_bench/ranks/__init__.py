"""Programs of ranks, which benchmarks start by `python -m vicinal_bench.ranks.NAME FOLDER`."""
