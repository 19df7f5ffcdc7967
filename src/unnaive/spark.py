"""Spark: `fit`, `transform`, `filter_texts`, models at addresses, an Estimator for pipelines, models of streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unnaive.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from unnaive.scaleout.spark.filtering import filter_texts as filter_texts
    from unnaive.scaleout.spark.fitting import fit as fit
    from unnaive.scaleout.spark.hadoop_files import load as load
    from unnaive.scaleout.spark.hadoop_files import save as save
    from unnaive.scaleout.spark.pipelines import UnnaiveClassifier as UnnaiveClassifier
    from unnaive.scaleout.spark.pipelines import UnnaiveModel as UnnaiveModel
    from unnaive.scaleout.spark.scoring import transform as transform
    from unnaive.scaleout.spark.spark_session import ship as ship
    from unnaive.scaleout.spark.spark_session import start_session as start_session
    from unnaive.scaleout.spark.streaming import StreamedModel as StreamedModel

_HOMES = {
    "filter_texts": "unnaive.scaleout.spark.filtering",
    "fit": "unnaive.scaleout.spark.fitting",
    "load": "unnaive.scaleout.spark.hadoop_files",
    "save": "unnaive.scaleout.spark.hadoop_files",
    "transform": "unnaive.scaleout.spark.scoring",
    "ship": "unnaive.scaleout.spark.spark_session",
    "start_session": "unnaive.scaleout.spark.spark_session",
    "StreamedModel": "unnaive.scaleout.spark.streaming",
    "UnnaiveClassifier": "unnaive.scaleout.spark.pipelines",
    "UnnaiveModel": "unnaive.scaleout.spark.pipelines",
}

if not TYPE_CHECKING:  # else a type checker would take any name for one of ours
    __getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(_HOMES)
