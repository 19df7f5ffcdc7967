// Signing in and out: the token is sent once, and the cookie that comes back, which no script can read, stands for it.

import { ask, authorization, setToken } from "./api.js";
import { by, say } from "./shown.js";

const WHY = "The token stands behind #token= in the address that was printed when the service started. If there was none, ask whoever runs the service.";
const state = { signedIn: false, needed: false, asked: false };
let changed = () => {};

export const isSignedIn = () => state.signedIn;
export const isNeeded = () => state.needed;
export const isOpen = () => state.signedIn || !state.needed;

// Look who is here; `whenChanged` is called now and whenever somebody signs in or out.
export async function begin(whenChanged) {
  by("sign-in-why").textContent = WHY;
  by("sign-in-form").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  by("sign-out").addEventListener("click", signOut);
  by("sign-in-open").addEventListener("click", askForToken);
  document.addEventListener("unnaive:signed-out", () => {
    if (!state.signedIn) return;
    state.signedIn = false;
    state.asked = true; // what is on the page stays there while the session is renewed
    show();
    by("sign-in-problem").textContent = "The session has ended; sign in again.";
  });
  changed = whenChanged;
  await enter();
}

async function enter() {
  const address = new URLSearchParams(location.hash.slice(1));
  const given = address.get("token");
  if (given) history.replaceState(null, "", location.pathname); // so that it is neither bookmarked nor shown
  if (given) await signIn(given).catch((problem) => { by("sign-in-problem").textContent = problem.message; state.asked = true; });
  try {
    if (!state.signedIn) Object.assign(state, await look());
  } catch (problem) {
    say(problem.message);
    setTimeout(enter, 3000); // the service may come back
    return;
  }
  say("");
  show();
  await changed();
}

async function look() {
  const found = await ask("/session");
  return { signedIn: found.signed_in, needed: found.needed };
}

async function signIn(token) {
  await ask("/session", {}, undefined, authorization(token)).catch((problem) => {
    throw problem.status === 401 ? new Error("This is not the token of this service.") : problem;
  });
  setToken("");
  let found = await look();
  if (!found.signedIn) { // a browser that takes no cookies
    setToken(token);
    found = await look();
  }
  Object.assign(state, found, { asked: false });
}

async function submit() {
  by("sign-in-problem").textContent = "";
  try {
    await signIn(by("token").value.trim());
  } catch (problem) {
    by("sign-in-problem").textContent = problem.message;
    by("token").select();
    return;
  }
  by("token").value = "";
  say("");
  show();
  await changed();
}

async function signOut() {
  try {
    await ask("/session", undefined, undefined, {}, "DELETE");
  } catch (problem) {
    if (problem.status !== 401) { say(problem.message); return; } // else it had ended by itself
  }
  location.reload(); // nothing that only this person may see stays on the page
}

export function offerSignIn() { // without taking the focus away
  state.asked = true;
  show();
}

export function askForToken() {
  offerSignIn();
  by("token").focus();
}

function show() {
  by("sign-in").hidden = state.signedIn || !(state.needed || state.asked);
  by("sign-out").hidden = !state.signedIn;
  by("sign-in-open").hidden = state.signedIn || !by("sign-in").hidden;
}
