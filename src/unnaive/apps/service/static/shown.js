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
