// Classify one text: classes as bars, evidence for and against the selected class, and words that can be struck out.

import { ask } from "./api.js";
import { by, isEmpty, make, makeStop, mark, moveByArrows, readForm, showForm, shownValue, valueOf, watched } from "./shown.js";

const WAIT = 120; // ms after the last key
const MARKED = 20000; // characters whose evidence is shown; one button per word of a book would freeze the browser
const PIECE = 300; // segments drawn before the browser may do other work

let struck = []; // character positions of words that are ignored
let pressed = null; // the position of the word that was pressed last, which keeps the focus
let tapped = ""; // what the last touch has shown
let chosen = {}; // the class to explain, by model
let running = null;
let timer = 0;

// `answered` is called with the text that was classified.
export function start(names, answered = () => {}) {
  const again = () => refresh(names, again, answered);
  const wait = () => {
    struck = [];
    clearTimeout(timer);
    timer = setTimeout(again, WAIT);
  };
  by("text").addEventListener("input", wait);
  if (by("fields")) by("fields").addEventListener("input", wait);
  return { refresh: again, useFields };
}

// A form with the fields of a model's records, by kind; none for a model of texts, which has one box.
export function useFields(kinds) {
  by("text").hidden = by("text-label").hidden = showForm(by("fields"), kinds, "field");
}

const hasFields = () => Boolean(by("fields")) && !by("fields").hidden; // an exported page has no such form

// What is to be classified: the text, or a record of the fields.
const given = () => (hasFields() ? readForm(by("fields")) : by("text").value);

// The text with struck words blanked, so that character positions stay the same.
export function withoutStruck(text, places) {
  if (!places.length) return text;
  const characters = Array.from(text);
  for (const [start, end] of places) characters.fill(" ", start, end);
  return characters.join("");
}

async function refresh(names, again, answered) {
  const text = given();
  const empty = isEmpty(text);
  by("try-empty").hidden = !empty;
  if (running) running.abort();
  if (empty) {
    by("answers").replaceChildren();
    answered("");
    return;
  }
  running = new AbortController();
  const signal = running.signal;
  by("answers").setAttribute("aria-busy", "true");
  const found = await watched(() => Promise.all(names().map((name) => classify(name, text, signal))));
  if (signal.aborted) return; // a newer text is being classified
  if (found) {
    const columns = found.map((one) => column(one, one.explanation.text ?? text, names, again));
    by("answers").replaceChildren(...columns.map((one) => one.shown));
    answered(text);
    await Promise.all(columns.map((one) => one.draw(signal)));
  }
  if (!signal.aborted) by("answers").removeAttribute("aria-busy");
}

async function classify(name, text, signal) {
  const body = { text: typeof text === "string" ? withoutStruck(text, struck) : text, model: name, top_k: null, explain: true };
  if (chosen[name] !== undefined) body.class = chosen[name];
  const answer = await ask("/v1/classify", body, signal).catch((problem) => {
    if (problem.status !== 404 || body.class === undefined) throw problem;
    delete chosen[name]; // a class of an earlier version of the model
    return ask("/v1/classify", { ...body, class: undefined }, signal);
  });
  return { name, ...answer.results[0] };
}

// The column for a model's answer, and a function that draws the evidence into it.
function column(result, text, names, again) {
  const explained = result.explanation;
  const title = result.labels.length ? result.labels.join(", ") : "no label";
  const largest = Math.max(...result.classes.map((one) => Math.abs(valueOf(one))), 1e-9);
  const scale = "probability" in result.classes[0] ? 1 : largest;
  const bars = make("ul", { className: "bars" }, ...result.classes.slice(0, 20).map((one) => {
    const bar = make("span");
    bar.style.width = `${Math.max(0, 100 * valueOf(one) / scale)}%`;
    return make("li", {}, make("button", {
      type: "button", "aria-pressed": String(one.label === explained.label),
      title: `Show the evidence for ${one.label}`,
      onclick: () => { chosen[result.name] = one.label; again(); },
    }, make("span", { className: "name", dir: "auto" }, String(one.label)),
    make("span", { className: "bar" }, bar), make("span", { className: "number" }, shownValue(one))));
  }));
  const rest = result.classes.length > 20
    ? [make("p", { className: "quiet" }, `and ${result.classes.length - 20} more classes`)] : [];
  const line = make("p", { className: "number-line quiet" }, hint(explained));
  const { place, part, draw } = evidence(text, explained, line, again);
  const shown = make("div", { className: "answer" },
    make("h2", { dir: "auto" }, names().length > 1 ? `${result.name}: ${title}` : title), bars, ...rest,
    make("h2", { dir: "auto" }, `Evidence for and against ${explained.label}`), ...part, place, line);
  return { shown, draw };
}

function hint(explained) {
  return explained.evidence.length
    ? "Blue words are evidence for this class, orange words against it. Point at a word, tap it, or move with the arrow keys to see its weight; click it, or tap it again, to ignore it."
    : "The model knows none of these words.";
}

