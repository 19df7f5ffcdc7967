// Requests to the service: one place for the token, for errors as sentences, and for "the service does not answer".

export class Refused extends Error {}

let token = "";
const address = new URLSearchParams(location.hash.slice(1));
if (address.get("token")) {
  token = address.get("token");
  history.replaceState(null, "", location.pathname); // so that it is neither bookmarked nor shown
}

export const hasToken = () => token !== "";
export function setToken(given) { token = given.trim(); }

export async function ask(path, body, signal, more = {}) {
  const headers = { ...more };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, {
      method: body === undefined ? "GET" : "POST", headers, signal,
      body: body === undefined ? undefined : JSON.stringify(body), credentials: "omit",
    });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Refused("The service does not answer. Is it still running?");
  }
  if (answer.status === 503) throw new Refused("The service has too much to do at the moment; try again in a second.");
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Refused(sentence(found.error, answer.status)), { status: answer.status });
  return found;
}

export async function picture(path) {
  const answer = await fetch(path, { headers: token ? { Authorization: `Bearer ${token}` } : {}, credentials: "omit" });
  if (!answer.ok) return null;
  const bytes = new Uint8Array(await answer.arrayBuffer());
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return `data:image/svg+xml;base64,${btoa(text)}`;
}

function sentence(error, status) {
  if (!error) return `The service answered with status ${status}.`;
  return error[0].toUpperCase() + error.slice(1) + (/[.?!]$/.test(error) ? "" : ".");
}
