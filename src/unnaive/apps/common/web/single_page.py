"""A page in a single file that works offline: an exported module, and the service's form to try a text."""

from __future__ import annotations

import re
from html import escape

from unnaive.apps.common.web.static_files import STATIC, read_stylesheet

# the browser enforces that nothing is fetched, sent or framed
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
PAGE = """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta http-equiv="Content-Security-Policy" content="{policy}">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>{title}</title>
  <style>
{style}  </style>
</head>
<body>
  <header>
    <h1>unnaive</h1>
    <p class="quiet">{title}. Nothing that you type leaves this page.</p>
  </header>
  <div id="status" role="status" aria-live="polite"></div>
  <main id="main">
    <section id="try">
      <label for="text">Text</label>
      <textarea id="text" rows="6" placeholder="Type or paste a text" spellcheck="false"></textarea>
      <p id="try-empty" class="quiet">The classes appear here as you type.</p>
      <div id="answers" class="columns"></div>
    </section>
  </main>
  <script type="module">
{module}
{ask}
{{
const ask = askModel;
{shown}
{try_text}
start(() => [model.title]).refresh();
}}
  </script>
</body>
</html>
"""
# the answer of /v1/classify, computed by the module
ASK = """
async function askModel(path, { text, class: label }) {
  const { labels, scores, probabilities } = classify(text);
  const kind = probabilities ? "probability" : "score", values = probabilities || scores;
  const order = classes.map((_, c) => c).sort((one, two) => values[two] - values[one] || one - two);
  const explanation = explain(text, label === undefined ? {} : { label });
  return { results: [{ labels, classes: order.map((c) => ({ label: classes[c], [kind]: values[c] })), explanation }] };
}
"""


def single_page(module: str, title: str) -> str:
    """The page around the source of a module that javascript.py wrote."""
    shown, try_text = (_inlined((STATIC / name).read_text(encoding="utf-8")) for name in ("shown.js", "try.js"))
    style = read_stylesheet()
    return PAGE.format(
        policy=POLICY, title=escape(title), style=style, module=module, ask=ASK, shown=shown, try_text=try_text
    )


def _inlined(script: str) -> str:
    """A module of the page to be included in another: without its imports and exports.

    >>> _inlined('import { a } from "./b.js";\\nexport function c() {}')
    'function c() {}'
    """
    without = re.sub(r"^import .*?;\n", "", script, flags=re.MULTILINE)
    return re.sub(r"^export ", "", without, flags=re.MULTILINE)
