"""A model that learns from a stream: it counts each micro-batch once, even if Spark repeats it after a failure."""

from __future__ import annotations

import re
import tempfile
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unnaive.base.errors import BadData, UnnaiveError, UnnaiveWarning
from unnaive.classifier.model_file import load_model, save
from unnaive.classifier.text_classifier import TextClassifier
from unnaive.data.named_counts import NamedCounts
from unnaive.data.sorted_runs import Run, merge_runs
from unnaive.data.training_data import TrainingData
from unnaive.learning.fitted import FittedModel
from unnaive.learning.train import train
from unnaive.learning.update import learn_more
from unnaive.scaleout.spark.counting import CountedRows, count_complete_rows
from unnaive.scaleout.spark.fitting import check_trainable
from unnaive.scaleout.spark.hadoop_files import HadoopFiles, LocalFiles, files_at, place_of
from unnaive.scaleout.spark.rows import check_missing, has_label_arrays, labelled_rows, report_missing
from unnaive.scaleout.spark.spark_session import is_remote, running_session

NAME = re.compile(r"(\d{4})-batch-(\d{12})-([0-9a-f-]*)\.(model|counts)")
QUERY_ID = "sql.streaming.queryId"  # the property of the thread that calls foreachBatch
KEPT = 2  # files: the newest, and the previous one, which a program may still be reading
MODEL, COUNTS = "model", "counts"


@dataclass(frozen=True, order=True)
class LearntBatch:
    """The last batch that a file includes, as the name of the file says.

    query  the number of the query among those that the folder has learnt from
    batch  the number of the batch in its query
    id     the id of the query, which its checkpoint keeps; "" outside a query
    kind   "model", or "counts" as long as the documents are too few for a model
    """

    query: int
    batch: int
    id: str
    kind: str = MODEL

    @property
    def name(self) -> str:
        """The name of the file.

        >>> LearntBatch(0, 57, "6f7c").name
        '0000-batch-000000000057-6f7c.model'
        """
        return f"{self.query:04d}-batch-{self.batch:012d}-{self.id}.{self.kind}"

    @classmethod
    def of_name(cls, name: str) -> LearntBatch | None:
        """The batch of a file; None for other files."""
        match = NAME.fullmatch(name)
        return None if match is None else cls(int(match[1]), int(match[2]), match[3], match[4])


