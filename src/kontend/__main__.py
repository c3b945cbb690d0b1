"""``python -m kontend`` is ``kontend``."""

import sys

from kontend.cli import main

if __name__ == "__main__":
    sys.exit(main())
