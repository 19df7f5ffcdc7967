// "Use it from code": the current request as runnable code for a shell, Python and JavaScript.

import { isNeeded } from "./session.js";
import { by, make } from "./shown.js";

const LONGEST = 2000; // characters of the text in a snippet

const LANGUAGES = { curl: shell, Python: python, JavaScript: javascript };
let language = "curl";
let shown = "";

export function start(model) {
  const draw = () => {
    by("languages").replaceChildren(...Object.keys(LANGUAGES).map((name) => {
      const button = make("button", { type: "button", onclick: () => { language = name; draw(); by("languages").querySelector("[aria-pressed=true]").focus(); } }, name);
      button.setAttribute("aria-pressed", String(name === language));
      return button;
    }));
    by("snippet").textContent = LANGUAGES[language](new URL(".", location.href).href.replace(/\/$/, ""), model(), shorten(shown), isNeeded());
    by("copied").textContent = shown.length > LONGEST ? "The text is shortened here." : "";
  };
  by("copy").addEventListener("click", () => copy(by("snippet")));
  by("code").addEventListener("toggle", draw);
  return { show: (text) => { shown = text; if (by("code").open) draw(); } };
}

const shorten = (text) => (text.length > LONGEST ? `${Array.from(text.slice(0, LONGEST)).slice(0, -1).join("")}…` : text);

async function copy(place) {
  getSelection().selectAllChildren(place);
  const done = await navigator.clipboard?.writeText(place.textContent).then(() => true, () => false); // not available over plain http
  by("copied").textContent = done ? "Copied." : "Selected; press Ctrl+C to copy it.";
}

const body = (model, text) => `{"text": ${JSON.stringify(text)}, "model": ${JSON.stringify(model)}, "top_k": 3}`;

export function shell(origin, model, text, token) {
  const quoted = body(model, text).replaceAll("'", "'\\''");
  return [`curl -s ${origin}/v1/classify \\`, ...(token ? ['  -H "Authorization: Bearer $UNNAIVE_TOKEN" \\'] : []),
    "  -H 'Content-Type: application/json' \\", `  -d '${quoted}'`].join("\n");
}

// a JSON string is also a Python string
export function python(origin, model, text, token) {
  return [...(token ? ["import json", "import os"] : ["import json"]), "import urllib.request", "",
    `asked = ${body(model, text)}`,
    'headers = {"Content-Type": "application/json"}',
    ...(token ? ['headers["Authorization"] = "Bearer " + os.environ["UNNAIVE_TOKEN"]'] : []),
    `request = urllib.request.Request("${origin}/v1/classify", json.dumps(asked).encode(), headers)`,
    "with urllib.request.urlopen(request) as answer:", "    result = json.load(answer)[\"results\"][0]",
    'print(result["label"], result["classes"])'].join("\n");
}

export function javascript(origin, model, text, token) {
  return [`const asked = ${body(model, text)};`, 'const headers = { "Content-Type": "application/json" };',
    ...(token ? ["headers.Authorization = `Bearer ${process.env.UNNAIVE_TOKEN}`;"] : []),
    `const answer = await fetch("${origin}/v1/classify", { method: "POST", headers, body: JSON.stringify(asked) });`,
    "const result = (await answer.json()).results[0];", "console.log(result.label, result.classes);"].join("\n");
}
