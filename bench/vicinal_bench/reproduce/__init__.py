"""`vicinal reproduce`: figures of published papers, simulated, one module per paper."""
