// The page: which model, which tab, and what each tab does when it is opened.

import { ask } from "./api.js";
import * as card from "./card.js";
import { by, count, make, watched } from "./shown.js";
import * as table from "./table.js";
import * as teach from "./teach.js";
import * as tryOne from "./try.js";

const model = () => by("model").value;
const names = () => [model(), ...(by("second").value ? [by("second").value] : [])];

async function load() {
  const found = await watched(() => ask("/v1/models"));
  if (!found) {
    setTimeout(load, 3000); // the service may come back
    return;
  }
  const options = () => found.models.map((one) => make("option", { value: one.name }, one.name));
  by("model").replaceChildren(...options());
  by("second").replaceChildren(make("option", { value: "" }, "none"), ...options());
  by("second-choice").hidden = found.models.length < 2;
  await showVersion();
}

async function showVersion() {
  const found = await watched(() => ask("/v1/models"));
  const one = found && found.models.find((other) => other.name === model());
  if (one) by("version").textContent = `${one.title} · ${count(one.classes, "class", "classes")} · version ${one.version}`;
}

const parts = {
  try: tryOne.start(names),
  table: table.start(model),
  teach: teach.start(model, () => { showVersion(); }),
  card: card.start(model),
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
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
    next.focus();
    select(next);
  });
}

const again = () => { showVersion(); select(tabs.find((one) => one.getAttribute("aria-selected") === "true")); };
by("model").addEventListener("change", again);
by("second").addEventListener("change", again);
window.addEventListener("offline", () => { by("status").textContent = "You are offline; the service may not answer."; });
window.addEventListener("online", () => { by("status").textContent = ""; });

load();
