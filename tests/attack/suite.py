"""All attacks at a scale, and the table of how they ended; `make attack` runs it whole, `make test` a small part."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # where the state machine is

import corpora
import fasttext_files
import growth
import model_files
import receipt_files
import texts
import writers
from forks import COLUMNS, SURVIVED, Tally, run_forked

WHOLE = {
    "files": 100_000,
    "native": 100_000,
    "fasttext": 20_000,
    "receipts": 20_000,
    "texts": 1_000_000,
    "kills": 1_000,
    "seconds": 60.0,
    "corpora": 200,
    "words": 60_000,
    "timed": True,
    "sequences": 10_000,
    "service": 300,
    "spark": 30,
}
SMALL = {
    "files": 1_500, "native": 1_500, "fasttext": 300, "receipts": 600, "texts": 10_000, "kills": 60, "seconds": 3.0,
    "corpora": 12, "words": 5_000, "timed": False, "sequences": 60, "service": 10, "spark": 2,
}  # fmt: skip
BLOCK = 100  # sequences whose outcome is kept, so that a run that was stopped goes on where it was


# of `make attack`, which goes on with the next part where it was stopped
FILES_PART, TEXTS_PART, GROWTH_PART = 2_500, 100_000, 16


def attack_files(scale, part=0):
    """Mutants of model files: the seeds of one part."""
    seeds = range(part * FILES_PART, min(scale["files"], (part + 1) * FILES_PART))
    with tempfile.TemporaryDirectory() as folder:
        models = model_files.make_models(folder)
        return run_forked("corrupted model files", model_files.attack_with(models, folder), seeds)


def attack_native(scale, part=0):
    """Mutants of the model files whose arrays native code reads by itself: the seeds of one part."""
    seeds = range(part * FILES_PART, min(scale["native"], (part + 1) * FILES_PART))
    with tempfile.TemporaryDirectory() as folder:
        models = model_files.make_native_models(folder)
        return run_forked("corrupted fastText kinds, neighbours", model_files.attack_with(models, folder), seeds)


def attack_fasttext(scale, part=0):
    """Damaged model files of fastText: the seeds of one part."""
    seeds = range(part * FILES_PART, min(scale["fasttext"], (part + 1) * FILES_PART))
    with tempfile.TemporaryDirectory() as folder:
        return run_forked("corrupted files of fastText", fasttext_files.attack_with(folder), seeds)


def attack_receipts(scale):
    with tempfile.TemporaryDirectory() as folder:
        cases = receipt_files.make_cases(folder)
        return run_forked("altered receipts", receipt_files.attack_with(cases, folder), range(scale["receipts"]))


def attack_texts(scale, part=0):
    """Random texts, a batch for each seed of one part."""
    start, end = part * TEXTS_PART, min(scale["texts"], (part + 1) * TEXTS_PART)
    batches = range(start // texts.BATCH, -(-end // texts.BATCH))
    tally = run_forked("texts, kernel against reference", texts.compare, batches)
    for name in ("tried", "refused", "survived"):
        setattr(tally, name, getattr(tally, name) * texts.BATCH)
    return tally


def attack_hash(scale):
    tally = Tally("words made to collide")
    for _, outcome, note in texts.attack_hash(scale["words"]):
        tally.add(outcome, note)
    return tally


def attack_kill(scale):
    with tempfile.TemporaryDirectory() as folder:
        return writers.attack_kill(folder, scale["kills"])


def attack_readers(scale):
    with tempfile.TemporaryDirectory() as folder:
        return writers.attack_readers(folder, scale["seconds"])


def attack_corpora(scale):
    with tempfile.TemporaryDirectory() as folder:
        return corpora.attack_corpora(folder, scale["corpora"])


def attack_growth(scale, part=0):
    """Inputs made to take long: where time is measured the families of one part, else all."""
    names = list(growth.FAMILIES)
    if scale["timed"]:
        names = names[part * GROWTH_PART : (part + 1) * GROWTH_PART]
    return growth.attack_growth(scale["timed"], names, tell=lambda words: sys.stderr.write(f"{words}\n"))


def run_sequences(name, run, numbers, **limits):
    """Sequences of verbs by their numbers; each survives whether or not some of its verbs were refused."""

    def work(number):
        run(number)
        return SURVIVED, ""

    return run_forked(name, work, numbers, **limits)


def attack_sequences(scale, part=0):
    """Sequences without servers; a part of BLOCK of them."""
    from statemachine.sequences import run_sequence

    numbers = range(part * BLOCK, min((part + 1) * BLOCK, scale["sequences"]))
    return run_sequences("sequences of verbs", run_sequence, numbers)


def attack_service(scale):
    from statemachine.service import run_service_sequence

    return run_sequences("sequences with the service", run_service_sequence, range(scale["service"]))


def attack_spark(scale):
    from statemachine.spark import run_spark_sequence

    numbers = range(scale["spark"])  # the virtual machine reserves more address space than it uses
    return run_sequences("sequences with Spark", run_spark_sequence, numbers, workers=1, seconds=600, memory=None)


ATTACKS = {
    "files": attack_files, "native": attack_native, "fasttext": attack_fasttext, "receipts": attack_receipts,
    "texts": attack_texts, "hash": attack_hash, "kill": attack_kill, "readers": attack_readers,
    "corpora": attack_corpora, "growth": attack_growth, "sequences": attack_sequences,
    "service": attack_service, "spark": attack_spark,
}  # fmt: skip


def parts_of(name, scale):
    """How many parts an attack has at a scale; each is called with its number."""
    sizes = {
        "files": (scale["files"], FILES_PART),
        "native": (scale["native"], FILES_PART),
        "fasttext": (scale["fasttext"], FILES_PART),
        "texts": (scale["texts"], TEXTS_PART),
        "sequences": (scale["sequences"], BLOCK),
        "growth": (len(growth.FAMILIES) if scale["timed"] else 1, GROWTH_PART),
    }
    return -(-sizes[name][0] // sizes[name][1]) if name in sizes else 1


def run_part(name, scale, part):
    """The tally of one part of an attack."""
    return ATTACKS[name](scale, part) if parts_of(name, scale) > 1 else ATTACKS[name](scale)


def table(tallies):
    """One line for each attack: tried, refused, survived, crashed, hung, wrong, lost."""
    columns = COLUMNS
    lines = [f"{'attack':<34}" + "".join(f"{name:>11}" for name in columns)]
    for tally in tallies:
        lines.append(f"{tally.name:<34}" + "".join(f"{getattr(tally, name):>11,}" for name in columns))
    totals = [sum(getattr(tally, name) for tally in tallies) for name in columns]
    lines.append(f"{'all':<34}" + "".join(f"{total:>11,}" for total in totals))
    return "\n".join(lines)