// Segments of the text, each with the sum of its evidence.
export function stretches(text, found) {
  const characters = Array.from(text);
  const changes = new Map([[0, 0], [characters.length, 0]]);
  for (const one of found) {
    for (const [start, end] of one.places) {
      changes.set(start, (changes.get(start) || 0) + one.value / one.count);
      changes.set(end, (changes.get(end) || 0) - one.value / one.count);
    }
  }
  const places = [...changes.keys()].sort((one, two) => one - two);
  let covered = 0;
  const parts = [];
  places.forEach((start, number) => {
    covered += changes.get(start);
    const end = places[number + 1];
    if (end > start) parts.push({ start, end, words: characters.slice(start, end).join(""), value: covered });
  });
  return parts;
}

// Spaces and punctuation are no buttons: their evidence is shown with the word before them, or else behind them.
export function ofWords(parts) {
  const found = parts.map((one) => ({ ...one }));
  const isWord = (one) => one !== undefined && /[\p{L}\p{N}]/u.test(one.words);
  found.forEach((one, at) => {
    if (isWord(one) || !one.value) return;
    const owner = [found[at - 1], found[at + 1]].find(isWord);
    if (owner === undefined) return;
    owner.value += one.value;
    one.value = 0;
  });
  return found;
}

// The first characters of a text, counted in code points like Python, and the rest.
export function firstCharacters(text, limit) {
  if (text.length <= limit) return [text, ""];
  let end = 0;
  for (let number = 0; number < limit && end < text.length; number += 1) end += text.codePointAt(end) > 0xffff ? 2 : 1;
  return [text.slice(0, end), text.slice(end)];
}

function evidence(text, explained, line, again) {
  const [first, rest] = firstCharacters(text, MARKED);
  const inside = explained.evidence.map((one) => ({ ...one, places: one.places.filter(([, end]) => end <= MARKED) }));
  const parts = split(ofWords(stretches(first, inside)), struck);
  const largest = parts.reduce((most, one) => Math.max(most, Math.abs(one.value)), 1e-9);
  const place = make("div", { className: "evidence", dir: "auto", role: "group", "aria-label": "Evidence; arrow keys move from word to word" });
  moveByArrows(place);
  const note = `The text is long: evidence is shown for its first ${MARKED.toLocaleString("en")} characters; the classes are for the whole text.`;
  const draw = async (signal) => {
    for (let at = 0; at < parts.length; at += PIECE) {
      if (at) await new Promise((done) => { setTimeout(done); });
      if (signal.aborted) return;
      place.append(...parts.slice(at, at + PIECE).map((one) => stretch(one, one.value / largest, explained.label, line, again)));
    }
    place.append(rest);
    const buttons = [...place.querySelectorAll("button")];
    const before = buttons.find((one) => Number(one.dataset.start) === pressed);
    makeStop(place, before || buttons[0]);
    if (before && document.activeElement === document.body) before.focus(); // the pressed button was replaced
    pressed = null;
  };
  return { place, part: rest ? [make("p", { className: "quiet" }, note)] : [], draw };
}

function stretch(one, share, label, line, again) {
  if (Math.abs(share) < 1e-9 && !one.struck) return one.words;
  const side = share > 0 ? "for" : "against";
  const number = one.struck ? "ignored; click to restore it"
    : `${one.words}: ${one.value > 0 ? "+" : "−"}${Math.abs(one.value).toFixed(2)} ${side} ${label}`;
  const tell = () => { line.textContent = number; };
  const button = make("button", {
    type: "button", tabIndex: -1, title: number, className: one.struck ? "struck" : side, onfocus: tell, onmouseenter: tell,
    "aria-pressed": String(Boolean(one.struck)), onclick: (event) => {
      if (event.pointerType === "touch" && tapped !== number) { tapped = number; tell(); return; } // the weight first
      strike(one, again);
    },
  }, one.words);
  button.dataset.start = one.start;
  if (!one.struck) button.style.background = mark(side, 0.12 + 0.5 * Math.abs(share));
  return button;
}

// Struck words have no evidence: cut them out of their segments.
export function split(parts, places) {
  const found = [];
  for (const part of parts) {
    let rest = part;
    for (const [start, end] of [...places].sort((one, two) => one[0] - two[0])) {
      if (start < rest.start || end > rest.end) continue;
      const characters = Array.from(rest.words);
      const cut = (from, to) => characters.slice(from - rest.start, to - rest.start).join("");
      if (start > rest.start) found.push({ ...rest, end: start, words: cut(rest.start, start) });
      found.push({ start, end, words: cut(start, end), value: 0, struck: true });
      rest = { ...rest, start: end, words: cut(end, rest.end) };
    }
    if (rest.end > rest.start) found.push(rest);
  }
  return found;
}

function strike(part, again) {
  if (hasFields()) return; // a field is changed in its box
  pressed = part.start;
  const same = ([start, end]) => start === part.start && end === part.end;
  struck = part.struck ? struck.filter((one) => !same(one)) : [...struck, [part.start, part.end]];
  again();
}
