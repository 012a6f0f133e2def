"""The command `vicinal`. Programs import the package `vicinal`.

cli.py reads the arguments. spmv.py, explain.py and others do the work. The MPI ranks that they
start run the modules in ranks/. `vicinal bench` and `vicinal reproduce` are in the package
`vicinal_bench`.
"""
