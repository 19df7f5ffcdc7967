// Helpers for every part of the page.

export const by = (id) => document.getElementById(id);

// Create an element with properties and children; strings become text and are never parsed as HTML.
export function make(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made && name !== "list") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// Whether there is nothing in a text, or in any field of a record.
export const isEmpty = (text) => (typeof text === "string" ? [text] : Object.values(text)).every((one) => one.trim() === "");

// Fill a form with a box for each field of a model's records, by kind; none for a model of texts, and false then.
export function showForm(form, kinds, start) {
  const shown = JSON.stringify(kinds);
  form.hidden = kinds === null;
  if (form.dataset.kinds !== shown) {
    form.dataset.kinds = shown;
    form.replaceChildren(...Object.entries(kinds || {}).flatMap(([name, kind], number) => {
      const id = `${start}-${number}`;
      const text = ["text", "shared", "own", "both"].includes(kind), vector = kind.startsWith("vector");
      const box = make(text ? "textarea" : "input", {
        id, dir: "auto", spellcheck: false, ...(text ? { rows: 2 } : {}),
        ...(vector ? { placeholder: "[0.1, -0.2, …]" } : kind === "date" ? { placeholder: "2024-03-05" } : {}),
      });
      box.dataset.field = name;
      return [make("label", { htmlFor: id }, text ? name : `${name} (${vector ? kind.replace(/\((\d+)\)/, " of $1 numbers") : kind})`), box];
    }));
  }
  return kinds !== null;
}

const boxesOf = (form) => [...form.querySelectorAll("[data-field]")];

// The record in a form, and a record put into it.
export const readForm = (form) => Object.fromEntries(boxesOf(form).map((box) => [box.dataset.field, box.value]));
export function fillForm(form, record) {
  for (const box of boxesOf(form)) box.value = record[box.dataset.field] ?? "";
}

// A record as the service stores it, on one line for people: a section for each field, its value first.
export function shownRecord(text) {
  if (!text.includes("\x1e")) return text;
  return text.split("\x1e").filter(Boolean).map((part) => part.split("\x1f", 2).join(": ")).join("; ");
}

export function percent(share) {
  if (share > 0.999) return ">99.9 %";
  if (share < 0.001) return "<0.1 %";
  return `${(100 * share).toFixed(share < 0.0995 || share > 0.99 ? 1 : 0)} %`;
}

export const valueOf = (one) => (one.probability === undefined || one.probability === null ? one.score : one.probability);
export const shownValue = (one) =>
  one.probability === undefined || one.probability === null ? Number(one.score).toPrecision(3) : percent(one.probability);

export function say(sentence) { by("status").textContent = sentence; }

export async function watched(work) {
  try {
    const found = await work();
    say("");
    return found;
  } catch (problem) {
    if (problem.name !== "AbortError") say(problem.message);
    return undefined;
  }
}

export const count = (number, noun, plural = `${noun}s`) =>
  `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;

/** The background of text with evidence "for" or "against" a class; its strength is from 0 to 1. */
export function mark(side, strength) {
  return `color-mix(in srgb, var(--mark-${side}) ${Math.round(100 * strength)}%, transparent)`;
}

// Of the buttons in a place, one is reached by Tab, and the others by the arrow keys.
export function moveByArrows(place) {
  place.addEventListener("focusin", (event) => makeStop(place, event.target.closest("button")));
  place.addEventListener("keydown", (event) => {
    const buttons = [...place.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    buttons[Math.min(Math.max(to, 0), buttons.length - 1)].focus();
  });
}

// The button of a place that Tab reaches.
export function makeStop(place, button) {
  if (!button || button.tabIndex === 0) return;
  for (const one of place.querySelectorAll("button[tabindex='0']")) one.tabIndex = -1;
  button.tabIndex = 0;
}
