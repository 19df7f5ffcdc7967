"""The options of training, generated from the declaration of TrainingOptions, for `unnaive train`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unnaive.apps.common.declared import command_parameter, with_options
from unnaive.apps.common.shared_options import parse_select
from unnaive.learning.training_options import TRAINING_OPTIONS

LEARNING = "Learning"  # heading in the help
NOT_HERE = ("multilabel", "n_jobs")  # multilabel is seen in the data; every command has --jobs
NAMES = {"random_state": "seed"}  # parameters with other names than the option


def training_options(*flags: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Replace the parameter `training` of a command by the training options, by name.

    Those in `flags` are options of their own, --set gives the others.
    """
    options = {
        name: command_parameter(setting, NAMES.get(name, name), LEARNING, by_set=name not in flags)
        for name, setting in TRAINING_OPTIONS.items()
        if name not in NOT_HERE
    }
    options["documents_limit"] = options["documents_limit"].replace(default="500MB")
    return with_options("training", options, training_values)


def training_values(**options: Any) -> dict[str, Any]:
    """Values of the command line as parameters of TextClassifier.

    >>> training_values(select="chi2:20", documents_limit="1MB", min_df=2)
    {'select': ('chi2', 20), 'documents_limit': 1000000, 'min_df': 2}
    """
    from unnaive.base.byte_sizes import parse_size

    read: dict[str, Callable[[Any], Any]] = {"select": parse_select, "documents_limit": parse_size}
    return {name: read.get(name, lambda value: value)(value) for name, value in options.items()}
