// The labelling page: one text at a time, a key for every answer. The service chooses the next text.

import { announce } from "./announce.js";
import { ask } from "./api.js";
import * as evidence from "./evidence.js";
import { describe, isLabelling, open, setPerson, setUp } from "./project.js";
import { remember, remembered } from "./remembered.js";
import { begin, isOpen } from "./session.js";
import * as shortcuts from "./shortcuts.js";
import { by, count, make, percent, say, watched } from "./shown.js";

const WAYS = { random: "Drawn at random.",
  measure: "Drawn at random to measure the model, so there is no suggestion.", uncertain: "The model is unsure.", explore: "Unlike the texts labelled so far.",
  novel: "Unlike all classes of the model.",
  similar: "More like this.", search: "Search result; search for nothing to see all texts again.", undone: "Undone.",
  second: "Also labelled by another person, so there is no suggestion.", queue: "From the list.",
  chosen: "Chosen from the list.", review: "To decide: your answer is the label of this text." };

const NAMED = "unnaive_who"; // the cookie with the name

let view = null;
let ticked = new Set();
let busy = false;
let pending = []; // keys pressed while an answer is under way; they are for the next text
let ahead = null; // the next text, fetched while the present one is read
let early = null; // the view with the next text, on the screen while an answer is under way
let lookedAt = -1; // number of labels at the last progress check
let byTab = false; // whether the focus was moved with Tab; only then do Enter and space press the focused button
let named = false; // whether the name was just typed; Enter then confirms the name, and labels nothing
let alike = null; // the new class that was asked about, since it is spelt much like another
let shownAs = null; // the name that the text was shown to

const who = () => by("who").value.trim() || "somebody";
const text = () => view && view.text;

function setBusy(now) {
  busy = now;
  by("answer-buttons").setAttribute("aria-busy", String(now));
}

async function send(path, body = {}, next = null) { // with the text to show meanwhile
  setBusy(true);
  let found = null;
  const before = view;
  keepAhead(null);
  early = next && { ...view, ...next };
  if (early) { view = early; drawNext(); }
  try {
    found = await ask(`/label/${path}`, { who: who(), ...body });
    say("");
  } catch (problem) {
    pending = [];
    say(problem.message);
    if (early) found = before; // the text that was not answered is on the screen again
    if (problem.status === 409) found = await ask("/label/next", { who: who() }).catch(() => before); // decided elsewhere
  }
  if (early && found && asked(early) !== asked(found)) pending = []; // they were for a text that somebody else has now
  early = null;
  setBusy(false);
  if (found) show(found);
  if (pending.length) press(pending.shift());
}

const asked = ({ text, keys }) => JSON.stringify(text && [text.number, text.seen, text.suggested, text.ticked, keys]);

async function fetchAhead() {
  const present = view;
  if (!present.text) return;
  const found = await ask("/label/ahead", { who: who(), after: present.text.number }).catch(() => null);
  if (found && found.text && view === present && !busy) keepAhead(found);
}

function keepAhead(next) {
  ahead = next;
  by("asked").dataset.ahead = next ? next.text.number : "";
}

function drawNext() { // the next text, before the present answer is recorded
  ticked = new Set(view.text.ticked);
  draw(view.text);
  if (isLabelling() && !(document.activeElement instanceof HTMLInputElement)) focusText();
}

function show(found) {
  view = found;
  shownAs = who();
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
  if (isLabelling() && !(document.activeElement instanceof HTMLInputElement)) focusText();
  if (!pending.length) fetchAhead();
}

function focusText() {
  byTab = false;
  by("find").value = "";
  drawFound();
  by("text").focus({ preventScroll: true });
}

async function look(labelled) { // progress, every ten labels, after the text is shown
  lookedAt = labelled;
  const found = await ask("/label/standing").catch(() => null); // the next answer reports if the service is down
  if (found && found.outlook) drawCurve(found.outlook.curve, labelled);
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
  evidence.drawEvidence(one);
  by("votes").hidden = !one.answers.length;
  by("votes").replaceChildren(...one.answers.map((answer) => make("li", {}, describe(answer))));
  drawClasses(one);
}

function drawClasses(one) {
  const shares = new Map(one.probabilities.map((entry) => [entry.label, entry.probability]));
  const keyOf = new Map(Object.entries(view.keys).map(([key, label]) => [label, key]));
  by("accept").firstChild.textContent = view.multilabel ? `Give ${ticked.size ? count(ticked.size, "label") : "no label"} ` : "Accept ";
  by("reject").hidden = view.multilabel; // a tick is removed by its key
  by("suggestion").replaceChildren(...suggestion(one, shares));
  const listed = [...keyOf.keys(), ...[...ticked].filter((label) => !keyOf.has(label))];
  by("classes").replaceChildren(...listed.map((label) => {
    const share = shares.get(label);
    const fill = make("span", {});
    fill.style.width = `${100 * (share || 0)}%`;
    const tick = view.multilabel && ticked.has(label) ? "✓ " : "";
    const key = tick + (keyOf.has(label) && shortcuts.areOn() ? `${keyOf.get(label)} ` : "");
    const button = make("button", { type: "button" }, make("span", { className: "name", dir: "auto" }, `${key}${label}`),
      make("span", { className: share === undefined ? "" : "bar" }, fill), make("span", { className: "number" }, share === undefined ? "" : percent(share)));
    button.setAttribute("aria-pressed", String(view.multilabel ? ticked.has(label) : label === one.suggested));
    onClick(button, () => give(label));
    return make("li", {}, button);
  }));
  if (!view.classes.length) by("classes").replaceChildren(make("li", { className: "quiet" }, "There are no classes yet: add the first below."));
  by("find-form").hidden = view.classes.length <= keyOf.size;
  drawFound();
  announce(one);
}

