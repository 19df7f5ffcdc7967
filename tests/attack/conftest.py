"""The modules of this folder import each other by name, here and in tools/attack.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
