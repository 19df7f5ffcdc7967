"""What another package needs to add a model, an export, a format or a command.

These names are the interface whose major version a package declares (`unnaive.base.registry.INTERFACE`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unnaive.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from unnaive.base.open_files import ByteSource as ByteSource
    from unnaive.base.settings import setting as setting
    from unnaive.data.array_rules import ArrayRule as ArrayRule
    from unnaive.data.array_rules import TableRule as TableRule
    from unnaive.data.array_rules import check_keys as check_keys
    from unnaive.data.array_rules import check_rules as check_rules
    from unnaive.data.counts import Counts as Counts
    from unnaive.interop.export.conformance import EngineAgreement as EngineAgreement
    from unnaive.interop.export.export_folder import Target as Target
    from unnaive.interop.export.portable import PortableModel as PortableModel
    from unnaive.io.read_options import ReadOptions as ReadOptions
    from unnaive.io.tables.tables import Table as Table
    from unnaive.learning.learnt import Learnt as Learnt
    from unnaive.learning.traits import Traits as Traits
    from unnaive.linear.linear import Linear as Linear
    from unnaive.linear.scorer import Scorer as Scorer
    from unnaive.models.estimator import CountsModel as CountsModel
    from unnaive.models.estimator import DocumentsModel as DocumentsModel

_HOMES = {
    "ByteSource": "unnaive.base.open_files",
    "setting": "unnaive.base.settings",
    **dict.fromkeys(("ArrayRule", "TableRule", "check_keys", "check_rules"), "unnaive.data.array_rules"),
    "Counts": "unnaive.data.counts",
    **dict.fromkeys(("CountsModel", "DocumentsModel"), "unnaive.models.estimator"),
    "Learnt": "unnaive.learning.learnt",
    "Traits": "unnaive.learning.traits",
    "Linear": "unnaive.linear.linear",
    "Scorer": "unnaive.linear.scorer",
    "EngineAgreement": "unnaive.interop.export.conformance",
    "PortableModel": "unnaive.interop.export.portable",
    "Target": "unnaive.interop.export.export_folder",
    "ReadOptions": "unnaive.io.read_options",
    "Table": "unnaive.io.tables.tables",
}

if not TYPE_CHECKING:  # else a type checker would take any name for one of ours
    __getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(_HOMES)
