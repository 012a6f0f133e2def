"""The command `vicinal`; programs import the package of that name.

cli.py and cli_bench.py read what was asked for, spmv.py, explain.py and benchmarks/ do it, and ranks/ is what the
ranks run that they start.
"""
