"""Check THIRD_PARTY.md against what is installed; `make lint` runs this.

Every package that requirements/package.txt and requirements/serve.txt pin (the contents of the container) has a row in
the table of installed packages, no other package has one, and the row names the licences that the package's metadata
name. Metadata spell a licence in several ways (`BSD License`, `BSD-3-Clause`), so families are compared. The licence
of nanobind, which is linked into the wheels, is quoted word for word.
"""

import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parent.parent
PINS = ["requirements/package.txt", "requirements/all.txt"]
HEADING = "## Installed beside it"
FAMILIES = {
    "BSD": r"BSD",
    "MIT-CMU": r"MIT-CMU|HPND",
    "MIT": r"MIT(?!-CMU)",
    "Apache": r"Apache",
    "MPL": r"MPL|Mozilla",
    "PSF": r"PSF|Python Software Foundation",
    "ISC": r"ISC",
    "Zlib": r"Zlib",
    "CC0": r"CC0",
    "GPL": r"GPL|GNU",
}
REFUSED = {"GPL"}  # of any kind: they ask more of those who ship the container than this package's own licence does


def licence_families(words: str) -> set[str]:
    """The families of licences that some words name.

    >>> sorted(licence_families("MPL-2.0 AND (Apache-2.0 OR MIT)"))
    ['Apache', 'MIT', 'MPL']
    """
    return {family for family, pattern in FAMILIES.items() if re.search(rf"\b(?:0|[AL])?(?:{pattern})", words)}


def metadata_licence(package: Distribution) -> str:
    """The licence as the metadata of an installed package name it: an expression, or else field and classifiers."""
    about = package.metadata
    expression = about.get("License-Expression")
    if expression:
        return str(expression)
    classifiers = [one for one in about.get_all("Classifier") or [] if one.startswith("License ::")]
    field = (about.get("License") or "").strip()
    short = [field] if field and "\n" not in field and len(field) <= 60 else []  # others quote the whole licence
    return ", ".join([*short, *(one.split(" :: ")[-1] for one in classifiers)])


def pinned_names() -> set[str]:
    """The packages that the container contains."""
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in PINS]
    return {name for text in texts for name in re.findall(r"^([a-z0-9][a-z0-9._-]*)==", text, re.MULTILINE)}


def table_rows(notices: str) -> dict[str, str]:
    """The licence that THIRD_PARTY.md names for each installed package."""
    section = notices.partition(HEADING)[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| ([a-z0-9-]+) \| (.+) \|$", section, re.MULTILINE))


def differences(rows: dict[str, str], names: set[str]) -> list[str]:
    """One sentence for each package whose row is missing, superfluous or not what its metadata say."""
    found = [f"{name}: it is pinned, and has no row in THIRD_PARTY.md" for name in sorted(names - set(rows))]
    found += [f"{name}: it has a row in THIRD_PARTY.md, and is not pinned" for name in sorted(set(rows) - names)]
    for name in sorted(names & set(rows)):
        try:
            words = metadata_licence(distribution(name))
        except PackageNotFoundError:
            found.append(f"{name}: it is not installed; run make setup")
            continue
        families = licence_families(words)
        if not families or families & REFUSED:
            found.append(f"{name}: its metadata name {words or 'no licence'}, which is not among those accepted here")
        elif families != licence_families(rows[name]):
            found.append(f"{name}: THIRD_PARTY.md says {rows[name]}, its metadata say {words}")
    return found


def quoted_differences(notices: str) -> list[str]:
    """Whether the licence file of the installed nanobind is in THIRD_PARTY.md, word for word."""
    package = distribution("nanobind")
    files = [path for path in package.files or [] if path.name == "LICENSE" and "dist-info" in str(path)]
    licence = " ".join(Path(str(package.locate_file(files[0]))).read_text(encoding="utf-8").split()) if files else ""
    if licence and licence in " ".join(notices.split()):
        return []
    return ["nanobind: THIRD_PARTY.md does not quote the licence that the installed version has"]


def main() -> int:
    """Print what differs; 0 when nothing does."""
    notices = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")
    found = differences(table_rows(notices), pinned_names()) + quoted_differences(notices)
    for sentence in found:
        print(sentence)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
