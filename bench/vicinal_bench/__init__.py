"""The commands `vicinal bench` and `vicinal reproduce`. This package is installed beside vicinal.

cli_bench.py and cli_reproduce.py read the arguments. benchmarks/ and reproduce/ do the work. The
MPI ranks that they start run the modules in ranks/.
"""
