"""`python -m vicinal_command` is the command `vicinal`."""

import sys

from .cli import main

sys.exit(main())
