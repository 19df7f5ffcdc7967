"""Examples of requests and answers, by the name of their schema; tests send all of the requests."""

from __future__ import annotations

from typing import Any

TEXT = "my invoice was charged twice"
BILLING = {
    "label": "billing", "labels": ["billing"], "probability": 0.93,
    "classes": [{"label": "billing", "probability": 0.93}],
}  # fmt: skip
TENSOR = {"name": "text", "shape": [1], "datatype": "BYTES", "data": [TEXT]}
CONFIG = '<View><Text name="text" value="$text"/><Choices name="queue" toName="text"/></View>'
CHANGE = {
    "model": "tickets", "version": 7, "version_id": "5fa9a7a53b9b94d1", "event": 7, "taught": 1, "forgotten": 0,
    "repeated": False, "tuning_lost": False,
    "new_classes": [], "undoes": None,
    "changed": [{"before": {"label": "bug", "probability": 0.6}, "after": {"label": "billing", "probability": 0.8}}],
}  # fmt: skip
EXAMPLES: dict[str, Any] = {
    "ClassifyRequest": {"text": TEXT, "top_k": 2},
    "ClassifyAnswer": {"model": "tickets", "version": 0, "version_id": "c2f1d5a90b3e7f84", "results": [BILLING]},
    "ChangeRequest": {"documents": [{"text": TEXT, "label": "billing"}]},
    "ForgetRequest": {"event": 7},
    "UndoRequest": {"event": 7},
    "RollbackRequest": {"version": 0},
    "ChangeAnswer": CHANGE,
    "ErrorAnswer": {"error": "field text of the request: Input should be a valid string"},
    "HuggingFaceRequest": {"inputs": TEXT, "parameters": {"top_k": 2}},
    "PredictRequest": {"inputs": [TEXT]},
    "InferRequest": {"inputs": [TENSOR]},
    "InvocationsRequest": {"dataframe_split": {"columns": ["text"], "data": [[TEXT]]}},
    "LabelStudioSetup": {"project": "1", "schema": CONFIG},
    "Webhook": {
        "action": "ANNOTATION_CREATED",
        "annotation": {"id": 7, "result": [{"type": "choices", "value": {"choices": ["billing"]}}]},
        "task": {"id": 3, "data": {"text": TEXT}},
    },
}
TABLE = "id,text\n1,my invoice was charged twice\n"
LINES = '{"text": "my invoice was charged twice"}\n{"text": "it does not start"}\n'  # the body of a stream
