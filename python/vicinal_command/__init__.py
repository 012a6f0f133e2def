"""The command `vicinal`. Programs import the package `vicinal`.

cli.py and cli_bench.py read the arguments. spmv.py, explain.py and benchmarks/ do the work. The MPI
ranks that they start run the modules in ranks/.
"""
