// Teaching: the right label of a text, what it changed, undoing it, and the history from the record.

import { ask, hasToken, setToken } from "./api.js";
import { by, count, make, shownValue, watched } from "./shown.js";

let timer = 0;
let last = null; // the oldest version shown

export function start(model, changed) {
  by("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    setToken(by("token").value);
    watched(() => open(model()));
  });
  by("teach-form").addEventListener("submit", (event) => {
    event.preventDefault();
    watched(() => teach(model(), changed));
  });
  by("teach-text").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => watched(() => now(model())), 150);
  });
  by("teach-label").addEventListener("input", () => hint());
  by("more-history").addEventListener("click", () => watched(() => history(model(), changed, last)));
  return { open: () => watched(() => open(model(), changed)) };
}

let known = new Set();
let multilabel = false;

async function open(name, changed) {
  const card = await ask(`/v1/models/${encodeURIComponent(name)}?terms=0`);
  const closed = by("teach-closed");
  closed.hidden = card.teachable;
  closed.textContent = "This service only reads its models: it was started with --read-only or with several workers.";
  by("token-form").hidden = !card.teachable || hasToken();
  by("teach-form").hidden = by("history-part").hidden = !card.teachable || !hasToken();
  multilabel = card.multilabel;
  known = new Set(card.classes.map((one) => String(one.label)));
  by("labels").replaceChildren(...[...known].map((one) => make("option", { value: one })));
  hint();
  if (by("teach-text").value === "") by("teach-text").value = by("text").value;
  if (card.teachable && hasToken()) {
    await history(name, changed);
    await now(name);
  }
}

function hint() {
  const given = labels();
  const fresh = given.filter((one) => !known.has(one));
  by("teach-hint").textContent = fresh.length ? `${fresh.join(", ")} will be a new class.`
    : multilabel ? "Several labels with ; between them." : "";
}

const labels = () => by("teach-label").value.split(multilabel ? ";" : /$^/).map((one) => one.trim()).filter(Boolean);

async function now(name) {
  const text = by("teach-text").value;
  if (text.trim() === "") {
    by("teach-now").textContent = "";
    return;
  }
  const answer = await ask("/v1/classify", { text, model: name, top_k: 1 });
  const { labels: found, classes } = answer.results[0];
  by("teach-now").textContent = `The model says: ${found.join(", ") || "no label"} (${shownValue(classes[0])}).`;
}

async function teach(name, changed) {
  const text = by("teach-text").value;
  const given = labels();
  if (text.trim() === "" || !given.length) {
    by("taught").textContent = "Give a text and its label.";
    return;
  }
  const document = multilabel ? { text, labels: given } : { text, label: given[0] };
  await send(name, "teach", document, given.some((one) => !known.has(one)), changed);
}

async function send(name, kind, document, fresh, changed) {
  const path = `/v1/models/${encodeURIComponent(name)}/${kind}`;
  const body = { documents: [document], new_classes: fresh };
  const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (one) => one.toString(16)).join("");
  const answer = await ask(path, body, undefined, { "Idempotency-Key": key });
  const { before, after } = answer.changed[0];
  const words = (one) => `${one.label} (${shownValue(one)})`;
  const done = kind === "teach" ? "Taught" : "Forgotten";
  by("taught").replaceChildren(`${done}. The model said ${words(before)}, and says now ${words(after)}. `,
    make("button", { type: "button", onclick: () => watched(() =>
      send(name, kind === "teach" ? "forget" : "teach", document, true, changed)) }, "Undo"));
  changed();
  await open(name, changed);
}

async function history(name, changed, before) {
  const query = new URLSearchParams({ limit: "20", documents: "true", ...(before ? { before } : {}) });
  const found = await ask(`/v1/models/${encodeURIComponent(name)}/versions?${query}`);
  const items = found.versions.map((one) => make("li", {},
    make("span", { className: "quiet" }, `${one.at.slice(0, 16).replace("T", " ")} · version ${one.version} · ${one.kind}` +
      ` · ${count(one.documents, "document")}`),
    ...one.changes.slice(0, 3).map((change) => make("div", { dir: "auto" },
      `${change.sign > 0 ? "+" : "−"} ${change.labels.join(", ")}: ${change.text.slice(0, 200)} `,
      make("button", { type: "button", onclick: () => watched(() => send(name, change.sign > 0 ? "forget" : "teach",
        multilabel ? { text: change.text, labels: change.labels } : { text: change.text, label: change.labels[0] },
        true, changed)) }, change.sign > 0 ? "Forget it" : "Teach it again")))));
  if (before) by("history").append(...items);
  else by("history").replaceChildren(...(items.length ? items : [make("li", { className: "quiet" }, "Nothing was taught yet.")]));
  last = found.versions.length ? found.versions.at(-1).version : null;
  by("more-history").hidden = found.versions.length < 20 || last <= 1;
}
