// Teaching from the page: labels as the model has them, one request for one text, and undoing by the event it made.

import { ask } from "./api.js";
import { isEmpty, make, shownValue, watched } from "./shown.js";

const sent = new Map(); // requests by what they teach, each with its key: a second press sends the very same again

function requestOf(name, document, newClasses) {
  const what = JSON.stringify([name, document]);
  if (!sent.has(what)) {
    const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (one) => one.toString(16).padStart(2, "0")).join("");
    sent.set(what, { body: { documents: [document], new_classes: newClasses }, key });
  }
  return { ...sent.get(what), drop: () => sent.delete(what) };
}

// The classes of a model by what is typed for them; they may be numbers.
export class Classes {
  constructor(card = { classes: [], multilabel: false }) {
    this.multilabel = card.multilabel;
    this.known = new Map(card.classes.map((one) => [String(one.label), one.label]));
    this.numbers = card.classes.length > 0 && card.classes.every((one) => typeof one.label === "number");
  }

  names() { return [...this.known.keys()]; }

  read(words) {
    const parts = (this.multilabel ? words.split(";") : [words]).map((one) => one.trim()).filter(Boolean);
    return parts.map((one) => {
      if (this.known.has(one)) return this.known.get(one);
      return this.numbers && Number.isFinite(Number(one)) ? Number(one) : one;
    });
  }

  fresh(labels) { return labels.filter((one) => !this.known.has(String(one))); }

  hint(words) {
    const fresh = this.fresh(this.read(words));
    if (fresh.length) return `${fresh.join(", ")} will be a new class.`;
    return this.multilabel ? "Separate the labels by a semicolon." : "";
  }
}

const path = (name, verb) => `/v1/models/${encodeURIComponent(name)}/${verb}`;

// Teach a text; what came of it, with a button that undoes it, appears in `place`.
export async function teachDocument(name, text, words, classes, place, changed, newClasses = null) {
  const labels = classes.read(words);
  if (isEmpty(text) || !labels.length) {
    place.textContent = "Give a text and its label.";
    return;
  }
  const document = classes.multilabel ? { text, labels } : { text, label: labels[0] };
  const { body, key, drop } = requestOf(name, document, newClasses || classes.fresh(labels).length > 0);
  let answer;
  try {
    answer = await ask(path(name, "teach"), body, undefined, { "Idempotency-Key": key });
  } catch (problem) {
    if (problem.status) drop(); // it was refused, and may be asked otherwise
    const similar = problem.answer && problem.answer.similar;
    if (problem.status !== 409 || !similar) throw problem;
    place.replaceChildren(...askWhichClass(similar, (given, allowed) =>
      watched(() => teachDocument(name, text, given(words), classes, place, changed, allowed))));
    return;
  }
  const done = answer.repeated ? "It is taught already" : "Taught";
  place.replaceChildren(describeChange(answer, done), undoButton(name, answer, "Undo", "Forgotten", place, changed));
  await changed();
}

// A label that differs from a class by capitals or spaces only: the class, or a new one?
function askWhichClass(similar, again) {
  const pairs = Object.entries(similar);
  const swap = (words) => words.split(";").map((one) => (one.trim() in similar ? String(similar[one.trim()]) : one.trim())).join(";");
  return [`There is a class ${pairs.map(([, known]) => known).join(", ")} already. `,
    make("button", { type: "button", onclick: () => again(swap, null) }, `Teach ${pairs.map(([, known]) => known).join(", ")}`), " ",
    make("button", { type: "button", onclick: () => again((words) => words, pairs.map(([fresh]) => fresh)) },
      `Make ${pairs.map(([fresh]) => fresh).join(", ")} a new class`)];
}

function undoButton(name, answer, words, done, place, changed) {
  const event = answer.event === undefined ? answer.version : answer.event;
  return make("button", { type: "button", onclick: (pressed) => {
    pressed.target.disabled = true;
    watched(async () => {
      const undone = await undoEvent(name, event);
      const [next, then] = words === "Undo" ? ["Teach it again", "Taught again"] : ["Undo", "Forgotten"];
      place.replaceChildren(describeChange(undone, done), undoButton(name, undone, next, then, place, changed));
      await changed();
    });
  } }, words);
}

export async function undoEvent(name, event) {
  sent.clear(); // what was undone may be taught again
  return ask(path(name, "undo"), { event });
}

// Forget what an event taught, or one document of it.
export async function forgetEvent(name, event, change) {
  sent.clear();
  const documents = change && [{ text: change.text, labels: change.labels }];
  return ask(path(name, "forget"), { event: event.version, ...(documents ? { documents } : {}) });
}

export function describeChange(answer, done) {
  const words = (one) => `${one.label === null ? "no label" : one.label} (${shownValue(one)})`;
  const [first] = answer.changed || [];
  if (!first) return make("span", {}, `${done}. `);
  const { before, after } = first;
  return make("span", { dir: "auto" }, `${done}. The model said ${words(before)}, and says now ${words(after)}. `);
}
