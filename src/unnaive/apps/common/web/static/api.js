// Requests to the service: authorisation, errors as sentences, and the message if the service does not answer.
// A session cookie authorises requests; a token is kept here only if the browser accepts no cookies.

export class Refused extends Error {}

let token = "";
export function setToken(given) { token = given; }
export const authorization = (given = token) => (given ? { Authorization: `Bearer ${given}` } : {});

// A path of the service, relative to the page: a proxy may serve both below a path of its own.
export const relative = (path) => path.replace(/^\//, "");

async function reach(path, options) {
  try {
    return await fetch(relative(path), { credentials: "same-origin", ...options });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Refused("The service does not answer. Is it still running?");
  }
}

export function ask(path, body, signal, more = {}, method = body === undefined ? "GET" : "POST") {
  const headers = { ...authorization(), ...more };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  return outcome(reach(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) }));
}

// Send the bytes of a file.
export const askWithFile = (path, file) =>
  outcome(reach(path, { method: "POST", headers: { ...authorization(), "Content-Type": "text/csv" }, body: file }));

async function outcome(reached) {
  const answer = await reached;
  if (answer.status === 503) throw new Refused("The service is overloaded; try again in a second.");
  const found = await answer.json().catch(() => ({}));
  if (answer.ok) {
    tellVersion(answer.headers); // not of a refusal, whose sentence would be replaced
    return found;
  }
  if (answer.status === 401) document.dispatchEvent(new Event("unnaive:signed-out"));
  throw Object.assign(new Refused(sentence(found.error, answer.status)), { status: answer.status, answer: found });
}

// Every answer names the version that gave it; the page shows the one that answers now.
function tellVersion(headers) {
  const id = headers.get("Unnaive-Version-Id");
  if (id === null) return;
  const detail = { id, name: decodeURIComponent(headers.get("Unnaive-Model")), number: headers.get("Unnaive-Version") };
  document.dispatchEvent(new CustomEvent("unnaive:version", { detail }));
}

export async function picture(path) {
  const answer = await reach(path, { headers: authorization() });
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
