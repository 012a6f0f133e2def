"""`vicinal reproduce`: figures of published papers, simulated beside what their text says of them; a module for each paper."""
