// The page: session, model selection, tabs, and what each tab does when it is opened.

import { ask } from "./api.js";
import * as card from "./card.js";
import { begin, isOpen } from "./session.js";
import { by, count, make, watched } from "./shown.js";
import * as snippets from "./snippets.js";
import * as table from "./table.js";
import * as teach from "./teach.js";
import * as tryOne from "./try.js";

const ids = {}; // the version of each model that answered last
let kinds = {}; // of the fields of each model's records; null: texts

const model = () => by("model").value;
const fields = () => kinds[model()] ?? null;
const names = () => [model(), ...(by("second").value ? [by("second").value] : [])];

async function load() {
  by("inside").hidden = by("model-choice").hidden = !isOpen();
  if (!isOpen()) return;
  const found = await watched(() => ask("/v1/models"));
  if (!found) {
    if (isOpen()) setTimeout(load, 3000); // the service may come back
    return;
  }
  const before = model();
  const options = () => found.models.map((one) => make("option", { value: one.name }, one.name));
  by("model").replaceChildren(...options());
  if (found.models.some((one) => one.name === before)) by("model").value = before;
  by("second").replaceChildren(make("option", { value: "" }, "none"), ...options());
  by("second-choice").hidden = found.models.length < 2;
  kinds = Object.fromEntries(found.models.map((one) => [one.name, one.fields || null]));
  await again();
}

async function showVersion() {
  const found = await ask("/v1/models").catch(() => null); // what is said on the page stays
  const one = found && found.models.find((other) => other.name === model());
  if (!one) return;
  ids[one.name] = one.version_id;
  by("version").textContent = `${one.title} · ${count(one.classes, "class", "classes")} · version ${one.version}`;
}

// Another version has answered: the header and the open tab are brought up to date.
document.addEventListener("unnaive:version", async ({ detail }) => {
  if (detail.name !== model() || ids[detail.name] === undefined || ids[detail.name] === detail.id) return;
  ids[detail.name] = detail.id;
  await showVersion();
  if (!by("card").hidden) parts.card.open();
});

const code = snippets.start(model);
const correct = teach.startCorrecting(model, () => { showVersion(); parts.try.refresh(); });
const parts = {
  try: tryOne.start(names, (text) => { code.show(text); correct.show(text); }),
  table: table.start(model, fields),
  teach: teach.start(model, showVersion, fields),
  card: card.start(model, showVersion),
};

const tabs = [...document.querySelectorAll("[role=tab]")];

function select(tab) {
  for (const one of tabs) {
    const chosen = one === tab;
    one.setAttribute("aria-selected", String(chosen));
    one.tabIndex = chosen ? 0 : -1;
    by(one.getAttribute("aria-controls")).hidden = !chosen;
  }
  const part = parts[tab.getAttribute("aria-controls")];
  if (part && part.open) part.open();
  if (part && part.refresh) part.refresh();
}

for (const tab of tabs) {
  tab.addEventListener("click", () => select(tab));
  tab.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(tab);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = tabs[(to + tabs.length) % tabs.length];
    next.focus();
    select(next);
  });
}

async function again() {
  parts.try.useFields(fields());
  select(tabs.find((one) => one.getAttribute("aria-selected") === "true"));
  await showVersion();
}

by("model").addEventListener("change", () => { correct.forget(); again(); });
by("second").addEventListener("change", again);
window.addEventListener("offline", () => { by("status").textContent = "You are offline; the service may not answer."; });
window.addEventListener("online", () => { by("status").textContent = ""; });

begin(load);
