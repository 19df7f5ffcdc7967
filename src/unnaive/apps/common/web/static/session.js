// Sign in and out: the token is sent once; afterwards a cookie that scripts cannot read replaces it.

import { ask, authorization, setToken } from "./api.js";
import { by, say } from "./shown.js";

const WHY = "The token follows #token= in the address that was printed when the service started. If you do not have it, ask whoever runs the service.";
const state = { signedIn: false, needed: false, asked: false };
let changed = () => {};

export const isSignedIn = () => state.signedIn;
export const isNeeded = () => state.needed;
export const isOpen = () => state.signedIn || !state.needed;

// Check the session; `whenChanged` is called now and after every sign-in or sign-out.
export async function begin(whenChanged) {
  by("sign-in-why").textContent = WHY;
  by("sign-in-form").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  by("sign-out").addEventListener("click", signOut);
  by("sign-in-open").addEventListener("click", askForToken);
  document.addEventListener("unnaive:signed-out", () => {
    if (!state.signedIn) return;
    state.signedIn = false;
    state.asked = true; // the content of the page stays while the user signs in again
    show();
    by("sign-in-problem").textContent = "The session has ended; sign in again.";
  });
  changed = whenChanged;
  await enter();
}

async function enter() {
  const address = new URLSearchParams(location.hash.slice(1));
  const given = address.get("token");
  if (given) history.replaceState(null, "", location.pathname); // so that the token is neither bookmarked nor shown
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
  if (!found.signedIn) { // the browser accepts no cookies
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
    if (problem.status !== 401) { say(problem.message); return; } // otherwise the session had already expired
  }
  location.reload(); // removes everything that needs the token from the page
}

export function offerSignIn() { // without moving the focus
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
