"""`vicinal bench`: contestants run in turn on the same ranks, and so does MPI's own collective."""
