// Keys without a modifier, which can be switched off: speech input and stray touches would press them (WCAG 2.1.4).

import { remember, remembered } from "./remembered.js";
import { by } from "./shown.js";

const NAME = "unnaive_shortcuts";

export const areOn = () => by("shortcuts").checked;

// `changed` is called after each change.
export function start(changed) {
  by("shortcuts").checked = remembered(NAME) !== "off";
  show();
  by("shortcuts").addEventListener("change", () => {
    remember(NAME, areOn() ? "" : "off");
    show();
    changed();
  });
}

function show() { document.body.classList.toggle("without-keys", !areOn()); }
