// Teaching from the page: labels in the model's types, one request for each text, and undoing by event.

import { ask } from "./api.js";
import { isEmpty, make, shownValue, watched } from "./shown.js";

const sent = new Map(); // requests by document, each with its key: a second press repeats the same request

function requestOf(name, document, newClasses) {
  const what = JSON.stringify([name, document]);
  if (!sent.has(what)) {
    const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (one) => one.toString(16).padStart(2, "0")).join("");
    sent.set(what, { body: { documents: [document], new_classes: newClasses }, key });
  }
  return { ...sent.get(what), drop: () => sent.delete(what) };
}

// The classes of a model by their typed form; classes may be numbers.
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
    if (fresh.length) return `${fresh.join(", ")} will become a new class.`;
    return this.multilabel ? "Separate labels with semicolons." : "";
  }
}

const path = (name, verb) => `/v1/models/${encodeURIComponent(name)}/${verb}`;

// Teach a text; the result and an undo button appear in `place`.
export async function teachDocument(name, text, words, classes, place, changed, newClasses = null) {
  const labels = classes.read(words);
  if (isEmpty(text) || !labels.length) {
    place.textContent = "Enter a text and its label.";
    return;
  }
  const document = classes.multilabel ? { text, labels } : { text, label: labels[0] };
  const { body, key, drop } = requestOf(name, document, newClasses || classes.fresh(labels).length > 0);
  let answer;
  try {
    answer = await ask(path(name, "teach"), body, undefined, { "Idempotency-Key": key });
  } catch (problem) {
    if (problem.status) drop(); // refused, so another request may follow
    const similar = problem.answer && problem.answer.similar;
    if (problem.status !== 409 || !similar) throw problem;
    place.replaceChildren(...askWhichClass(similar, (given, allowed) =>
      watched(() => teachDocument(name, text, given(words), classes, place, changed, allowed))));
    return;
  }
  const done = answer.repeated ? "This was already taught" : "Taught";
  place.replaceChildren(describeChange(answer, done), undoButton(name, answer, "Undo", "Forgotten", place, changed));
  await changed();
}

// A label differs from a class only by case or spaces: ask whether it is that class or a new one.
function askWhichClass(similar, again) {
  const pairs = Object.entries(similar);
  const swap = (words) => words.split(";").map((one) => (one.trim() in similar ? String(similar[one.trim()]) : one.trim())).join(";");
  return [`There is already a class ${pairs.map(([, known]) => known).join(", ")}. `,
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
  sent.clear(); // after undoing, the same document may be taught again
  return ask(path(name, "undo"), { event });
}

// Forget what an event taught, or one of its documents.
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
  return make("span", { dir: "auto" }, `${done}. The prediction was ${words(before)}; it is now ${words(after)}. `);
}
