// What a screen reader says of the text on the page: the focus stays where it was, so nothing else would be said.

import { by, make } from "./shown.js";

const LONGEST = 1000; // characters of a text that are read out; the whole of it is on the page

// The text, if it is another one than before, and what is suggested or ticked: only what changes is read out.
export function announce(text) {
  const words = text.marked.map(([part]) => part).join("").trim() || "an empty text";
  const about = `${by("way").textContent} ${words.length > LONGEST ? `${words.slice(0, LONGEST)} …` : words}`;
  const suggestion = by("suggestion").textContent;
  const [before, after] = by("announced").children;
  if (!before || before.textContent !== about) by("announced").replaceChildren(make("span", {}, about), " ", make("span", {}, suggestion));
  else if (after.textContent !== suggestion) after.textContent = suggestion;
}
