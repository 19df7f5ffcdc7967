// The labelling page: one text at a time, a key for every answer. The service chooses the next text.

import { ask } from "./api.js";
import { begin, isOpen } from "./session.js";
import { by, count, make, mark, percent, say, watched } from "./shown.js";

const WAYS = { random: "Drawn at random.", uncertain: "The model is unsure.", explore: "Unlike the texts labelled so far.",
  novel: "Unlike all classes of the model.",
  similar: "More like this.", search: "Search result; search for nothing to see all texts again.", undone: "Undone.",
  second: "Also labelled by another person, so there is no suggestion.", queue: "From the list." };

let view = null;
let ticked = new Set();
let busy = false;
let lookedAt = -1; // number of labels at the last progress check

const who = () => by("who").value.trim() || "somebody";
const text = () => view && view.text;

async function send(path, body = {}) {
  if (busy) return; // a key pressed twice counts once
  busy = true;
  const found = await watched(() => ask(`/label/${path}`, { who: who(), ...body }));
  busy = false;
  if (found) show(found);
}

function show(found) {
  view = found;
  ticked = new Set(found.text ? found.text.ticked : []);
  const { summary } = found;
  by("progress-words").textContent = `${summary.labelled.toLocaleString("en")} of ${count(summary.texts, "text")} labelled`
    + ` · ${summary.skipped} skipped · ${summary.flagged} flagged by you`;
  if (Math.abs(summary.labelled - lookedAt) >= 10 || lookedAt < 0) look(summary.labelled);
  by("done").hidden = !found.done;
  by("done").textContent = found.done ? found.done[0].toUpperCase() + found.done.slice(1) + "." : "";
  by("asked").hidden = !found.text;
  by("more").setAttribute("aria-pressed", String(Boolean(found.looking.label)));
  for (const id of ["accept", "reject", "skip", "flag"]) by(id).disabled = !found.text;
  if (found.text) draw(found.text);
}

async function look(labelled) { // progress, every ten labels, after the text is shown
  lookedAt = labelled;
  const found = await ask("/label/standing").catch(() => null); // the next answer reports if the service is down
  if (found && found.outlook) drawCurve(found.outlook.curve, labelled);
  if (found) by("stopping").textContent = found.sentences.map((one) => one[0].toUpperCase() + one.slice(1) + ".").join(" ");
}

function drawCurve(points, now) { // mean accuracy with a band; a line marks the current number of labels
  const last = points[points.length - 1].labels;
  const x = (labels) => 40 + 340 * labels / last;
  const y = (share) => 130 - 115 * share;
  const shape = (name, values) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(values)) made.setAttribute(key, value);
    return made;
  };
  const text = (words, left, top) => {
    const made = shape("text", { x: left, y: top, "font-size": 11, fill: "currentColor" });
    made.textContent = words;
    return made;
  };
  const line = (key) => points.map((one) => `${x(one.labels)},${y(one[key])}`);
  by("curve").querySelector("svg").replaceChildren(
    shape("polygon", { points: [...line("low"), ...line("high").reverse()].join(" "), fill: "currentColor", opacity: 0.15 }),
    shape("polyline", { points: line("accuracy").join(" "), fill: "none", stroke: "currentColor", "stroke-width": 2 }),
    shape("line", { x1: x(now), x2: x(now), y1: y(0), y2: y(1), stroke: "currentColor", "stroke-dasharray": "4 3" }),
    text("100 %", 0, y(1) + 4), text("0 %", 14, y(0) + 4), text(`now, ${count(now, "label")}`, Math.min(x(now) + 4, 300), y(0) + 16),
    text(last.toLocaleString("en"), 370, y(0) + 16));
  by("curve").hidden = false;
}

function draw(one) {
  const given = one.given.length ? ` Labelled ${one.given.join(", ")} so far.` : "";
  by("way").textContent = `Text ${one.name}. ${WAYS[one.way] || ""}${given}`;
  by("text").replaceChildren(...one.marked.map(([words, share]) => {
    const part = make("span", {}, words);
    if (Math.abs(share) >= 0.02) {
      part.style.background = mark(share > 0 ? "for" : "against", 0.12 + 0.45 * Math.abs(share));
    }
    return part;
  }));
  if (!one.marked.some(([words]) => words.trim())) by("text").replaceChildren(make("i", {}, "(an empty text)"));
  by("text").scrollTop = 0;
  drawClasses(one);
}

