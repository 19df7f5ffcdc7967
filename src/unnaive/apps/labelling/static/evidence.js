// The text with its evidence: Tab reaches the words, arrow keys, a touch or the pointer show the weight of one.

import { by, make, makeStop, mark, moveByArrows, percent } from "./shown.js";

const LEAST = 0.02; // of the strongest; weaker evidence is not shown

export function start() { moveByArrows(by("text")); }

export function drawEvidence(text) {
  by("weight").textContent = "";
  by("text").replaceChildren(...text.marked.map(([words, share]) => drawPart(words, share, text.suggested)));
  if (!text.marked.some(([words]) => words.trim())) by("text").replaceChildren(make("i", {}, "(an empty text)"));
  makeStop(by("text"), by("text").querySelector("button"));
  by("text").scrollTop = 0;
}

function drawPart(words, share, label) {
  if (Math.abs(share) < LEAST) return make("span", {}, words);
  const side = share > 0 ? "for" : "against";
  const weight = `${words.trim()}: ${side} ${label}, ${percent(Math.abs(share))} of the strongest evidence`;
  const tell = () => { by("weight").textContent = weight; };
  const part = /[\p{L}\p{N}]/u.test(words)
    ? make("button", { type: "button", tabIndex: -1, title: weight, onfocus: tell, onmouseenter: tell, onclick: tell }, words)
    : make("span", {}, words); // spaces and punctuation are no stops
  part.style.background = mark(side, 0.12 + 0.45 * Math.abs(share));
  return part;
}
