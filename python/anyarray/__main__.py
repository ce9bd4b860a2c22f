# SPDX-License-Identifier: Apache-2.0
"""`python -m anyarray`: the command line."""

import sys

from .cli import main

sys.exit(main())
