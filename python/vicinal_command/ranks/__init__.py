"""What the ranks run that the command starts, by `python -m vicinal_command.ranks.NAME FOLDER`; not for hands."""
