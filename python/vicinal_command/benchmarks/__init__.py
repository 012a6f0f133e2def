"""`vicinal bench`: contestants have their turns on the same ranks, beside what MPI itself has."""