class StreamedModel:
    """A folder of model files that Structured Streaming updates, counting each batch exactly once.

    Pass `learn` to `foreachBatch`. After a failure Spark may deliver a batch a second time. The name of each file has
    the id of the query and the number of its last batch, and a file is complete as soon as it is there. So each batch
    is counted once, and a missing batch or another query is an error. After any batch the model equals one that was
    trained on all batches at once.

        stream = StreamedModel("hdfs://namenode:8020/models", model="complement")
        rows.writeStream.foreachBatch(stream.learn).option("checkpointLocation", "checkpoints/").start()
        stream.load().predict(["…"])

    Parameters
    ----------
    folder : str or Path
        The folder of the model files, here or at an address of Hadoop; it is created if it does not exist.
    text, label : str
        The columns of the stream.
    new_classes : bool, default=True
        Whether batches after the first may add new classes.
    new_query : bool, default=False
        Whether a query with another checkpoint continues the model; it must start with its batch 0.
    missing : {"error", "skip"}, default="skip"
        What to do with rows without a text or a label.
    **parameters
        The parameters of `unnaive.spark.fit`; the model must learn from counts.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        text: str = "text",
        label: str = "label",
        new_classes: bool = True,
        new_query: bool = False,
        missing: str = "skip",
        **parameters: Any,
    ) -> None:
        self.folder, self.text, self.label = str(place_of(folder)).rstrip("/"), text, label
        self.new_classes, self.new_query = new_classes, new_query
        self.missing = check_missing(missing)
        self.classifier = TextClassifier(**parameters)
        spec = self.classifier.spec()
        check_trainable(spec)
        if spec.model.traits.statistic != "counts":
            raise UnnaiveError(f"{spec.model.traits.title} cannot be updated; choose a model that learns from counts")

    def learn(self, df: Any, batch_id: int) -> None:
        """Add a micro-batch, unless it was added before."""
        if is_remote(df.sparkSession):
            raise UnnaiveError("StreamedModel does not run through Spark Connect; run the query in a driver of Spark")
        files = files_at(df.sparkSession, self.folder)
        before = self._learnt(files)
        query = df.sparkSession.sparkContext.getLocalProperty(QUERY_ID) or ""
        batch = self._next_batch(before[-1] if before else None, query, batch_id)
        if batch is None:
            return
        rows = labelled_rows(df, self.text, self.label, self.classifier.token_rule.fields)
        counted = CountedRows(None, 0, 0, 0)
        if not rows.isEmpty():
            counted = count_complete_rows(rows, self.classifier.token_rule)
            report_missing(counted.left_out, counted.n_rows, self.missing)
        multilabel = has_label_arrays(rows) or bool(self.classifier.multilabel)
        with tempfile.TemporaryDirectory(prefix="unnaive-") as folder:
            new = Path(folder) / MODEL
            if before and before[-1].kind == MODEL:
                with files.fetched(self._path(before[-1])) as old:
                    self._update(old, counted, new, multilabel=multilabel)
            else:
                batch = self._start(files, before, counted, batch, new, multilabel=multilabel)
            files.place(new, self._path(batch))
        for old_batch in before[: 1 - KEPT]:
            files.delete(self._path(old_batch))

    def _next_batch(self, last: LearntBatch | None, query: str, batch_id: int) -> LearntBatch | None:
        """The name for a batch that is to be learnt; None if it was learnt already."""
        same = last is None or not query or not last.id or query == last.id
        if last is not None and not same and not self.new_query:
            raise UnnaiveError(
                f"{self.folder} has learnt the batches up to {last.batch} of another query; continue with the "
                "checkpoint location of that query, name another folder, or set new_query=True to add this query"
            )
        if last is not None and same and batch_id <= last.batch:
            return None
        expected = last.batch + 1 if last is not None and same else 0
        if batch_id != expected:
            have = f"has no batch before {batch_id}" if last is None else f"has learnt the batches up to {last.batch}"
            have = f"{have} of another query" if not same else have
            raise UnnaiveError(
                f"{self.folder} {have}, and the query continues with its batch {batch_id}; restore the files of the "
                "folder, or learn everything again with a new folder and a new checkpoint location"
            )
        if last is None or same:
            return LearntBatch(0 if last is None else last.query, batch_id, query or (last.id if last else ""))
        return LearntBatch(last.query + 1, batch_id, query)

    def _update(self, old: Path, counted: CountedRows, new: Path, *, multilabel: bool) -> None:
        """Write the model in the file `old`, with the new documents, to the file `new`."""
        if not counted.n_complete:
            new.write_bytes(old.read_bytes())
            return
        named = counted.named(multilabel=multilabel)
        save(learn_more(load_model(old), named, new_classes=self.new_classes), new)

    def _start(
        self, files: HadoopFiles | LocalFiles, before: list[LearntBatch], counted: CountedRows, batch: LearntBatch,
        new: Path, *, multilabel: bool,
    ) -> LearntBatch:  # fmt: skip
        """Write the first model, or the counts as long as there are too few documents for one."""
        runs = [counted.run] if counted.run is not None else []
        if before:
            with files.fetched(self._path(before[-1])) as old:
                packed = old.read_bytes()
            runs += [Run.from_bytes(packed)] if packed else []
        run = merge_runs(runs)
        total = CountedRows(run, 0, 0, 0).named(multilabel=multilabel)
        try:
            save(self._train(total, multilabel=multilabel), new)
        except BadData as problem:
            new.write_bytes(b"" if run is None else run.to_bytes())
            warnings.warn(
                f"no model after batch {batch.batch}: {problem}; the documents are kept for the next batch",
                UnnaiveWarning, stacklevel=3,
            )  # fmt: skip
            return replace(batch, kind=COUNTS)
        return batch

    def _train(self, counts: NamedCounts, *, multilabel: bool) -> FittedModel:
        kind = "sets" if multilabel else "single"
        data = TrainingData.of_kept(counts, kind, token_rule=self.classifier.token_rule)
        return train(data.checked(), self.classifier.spec())

    def _learnt(self, files: HadoopFiles | LocalFiles) -> list[LearntBatch]:
        """The files in the folder, the newest last."""
        named = (LearntBatch.of_name(name) for name in files.names(self.folder))
        return sorted(batch for batch in named if batch is not None)

    def _path(self, batch: LearntBatch) -> str:
        return f"{self.folder}/{batch.name}"

    def learnt(self) -> list[LearntBatch]:
        """The last batches of the files in the folder, the newest last."""
        return self._learnt(self._files())

    def load(self) -> TextClassifier:
        """The newest model."""
        files = self._files()
        learnt = self._learnt(files)
        if not learnt or learnt[-1].kind != MODEL:
            so_far = "; the documents of the batches so far are too few" if learnt else ""
            raise UnnaiveError(f"there is no model in {self.folder} yet{so_far}; wait for the next batch")
        with files.fetched(self._path(learnt[-1])) as file:
            return TextClassifier.from_fitted(load_model(file))

    def _files(self) -> HadoopFiles | LocalFiles:
        return files_at(running_session(), self.folder)