function suggestion(one, shares) { // the one line that says what Accept gives
  const labels = view.multilabel ? [...ticked] : one.suggested ? [one.suggested] : [];
  if (!labels.length) return [];
  const words = labels.map((label) => (shares.has(label) ? `${label} ${percent(shares.get(label))}` : label));
  return [view.multilabel ? "Ticked: " : "Suggested: ", make("strong", { dir: "auto" }, words.join(", "))];
}

const matches = () => {
  const words = by("find").value.trim().toLocaleLowerCase();
  return words && view ? view.classes.filter((label) => label.toLocaleLowerCase().includes(words)) : [];
};

function drawFound() { // the classes that match what was typed, the first of which Enter gives
  const found = matches();
  by("found-words").textContent = by("find").value.trim() === "" || !view ? "" : found.length ? `Enter: ${found[0]}` : "no class has this in its name";
  by("found").replaceChildren(...found.slice(0, 12).map((label) => {
    const button = make("button", { type: "button" }, make("span", { className: "name", dir: "auto" }, label));
    onClick(button, () => give(label));
    return make("li", {}, button);
  }));
}

function answer(kind, labels = []) {
  if (!text()) return;
  const next = kind !== "reject" && ahead && ahead.after === text().number ? { text: ahead.text, keys: ahead.keys } : null;
  send("answer", { text: text().number, seen: text().seen, kind, labels }, next);
}

function give(label) {
  if (!text()) return;
  if (!view.multilabel) { focusText(); answer("label", [label]); return; }
  if (ticked.has(label)) ticked.delete(label); else ticked.add(label);
  drawClasses(text());
}

function accept() {
  if (!text()) return;
  if (view.multilabel) answer("label", [...ticked]);
  else if (text().suggested) answer("label", [text().suggested]);
  else say("There is no suggestion; choose a class.");
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
  Backspace: () => send("undo"), m: more, n: () => by("class-name").focus(), "/": () => by("search-words").focus(),
  ":": () => !by("find-form").hidden && by("find").focus(), b: () => open("answers"), g: () => open("classes"), p: () => open("progress") };
const isAnswer = (key) => ["a", "Enter", " ", "f"].includes(key) || (!(key in ACTIONS) && !view.multilabel);
const PRESSABLE = "button, a, summary";

// What a key does, now or, while an answer is under way, for the next text. Where the number keys change with the text,
// are for a text that has been seen: the next one, until it is answered too.
function press(key) {
  if (busy) {
    const fixed = !view || view.classes.length <= Object.keys(view.keys).length;
    if (key in ACTIONS || fixed || (early && !pending.some(isAnswer))) pending.push(key);
    return;
  }
  const label = view && view.keys[key];
  const action = ACTIONS[key] || (label !== undefined && (() => give(label)));
  if (action) action();
  if (!busy && pending.length) press(pending.shift());
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Tab") byTab = true;
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing) return;
  if (by("inside").hidden) return;
  if (event.key === "Escape" && !isLabelling()) { open("label"); return; }
  if (!isLabelling()) return;
  if (event.target.tagName === "INPUT") {
    if (event.key === "Escape") focusText();
    return;
  }
  if (!shortcuts.areOn()) return;
  if (event.target.closest(PRESSABLE) && byTab && (event.key === "Enter" || event.key === " ")) return; // the browser presses it
  if (!(event.key in ACTIONS || (view && event.key in view.keys))) return;
  event.preventDefault();
  if (event.target.closest(PRESSABLE)) focusText(); // a button that was clicked keeps no key for itself
  if (!(named && event.key === "Enter")) press(event.key);
  named = false;
});
document.addEventListener("pointerdown", () => { byTab = named = false; });

// A click is for what is on the screen: none while an answer is under way, and the second of a double click is none.
function onClick(button, action) {
  button.addEventListener("click", (event) => { if (!busy && event.detail < 2) action(); });
}

for (const [id, action] of Object.entries({ accept, reject, skip: ACTIONS[" "], flag: ACTIONS.f, undo: ACTIONS.Backspace, more })) {
  onClick(by(id), action);
}
by("find").addEventListener("input", drawFound);
by("find-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const [label] = matches();
  if (label === undefined || busy) return;
  by("find").value = "";
  focusText();
  give(label);
});
by("class-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const label = by("class-name").value.trim();
  await send("class", { label, alike: label === alike });
  alike = by("status").textContent.includes("spelt much like") ? label : null; // adding it once more says that it is meant
  if (view && view.classes.includes(label)) { by("class-name").value = ""; focusText(); }
});
by("search-form").addEventListener("submit", (event) => {
  event.preventDefault();
  by("search-words").blur();
  send("look", { words: by("search-words").value.trim() || null });
});
by("who").addEventListener("change", async () => {
  remember(NAMED, by("who").value.trim());
  named = true;
  if (document.activeElement === by("who")) focusText();
  await send("next", { before: shownAs });
});

evidence.start();
shortcuts.start(() => {
  if (text()) drawClasses(text());
  if (shortcuts.areOn() && !byTab) focusText(); // a checkbox that has the focus keeps the keys
});
setUp({ who, view: () => view, show, focusText, refresh: () => send("next") });
await begin(async () => {
  by("inside").hidden = by("who-choice").hidden = !isOpen();
  if (!isOpen()) return;
  if (!by("who").value) {
    const found = await watched(() => ask("/label/who"));
    by("who").value = (found && found.fixed ? "" : remembered(NAMED)) || (found ? found.who : "");
    by("who").readOnly = Boolean(found && found.fixed);
    if (found) setPerson(found);
  }
  await send("next");
});
