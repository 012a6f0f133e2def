"""Programs of ranks, which the command starts by `python -m vicinal_command.ranks.NAME FOLDER`."""
