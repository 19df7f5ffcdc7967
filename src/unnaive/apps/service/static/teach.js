// The Teach tab, and the correction form of the Try tab; both use teaching.js.

import { ask } from "./api.js";
import { describeEvent } from "./card.js";
import { askForToken, isSignedIn, offerSignIn } from "./session.js";
import { by, count, fillForm, isEmpty, make, readForm, showForm, shownRecord, shownValue, watched } from "./shown.js";
import { Classes, describeChange, forgetEvent, teachDocument, undoEvent } from "./teaching.js";

let timer = 0;
let last = null; // the oldest version shown
let followed = '""'; // the text or record copied from the Try tab, as JSON
let kinds = () => null; // of the fields of the model's records; null: texts
let classes = new Classes();
let card = null;

async function readCard(name) {
  card = await ask(`/v1/models/${encodeURIComponent(name)}?terms=0`);
  classes = new Classes(card);
  by("labels").replaceChildren(...classes.names().slice(0, 1000).map((one) => make("option", { value: one })));
  return card;
}

const written = (box, form) => (kinds() === null ? by(box).value : readForm(by(form)));
const toTeach = () => written("teach-text", "teach-fields");

export function start(model, changed, fields) {
  kinds = fields;
  by("teach-form").addEventListener("submit", (event) => {
    event.preventDefault();
    watched(() => teachDocument(model(), toTeach(), by("teach-label").value, classes, by("taught"),
      async () => { changed(); await open(model(), changed); }));
  });
  for (const id of ["teach-text", "teach-fields"]) {
    by(id).addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => watched(() => now(model())), 150);
    });
  }
  by("teach-label").addEventListener("input", () => hint());
  by("more-history").addEventListener("click", () => watched(() => history(model(), changed, last)));
  return { open: () => watched(() => open(model(), changed)) };
}

async function open(name, changed) {
  await readCard(name);
  by("teach-closed").hidden = card.teachable && isSignedIn();
  by("teach-closed").textContent = card.teachable ? "Teaching needs the token of this service: sign in above."
    : "This service is read-only: it was started with --read-only or with several workers.";
  by("teach-form").hidden = by("history-part").hidden = !card.teachable || !isSignedIn();
  hint();
  by("teach-text").hidden = by("teach-text-label").hidden = showForm(by("teach-fields"), kinds(), "teach-field");
  const tried = written("text", "fields");
  if (JSON.stringify(tried) !== followed) { // another text was tried meanwhile
    followed = JSON.stringify(tried);
    if (kinds() === null) by("teach-text").value = tried;
    else fillForm(by("teach-fields"), tried);
    by("teach-label").value = "";
    by("taught").replaceChildren();
  }
  if (!card.teachable) return;
  if (!isSignedIn()) { offerSignIn(); return; }
  await history(name, changed);
  await now(name);
}

function hint() { by("teach-hint").textContent = classes.hint(by("teach-label").value); }

async function now(name) {
  const text = toTeach();
  if (isEmpty(text)) {
    by("teach-now").textContent = "";
    return;
  }
  const answer = await ask("/v1/classify", { text, model: name, top_k: 1 });
  const { labels: found, classes: values } = answer.results[0];
  by("teach-now").textContent = `Prediction: ${found.join(", ") || "no label"} (${shownValue(values[0])}).`;
}

// The correction of the text on the Try tab.
export function startCorrecting(model, changed) {
  let text = "";
  let read = null; // the model whose classes were loaded
  by("correct-label").addEventListener("input", () => { by("correct-hint").textContent = classes.hint(by("correct-label").value); });
  by("correct-form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!isSignedIn()) { askForToken(); return; }
    const taught = typeof text === "string" ? by("text").value : text;
    watched(() => teachDocument(model(), taught, by("correct-label").value, classes, by("corrected"),
      async () => { await readCard(model()); changed(); }));
  });
  const show = async (given) => {
    by("below-answers").hidden = given === "";
    if (given !== text) {
      by("corrected").replaceChildren();
      by("correct-label").value = by("correct-hint").textContent = "";
    }
    text = given;
    if (given === "" || read === model()) return;
    read = model();
    await watched(() => readCard(model()));
    by("correct-form").hidden = !card || !card.teachable;
  };
  return { show, forget: () => { read = null; by("corrected").replaceChildren(); } };
}

async function history(name, changed, before) {
  const query = new URLSearchParams({ limit: "20", documents: "true", ...(before ? { before } : {}) });
  const found = await ask(`/v1/models/${encodeURIComponent(name)}/versions?${query}`);
  const items = found.versions.map((one) => historyItem(name, one, changed));
  if (before) by("history").append(...items);
  else by("history").replaceChildren(...(items.length ? items : [make("li", { className: "quiet" }, "Nothing has been taught yet.")]));
  last = found.versions.length ? found.versions.at(-1).version : null;
  by("more-history").hidden = found.versions.length < 20 || last <= 1;
}

const SHOWN = 3; // documents of an event

function historyItem(name, event, changed) {
  const done = async (answer, words) => {
    by("taught").replaceChildren(describeChange(answer, words));
    changed();
    await open(name, changed);
  };
  const button = (words, work) => make("button", { type: "button", onclick: (pressed) => {
    pressed.target.disabled = true; // a second press before the answer does nothing
    watched(work).then((found) => { if (found === undefined && pressed.target.isConnected) pressed.target.disabled = false; });
  } }, words);
  const changes = event.changes || [];
  const state = event.undoes ? ` · undoes version ${event.undoes}` : "";
  const lines = changes.slice(0, SHOWN).map((change) => make("div", { dir: "auto" },
    `${change.sign > 0 ? "+" : "−"} ${change.labels.join(", ")}: ${shownRecord(change.text).slice(0, 200)} `,
    ...(change.sign > 0 && change.standing ? [button("Forget it", async () =>
      done(await forgetEvent(name, event, changes.length > 1 ? change : null), "Forgotten"))] : [])));
  const forgot = changes.length > 0 && changes.every((change) => change.sign < 0);
  return make("li", {},
    make("span", { className: "quiet" }, `${event.at.slice(0, 16).replace("T", " ")} · version ${event.version} · ${describeEvent(event)}` +
      ` · ${count(event.documents, "document")}${state} `),
    ...(changes.length > SHOWN ? [make("span", { className: "quiet" }, `· the first ${SHOWN} are shown `)] : []),
    ...(forgot && !event.undone && event.kind !== "rebase" ? [button("Teach it again", async () => done(await undoEvent(name, event.version), "Taught again"))] : []),
    ...lines);
}
