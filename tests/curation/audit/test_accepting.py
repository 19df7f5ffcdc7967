"""Findings that are accepted on the page of an audit: the saved file is one that `unnaive clean` applies."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from html import unescape

import pytest
from support.browser import NEEDS_CHROMIUM, collect_problems, find_violations, open_browser

from unnaive.curation.audit import audit_page as pages
from unnaive.curation.audit.accepting import FILE
from unnaive.curation.audit.audit import Audit
from unnaive.curation.audit.audit_page import audit_page, audit_verdict
from unnaive.curation.audit.findings import COLUMNS, Finding, read_corrections
from unnaive.curation.audit.label_errors import ErrorEstimate

EVIL = '=cmd("x"), </script><script>alert(1)</script>\nspam'
FINDINGS = (
    Finding("label-error", "doubted", "relabel", 3, "3", "ham", EVIL, 0.9, text="a, \"quoted\" text\nof two lines"),
    Finding("label-error", "doubted", "relabel", 5, "5", "spam", "ham", 0.8, text="نص عربي"),
    Finding("duplicate", "same as row 1", "drop", 7, "7", "ham", others=(1,)),
    Finding("boilerplate", "a line tells", score=0.7),
)  # fmt: skip
AUDIT = Audit("mail.csv", 20, 2, 40, FINDINGS, None, fast=True)


def saved_lines(page):
    """What the page's script reads."""
    return json.loads(re.search(r'<script type="application/json" id="findings">(.*?)</script>', page, re.DOTALL)[1])


def test_each_line_is_that_of_the_findings_file_accepted():
    content = saved_lines(audit_page(AUDIT))
    assert content["file"] == FILE
    rows = list(csv.DictReader(io.StringIO(content["header"] + "".join(content["lines"]) + "".join(content["others"]))))
    assert tuple(rows[0]) == COLUMNS
    assert [row["accept"] for row in rows] == ["yes"] * 3
    corrections = read_corrections(rows, FILE)
    assert [(one.row, one.action, one.proposed) for one in corrections] == [
        (3, "relabel", EVIL), (5, "relabel", "ham"), (7, "drop", ""),
    ]  # fmt: skip
    assert content["lines"][3] == ""  # nothing to apply


def test_boxes_start_as_the_findings_file_does():
    boxes = re.findall(r'<input type="checkbox" data-line="(\d+)" aria-label="[^"]*"( checked)?>', audit_page(AUDIT))
    assert boxes == [("0", ""), ("1", ""), ("2", " checked")]


def test_findings_that_are_not_on_the_page_are_saved_if_they_are_accepted_by_default(monkeypatch):
    monkeypatch.setattr(pages, "SHOWN", 1)
    content = saved_lines(audit_page(AUDIT))
    assert len([line for line in content["lines"] if line]) == 2
    assert content["others"] == []  # the second label error is not accepted by default
    several = Audit("mail.csv", 20, 2, 40, (*FINDINGS, Finding("duplicate", "again", "drop", 9)), None, fast=True)
    (line,) = saved_lines(audit_page(several))["others"]
    assert (line.split(",")[1], "again" in line) == ("9", False)


def test_nothing_to_apply_nothing_to_save():
    assert 'id="save"' not in audit_page(Audit("mail.csv", 20, 2, 40, FINDINGS[3:], None, fast=True))


def test_the_verdict_is_the_estimate_with_its_upper_end():
    assert audit_verdict(AUDIT) == "4 findings of 3 kinds in 20 documents."
    assert audit_verdict(Audit("x", 1, 1, 1, (), None, fast=True)) == "Nothing was found in 1 document."
    none = Audit("x", 200, 2, 9, FINDINGS, ErrorEstimate(0.2, 0.0, 4.5, 11.0), fast=False)
    assert audit_verdict(none).startswith("Probably none of 200 labels is wrong, at most 5 (95 % interval); ")
    estimated = Audit("x", 200, 2, 9, FINDINGS, ErrorEstimate(4.0, 1.0, 9.2, 11.0), fast=False)
    sentence = "About 4 of 200 labels (2.0 %) are probably wrong, at most 10 (95 % interval); 4 findings of 3 kinds."
    assert audit_verdict(estimated) == sentence
    assert sentence in unescape(audit_page(estimated))


def test_what_clean_cannot_change_has_nothing_to_tick():
    page = audit_page(AUDIT, command="")
    assert "data-line=" not in page.partition("<script>")[0]
    assert 'id="save"' not in page
    assert "Suspected label errors" in page


def test_the_command_of_the_page_reads_the_data_as_audit_did(tmp_path, monkeypatch):
    from unnaive.apps.cli.commands.audit import clean_command
    from unnaive.io.datafiles import DataFile
    from unnaive.io.read_options import ReadOptions

    assert clean_command(DataFile("tickets")) == clean_command(DataFile("-")) == ""  # a collection, stdin
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my mail.csv").touch()
    source = DataFile("my mail.csv", text=("subject", "body"), label="tags", separator=";",
                      ignore_label=("n/a",), options=ReadOptions(encoding="cp1254"))  # fmt: skip
    words = shlex.split(clean_command(source))
    assert words[:4] == ["unnaive", "clean", "my mail.csv", FILE]
    assert words[-2:] == ["-o", "FIXED.csv"]
    given = sorted(zip(words[4:-2:2], words[5:-2:2], strict=True))
    assert given == [
        ("--label", "tags"), ("--label-separator", ";"), ("--set", "encoding=cp1254"), ("--set", "ignore-label=n/a"),
        ("--text", "body"), ("--text", "subject"),
    ]  # fmt: skip


@pytest.mark.slow
@NEEDS_CHROMIUM
def test_findings_are_accepted_on_the_page_and_cleaned(run, tmp_path):
    """From the page to the corrected data, as somebody does it."""
    rows = [("ball and goal of the team", "sport"), ("vote on the law", "politics")] * 20
    rows += [("ball and goal of the team now", "politics"), ("", "sport")]
    lines = "".join(
        f"{text} {number},{label}\n" if text else f",{label}\n" for number, (text, label) in enumerate(rows)
    )
    (tmp_path / "data.csv").write_text(f"text,label\n{lines}")
    assert run("audit", "data.csv", "--label", "label", "--fast", "-o", "out")[0] == 0
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 800}, accept_downloads=True)
        problems = collect_problems(page)
        page.goto((tmp_path / "out" / "audit.html").as_uri())
        assert find_violations(page) == []
        before = page.locator("#save output").inner_text()
        box = page.locator('input[aria-label*="label errors, row 41"]')
        box.check()
        assert page.locator("#save output").inner_text() != before
        command = page.locator("#save code").text_content()
        with page.expect_download() as download:
            page.locator("#save button").click()
        assert download.value.suggested_filename == FILE
        download.value.save_as(tmp_path / FILE)
        assert problems == []
    assert command == f"unnaive clean data.csv {FILE} --label label -o FIXED.csv"
    code, out, _ = run(*command.split()[1:])
    assert (code, "1 dropped, 1 given another label" in out) == (0, True)
    fixed = list(csv.DictReader((tmp_path / "FIXED.csv").open(encoding="utf-8", newline="")))
    assert len(fixed) == len(rows) - 1
    assert fixed[40] == {"text": "ball and goal of the team now 40", "label": "sport"}
