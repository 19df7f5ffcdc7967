"""UnnaiveClassifier and UnnaiveModel: an Estimator and a Model of pyspark.ml for Pipeline and CrossValidator."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from unnaive.classifier.model_file import load_model, save
from unnaive.learning.fitted import FittedModel
from unnaive.scaleout.spark.fitting import fit
from unnaive.scaleout.spark.scoring import transform
from unnaive.scaleout.spark.spark_session import require_pyspark

require_pyspark()

from pyspark import keyword_only  # noqa: E402
from pyspark.ml import Estimator, Model  # noqa: E402
from pyspark.ml.functions import array_to_vector  # noqa: E402
from pyspark.ml.param import Param, Params  # noqa: E402
from pyspark.ml.util import (  # noqa: E402
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)


class _Columns(Params):  # type: ignore[misc]
    """The column parameters of both stages, named as in pyspark.ml."""

    textCol: Any = Param(Params._dummy(), "textCol", "column of texts")
    labelCol: Any = Param(Params._dummy(), "labelCol", "column of labels: strings, whole numbers or arrays of them")
    predictionCol: Any = Param(Params._dummy(), "predictionCol", "column to add: the label")
    probabilityCol: Any = Param(
        Params._dummy(), "probabilityCol", "column to add: a vector of the probability of each class; '' for none"
    )

    def _set_column_defaults(self) -> None:
        self._setDefault(textCol="text", labelCol="label", predictionCol="prediction", probabilityCol="")


class UnnaiveClassifier(Estimator, _Columns, DefaultParamsReadable, DefaultParamsWritable):  # type: ignore[misc]
    """A text classifier as a stage of a Pipeline.

    `settings` is a dict of the parameters of TextClassifier and of the model, so a parameter grid is a list of dicts:

        stage = UnnaiveClassifier(model="multinomial", settings={"alpha": 0.1})
        grid = ParamGridBuilder().addGrid(stage.settings, [{"alpha": 0.1}, {"alpha": 1.0}]).build()
    """

    model: Any = Param(Params._dummy(), "model", "name of the model")
    settings: Any = Param(Params._dummy(), "settings", "parameters of TextClassifier and of the model")

    @keyword_only  # type: ignore[untyped-decorator]
    def __init__(
        self,
        *,
        model: str = "multinomial",
        settings: dict[str, Any] | None = None,
        textCol: str = "text",
        labelCol: str = "label",
        predictionCol: str = "prediction",
        probabilityCol: str = "",
    ) -> None:
        super().__init__()
        self._set_column_defaults()
        self._setDefault(model="multinomial", settings={})
        parameters = {name: value for name, value in self._input_kwargs.items() if value is not None}
        self._set(**parameters)

    def _fit(self, dataset: Any) -> UnnaiveModel:
        columns = {"text": self.getOrDefault("textCol"), "label": self.getOrDefault("labelCol")}
        trained = fit(dataset, **columns, model=self.getOrDefault("model"), **self.getOrDefault("settings"))
        return self._copyValues(UnnaiveModel(trained.fitted_))  # type: ignore[no-any-return]


class UnnaiveModel(Model, _Columns, MLReadable, MLWritable):  # type: ignore[misc]
    """The trained stage that UnnaiveClassifier returns; `fitted` is its FittedModel."""

    def __init__(self, fitted: FittedModel | None = None) -> None:
        super().__init__()
        self._set_column_defaults()
        self.fitted = fitted

    def _transform(self, dataset: Any) -> Any:
        vector, name = self.getOrDefault("probabilityCol"), self.getOrDefault("predictionCol")
        new = transform(
            dataset, self.fitted, text=self.getOrDefault("textCol"), prediction=name, probability=vector or None
        )
        if not vector:
            return new
        return new.withColumn(vector, array_to_vector(vector))

    def write(self) -> MLWriter:
        """A writer that saves the parameters of the stage and the model file."""
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader[UnnaiveModel]:
        """A reader that loads the stage."""
        return _ModelReader()


class _ModelWriter(MLWriter):  # type: ignore[misc]
    def __init__(self, stage: UnnaiveModel) -> None:
        super().__init__()
        self.stage = stage

    def saveImpl(self, path: str) -> None:
        DefaultParamsWriter.saveMetadata(self.stage, path, self.sparkSession)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model"
            save(self.stage.fitted, file)  # type: ignore[arg-type]
            row = [(bytearray(file.read_bytes()),)]
        self.sparkSession.createDataFrame(row, "model binary").coalesce(1).write.parquet(f"{path}/model")


class _ModelReader(MLReader[UnnaiveModel]):  # type: ignore[misc]
    def load(self, path: str) -> UnnaiveModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        packed = self.sparkSession.read.parquet(f"{path}/model").collect()[0]["model"]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model"
            file.write_bytes(packed)
            stage = UnnaiveModel(load_model(file))
        stage._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(stage, metadata)
        return stage
