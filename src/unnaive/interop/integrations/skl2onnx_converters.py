"""skl2onnx: converters for TextClassifier and for the linear estimators on counts, alone or in a pipeline.

The nodes are those of `unnaive export --to onnx`. A TextClassifier takes a column of texts, an estimator on counts
the matrix of its pipeline. The outputs are labels and probabilities, as for classifiers of scikit-learn.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from unnaive.base.errors import UnnaiveError
from unnaive.classifier.text_classifier import TextClassifier
from unnaive.interop.export.onnx_graph import FLOAT, Graph, onnx_bytes
from unnaive.interop.export.onnx_target import prediction_nodes
from unnaive.interop.export.onnx_tokens import TextReader
from unnaive.interop.export.portable import portable_model
from unnaive.models.catalogue import MODELS, find_model

OPTIONS = {"zipmap": [True, False, "columns"], "nocl": [True, False], "output_class_labels": [False, True]}


def join(package: ModuleType) -> None:
    """Register the converters."""
    from skl2onnx import update_registered_converter

    models: list[type] = [TextClassifier, *map(find_model, MODELS)]
    for model in models:
        update_registered_converter(model, f"Unnaive{model.__name__}", _shapes, _convert, options=OPTIONS)


def _shapes(operator: Any) -> None:
    """Labels (n_texts,) and probabilities (n_texts, n_classes)."""
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType

    model = operator.raw_operator
    n_texts = operator.inputs[0].get_first_dimension()
    label = Int64TensorType if model.classes_.dtype.kind in "iu" else StringTensorType
    operator.outputs[0].type = label([n_texts])
    operator.outputs[1].type = FloatTensorType([n_texts, len(model.classes_)])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    import onnx

    model = operator.raw_operator
    if model.fitted_.multilabel:
        raise UnnaiveError("skl2onnx supports only single-label classifiers; use `unnaive export --to onnx`")
    graph = Graph(scope.get_unique_variable_name("unnaive") + "_")
    portable = portable_model(model.fitted_, "onnx", counts=True)
    input_name = operator.inputs[0].full_name
    if isinstance(model, TextClassifier):
        counts, columns = TextReader(graph, portable, graph("Reshape", input_name, [-1])).count()
    else:
        counts, columns = graph.cast(input_name, FLOAT), np.arange(model.n_features_in_)
    nodes = prediction_nodes(graph, portable, counts, columns)
    values = nodes.scores if nodes.probabilities is None else nodes.probabilities
    kind = np.int64 if model.classes_.dtype.kind in "iu" else object
    classes = np.array([label if kind is np.int64 else str(label) for label in model.classes_], kind)
    graph.rename(graph("Gather", classes, nodes.first), operator.outputs[0].full_name)
    graph.rename(graph.cast(values, FLOAT), operator.outputs[1].full_name)
    converted = onnx.load_from_string(onnx_bytes(graph, "", {}))
    container.nodes.extend(converted.graph.node)
    container.initializers.extend(converted.graph.initializer)
    for opset in converted.opset_import:
        container.node_domain_version_pair_sets.add((opset.domain, opset.version))