function drawClasses(one) {
  const shares = new Map(one.probabilities.map((entry) => [entry.label, entry.probability]));
  const keyOf = new Map(Object.entries(view.keys).map(([key, label]) => [label, key]));
  by("accept").firstChild.textContent = view.multilabel ? `Give ${ticked.size ? count(ticked.size, "label") : "no label"} ` : "Accept ";
  by("reject").hidden = view.multilabel; // a tick is removed by its key
  by("classes").replaceChildren(...view.classes.map((label) => {
    const share = shares.get(label);
    const fill = make("span", {});
    fill.style.width = `${100 * (share || 0)}%`;
    const tick = view.multilabel && ticked.has(label) ? "✓ " : "";
    const key = tick + (keyOf.has(label) ? `${keyOf.get(label)} ` : "");
    const button = make("button", { onclick: () => give(label) }, make("span", { className: "name", dir: "auto" }, `${key}${label}`),
      make("span", { className: share === undefined ? "" : "bar" }, fill), make("span", { className: "number" }, share === undefined ? "" : percent(share)));
    button.setAttribute("aria-pressed", String(view.multilabel ? ticked.has(label) : label === one.suggested));
    return make("li", {}, button);
  }));
  if (!view.classes.length) by("classes").replaceChildren(make("li", { className: "quiet" }, "There are no classes yet: add the first below."));
}

function answer(kind, labels = []) {
  if (text()) send("answer", { text: text().number, kind, labels });
}

function give(label) {
  if (!text()) return;
  if (!view.multilabel) { answer("label", [label]); return; }
  if (ticked.has(label)) ticked.delete(label); else ticked.add(label);
  drawClasses(text());
}

function accept() {
  if (!text()) return;
  if (view.multilabel) answer("label", [...ticked]);
  else if (text().suggested) answer("label", [text().suggested]);
  else say("There is no suggestion yet; choose a class.");
}

function reject() {
  if (text() && text().suggested) answer("reject", [text().suggested]);
  else say("There is no suggestion to reject.");
}

function more() {
  if (view && view.looking.label) send("look");
  else if (text() && text().suggested) send("look", { label: text().suggested });
  else say("There is no suggestion yet, so similar texts cannot be searched.");
}

const ACTIONS = { a: accept, Enter: accept, x: reject, " ": () => answer("skip"), f: () => answer("flag"),
  Backspace: () => send("undo"), m: more, n: () => by("class-name").focus(), "/": () => by("search-words").focus() };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (by("inside").hidden) return;
  if (event.target.tagName === "INPUT") {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.target.tagName === "BUTTON" && (event.key === "Enter" || event.key === " ")) return; // the browser presses the button
  const label = view && view.keys[event.key];
  const action = ACTIONS[event.key] || (label !== undefined && (() => give(label)));
  if (!action) return;
  event.preventDefault();
  action();
});

for (const [id, action] of Object.entries({ accept, reject, skip: ACTIONS[" "], flag: ACTIONS.f, undo: ACTIONS.Backspace, more })) {
  by(id).addEventListener("click", action);
}
by("class-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const label = by("class-name").value.trim();
  await send("class", { label });
  if (view && view.classes.includes(label)) { by("class-name").value = ""; by("class-name").blur(); }
});
by("search-form").addEventListener("submit", (event) => {
  event.preventDefault();
  by("search-words").blur();
  send("look", { words: by("search-words").value.trim() || null });
});
by("who").addEventListener("change", () => {
  remember(by("who").value.trim());
  send("next");
});

// Remember the name in a cookie: after a restart the page may be on another port, and ports share cookies.
const NAMED = "unnaive_who";
function remember(name) {
  document.cookie = `${NAMED}=${encodeURIComponent(name)}; path=/; max-age=${name ? 31536000 : 0}; samesite=strict`;
}
function remembered() {
  const part = document.cookie.split("; ").find((one) => one.startsWith(`${NAMED}=`));
  try {
    return part ? decodeURIComponent(part.slice(NAMED.length + 1)) : "";
  } catch {
    return "";
  }
}

await begin(async () => {
  by("inside").hidden = by("who-choice").hidden = !isOpen();
  if (!isOpen()) return;
  if (!by("who").value) {
    const found = await watched(() => ask("/label/who"));
    by("who").value = remembered() || (found ? found.who : "");
  }
  await send("next");
});
