// The REST interface from its OpenAPI description: parameters and answers of each request, and a form to send it.

import { ask, authorization, relative } from "./api.js";
import { begin, isOpen } from "./session.js";
import { by, make, watched } from "./shown.js";

let description = null;
let model = ""; // the initial value in forms

await begin(async () => {
  by("inside").hidden = !isOpen();
  if (!isOpen()) return;
  const found = await watched(() => Promise.all([ask("/openapi.json"), ask("/v1/models")]));
  if (!found) return;
  [description, { models: [{ name: model }] }] = found;
  draw("");
});
by("filter").addEventListener("input", () => draw(by("filter").value.trim().toLowerCase()));

function draw(words) {
  const all = Object.entries(description.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([method, about]) => ({ path, method: method.toUpperCase(), about })));
  const wanted = all.filter((one) => `${one.method} ${one.path} ${one.about.description || ""}`.toLowerCase().includes(words));
  by("operations").replaceChildren(...wanted.map(operation));
  if (!wanted.length) by("operations").replaceChildren(make("p", { className: "quiet" }, "No request matches."));
}

function operation({ path, method, about }) {
  const title = make("summary", {}, make("code", {}, `${method} ${path}`));
  const shown = make("details", { className: "operation" }, title);
  shown.addEventListener("toggle", () => { // the content is created on first opening
    if (shown.open && shown.children.length === 1) shown.append(...inside(path, method, about));
  });
  return shown;
}

function inside(path, method, about) {
  const id = `${method}-${path}`.replace(/[^A-Za-z]+/g, "-");
  const fields = (about.parameters || []).map((one) => parameter(one, `${id}-${one.name}`));
  const content = about.requestBody && about.requestBody.content;
  const [kind, described] = content ? Object.entries(content)[0] : [null, null];
  const body = kind && make("textarea", { id: `${id}-body`, rows: 6, spellcheck: false, value: exampleOf(described, kind) });
  const answer = make("div", { role: "status", "aria-live": "polite" });
  const form = make("form", { onsubmit: (event) => {
    event.preventDefault();
    watched(() => send(path, method, fields, kind, body, answer));
  } }, ...fields.map((one) => one.shown), ...(body ? [make("label", { htmlFor: body.id }, `Body (${kind})`), body] : []),
  make("button", {}, "Send"));
  const schema = described && described.schema ? [fold("Fields of the body", describe(described.schema))] : [];
  return [make("p", {}, about.description || about.summary || ""), form, answer, ...schema,
    fold("Answers", ...Object.entries(about.responses || {}).map(([status, one]) => outcome(status, one)))];
}

const fold = (title, ...children) => make("details", {}, make("summary", {}, title), ...children);

function outcome(status, one) {
  const schema = one.content && Object.values(one.content)[0].schema;
  const plain = !schema || Number(status) >= 400; // all errors look the same
  return plain ? make("p", {}, make("code", {}, status), ` ${one.description || ""}`)
    : make("div", {}, make("p", {}, make("code", {}, status), ` ${one.description || ""}`), describe(schema));
}

function parameter(one, id) {
  const { schema = {} } = one;
  const choices = schema.enum || (schema.type === "boolean" ? ["false", "true"] : null);
  const start = one.in === "path" && ["name", "model"].includes(one.name) ? model : one.example ?? schema.default ?? "";
  const input = choices
    ? make("select", { id }, make("option", { value: "" }, ""), ...choices.map((value) => make("option", { value: String(value) }, String(value))))
    : make("input", { id, value: String(start), autocomplete: "off", required: Boolean(one.required) });
  const words = `${one.name} (${one.in}${one.required ? "" : ", optional"})`;
  return { ...one, input, shown: make("div", {}, make("label", { htmlFor: id }, words), " ", input,
    ...(one.description ? [make("span", { className: "quiet" }, ` ${one.description}`)] : [])) };
}

async function send(path, method, fields, kind, body, answer) {
  const query = new URLSearchParams();
  const headers = authorization();
  let address = path;
  for (const one of fields) {
    const value = one.input.value;
    if (one.in === "path") address = address.replace(`{${one.name}}`, encodeURIComponent(value));
    else if (value !== "" && one.in === "query") query.set(one.name, value);
    else if (value !== "" && one.in === "header") headers[one.name] = value;
  }
  if (kind) headers["Content-Type"] = kind;
  if (query.size) address += `?${query}`;
  const found = await fetch(relative(address), { method, headers, credentials: "same-origin", body: body ? body.value : undefined })
    .catch(() => { throw new Error("The service does not answer. Is it still running?"); });
  const text = await found.text();
  if (found.status === 401) document.dispatchEvent(new Event("unnaive:signed-out"));
  answer.replaceChildren(make("p", {}, make("code", {}, `${found.status}`), ` ${method} ${address}`),
    make("pre", { tabIndex: 0, role: "region", "aria-label": "Answer", dir: "auto" }, pretty(text)));
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2).slice(0, 100000);
  } catch {
    return text.slice(0, 100000);
  }
}

// The example from the description, else one generated from the schema.
function exampleOf(described, kind) {
  const given = described.example ?? Object.values(described.examples || {})[0]?.value ?? described.schema?.example;
  if (typeof given === "string") return given;
  if (given !== undefined) return JSON.stringify(given, null, 2);
  if (!kind.includes("json") || kind.includes("nd")) return kind.includes("nd") ? '{"text": "my invoice was charged twice"}\n' : "";
  return JSON.stringify(sample(described.schema, 0), null, 2);
}

function resolve(schema) {
  return schema && schema.$ref ? description.components.schemas[schema.$ref.split("/").pop()] || {} : schema || {};
}

function sample(given, depth) {
  const schema = resolve(given);
  if (schema.examples?.length) return schema.examples[0];
  if (schema.example !== undefined) return schema.example;
  if (schema.default !== undefined && schema.default !== null) return schema.default;
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf) return sample(schema.anyOf[0], depth);
  if (schema.type === "array") return depth > 4 ? [] : [sample(schema.items, depth + 1)];
  if (schema.type === "object" || schema.properties) {
    const names = schema.required || (schema.oneOf ? schema.oneOf[0].required : null) || Object.keys(schema.properties || {}).slice(0, 1);
    const wanted = schema.oneOf && schema.required ? [...new Set([...schema.required, ...schema.oneOf[0].required])] : names;
    return depth > 4 ? {} : Object.fromEntries(wanted.map((name) => [name, sample((schema.properties || {})[name], depth + 1)]));
  }
  return { string: "my invoice was charged twice", integer: 0, number: 0, boolean: false }[schema.type] ?? null;
}

function kindOf(given) {
  const schema = resolve(given);
  if (schema.anyOf) return schema.anyOf.map(kindOf).join(" or ");
  if (schema.type === "array") return `list of ${kindOf(schema.items)}`;
  return schema.enum ? schema.enum.join(" | ") : schema.type || "anything";
}

function describe(given) {
  const schema = resolve(given);
  const properties = Object.entries(resolve(schema.type === "array" ? schema.items : schema).properties || {});
  if (!properties.length) return make("p", { className: "quiet" }, kindOf(schema));
  return make("dl", { className: "facts" }, ...properties.flatMap(([name, one]) => [
    make("dt", {}, make("code", {}, name)), make("dd", {}, `${kindOf(one)}. ${one.description || resolve(one).description || ""}`)]));
}
