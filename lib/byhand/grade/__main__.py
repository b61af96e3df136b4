"""`python -m byhand.grade` is `byhand-grade`."""

import sys

from .course.cli import main

sys.exit(main())
