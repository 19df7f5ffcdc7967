"""`unnaive explain`: which terms of a text count for and against a class."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.common.path_options import READ_INLINE
from unnaive.apps.common.screen import echo
from unnaive.apps.common.shared_options import AsJson, ModelFile, Page
from unnaive.base.visible_text import visible_json

if TYPE_CHECKING:
    from unnaive.learning.fitted import FittedModel

_EXAMPLES = {"number": 3, "date": "2024-03-05", "vector": [0.1, -0.2]}  # by kind of field


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(explain)


def explain(
    model: ModelFile,
    text: Annotated[
        str,
        READ_INLINE,
        typer.Argument(
            metavar="TEXT",
            help="The text itself, or a JSON object if the model has fields, or - for stdin.",
            show_default=False,
        ),
    ],
    label: Annotated[
        str | None, typer.Option("--class", metavar="CLASS", help="Class to explain; by default the predicted one.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Class to compare it with; by default the mean of the classes.")
    ] = None,
    report: Page = None,
    as_json: AsJson = False,
) -> None:
    """Show which words count for and against a class.

    Words for the class are blue in the text, words against it orange. A list shows what each term adds to the score.

    unnaive explain demo/tickets.model "I was charged twice, please refund me"
    """
    from unnaive.apps.common.output import check_reports, write_reports
    from unnaive.apps.common.screen import console
    from unnaive.classifier.model_file import load_model
    from unnaive.learning.class_spellings import find_class

    check_reports(report, (".html",))
    fitted = load_model(model)
    document = sys.stdin.read() if text == "-" else text
    if is_path(text):
        echo(f"note: {text} is a file or folder, but explain reads what it is given as the text itself; for the text "
             f"in a file: unnaive explain {model} - < FILE", err=True)  # fmt: skip
    explanation = fitted.explain(
        read_record(document, fitted), find_class(fitted, label), against=find_class(fitted, against)
    )
    if report:
        from unnaive.apps.common.report_identity import identify
        from unnaive.evaluation.explanation_page import explanation_page

        about = identify({"model file": [model]})
        write_reports(report, {".html": lambda: explanation_page(explanation, identity=about)})
    if as_json:
        echo(visible_json(explanation.to_dict()))
    else:
        console().print(explanation)


def is_path(text: str) -> bool:
    """Whether a text of one word is the name of a file or folder, of which the user may expect the content."""
    from unnaive.base.open_files import path_mode

    return len(text.split()) == 1 and not {".", "/", "\\"}.isdisjoint(text) and path_mode(text) is not None


def read_record(document: str, fitted: FittedModel) -> Any:
    """The text, or the JSON object for a model of records with fields; absent fields are empty.

    A text that is no JSON object is read as the main text, with nothing known of the other fields.
    """
    import json

    from unnaive.base.errors import BadData
    from unnaive.io.tables.json_tables import ABSENT_KEY, get_key
    from unnaive.text.field import TEXT_KINDS

    kinds = None if fitted.token_rule is None else fitted.token_rule.field_kinds
    if kinds is None:
        return document
    try:
        record = json.loads(document)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        if not set(TEXT_KINDS) & set(kinds.values()) or document.lstrip().startswith("{"):
            example = json.dumps({name: _EXAMPLES.get(kind.partition("(")[0], "…") for name, kind in kinds.items()},
                                 ensure_ascii=False)  # fmt: skip
            raise BadData(f"the model reads records with fields; give a JSON object such as {example}")
        return document
    values = {name: get_key(record, name) for name in kinds}
    if all(value is ABSENT_KEY for value in values.values()):
        raise BadData(
            f"the record has {', '.join(record) or 'no fields'}, but the model reads {', '.join(kinds)}; give at least "
            "one of them"
        )
    return {name: None if value is ABSENT_KEY else value for name, value in values.items()}
