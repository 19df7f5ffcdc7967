"""A model that learns from a stream: it counts each micro-batch once, even if Spark repeats it after a failure."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from unnaive.base.errors import UnnaiveError
from unnaive.classifier.model_file import load_model, save
from unnaive.classifier.text_classifier import TextClassifier
from unnaive.data.training_data import TrainingData
from unnaive.learning.fitted import FittedModel
from unnaive.learning.train import train
from unnaive.learning.update import learn_more
from unnaive.scaleout.spark.counting import count_rows
from unnaive.scaleout.spark.fitting import check_trainable
from unnaive.scaleout.spark.rows import check_missing, has_label_arrays, labelled_rows

NAME = re.compile(r"batch-(\d{12})\.model")
KEPT = 2  # files: the newest, and the previous one, which a program may still be reading


class StreamedModel:
    """A folder of model files that Structured Streaming updates, counting each batch exactly once.

    Pass `learn` to `foreachBatch`. After a failure Spark may deliver a batch a second time. The model file of each
    batch has the batch's number in its name and is written atomically, so each batch is counted once. After any
    batch the model equals one that was trained on all batches at once.

        stream = StreamedModel("models/", model="complement")
        rows.writeStream.foreachBatch(stream.learn).option("checkpointLocation", "checkpoints/").start()
        stream.load().predict(["…"])

    Parameters
    ----------
    folder : str or Path
        The folder of the model files; it is created if it does not exist.
    text, label : str
        The columns of the stream.
    new_classes : bool, default=True
        Whether batches after the first may add new classes.
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
        missing: str = "skip",
        **parameters: Any,
    ) -> None:
        self.folder, self.text, self.label, self.new_classes = Path(folder), text, label, new_classes
        self.missing = check_missing(missing)
        self.classifier = TextClassifier(**parameters)
        spec = self.classifier.spec()
        check_trainable(spec)
        if spec.model.traits.statistic != "counts":
            raise UnnaiveError(f"{spec.model.traits.title} cannot be updated; choose a model that learns from counts")
        self.folder.mkdir(parents=True, exist_ok=True)

    def learn(self, df: Any, batch_id: int) -> None:
        """Add a micro-batch, unless it was added before."""
        files = self.files()
        if files and batch_id <= max(files):
            return
        rows = labelled_rows(df, self.text, self.label, self.classifier.token_rule.fields)
        if rows.isEmpty():
            return
        new = count_rows(rows, self.classifier.token_rule, missing=self.missing)
        if files:
            fitted = learn_more(load_model(files[max(files)]), new, new_classes=self.new_classes)
        else:
            kind = "sets" if has_label_arrays(rows) or self.classifier.multilabel else "single"
            data = TrainingData.of_kept(new, kind, token_rule=self.classifier.token_rule)
            fitted = train(data, self.classifier.spec())
        save(fitted, self.folder / f"batch-{batch_id:012d}.model")
        for number in sorted(files)[: 1 - KEPT]:
            files[number].unlink()

    def files(self) -> dict[int, Path]:
        """The model files by the number of the last batch that they include."""
        matches = ((NAME.fullmatch(path.name), path) for path in self.folder.iterdir())
        return {int(match[1]): path for match, path in matches if match}

    def load(self) -> TextClassifier:
        """The newest model."""
        files = self.files()
        if not files:
            raise UnnaiveError(f"there is no model in {self.folder} yet; wait for the first batch")
        fitted: FittedModel = load_model(files[max(files)])
        return TextClassifier.from_fitted(fitted)
