"""How much `pip install --no-compile .` puts on the disc, with all dependencies: at most 215 MB. Exit code 1 above it.

python tools/install_size.py [EXTRA]    # for instance all; the limit is for no extra
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 215


def folder_size(folder: Path) -> float:
    """Megabytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def main(extra: str = "") -> int:
    """Install into a temporary folder and print the size of each part of more than 1 MB."""
    wanted = f"{ROOT}[{extra}]" if extra else str(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
        subprocess.run([*install, "--target", folder, wanted], check=True)
        sizes = {path.name: folder_size(path) for path in Path(folder).iterdir() if path.is_dir()}
        total = folder_size(Path(folder))
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        if size >= 1:
            print(f"{size:8.1f} MB  {name}")
    print(f"{total:8.1f} MB in all{'' if extra else f', at most {LIMIT}'}")
    return int(not extra and total > LIMIT)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
