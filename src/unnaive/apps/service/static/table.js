// Label the rows of a table in batches; filter, sort by probability, download.

import { ask, askWithFile } from "./api.js";
import { write } from "./csv.js";
import { by, count, make, percent, say, shownValue, valueOf, watched } from "./shown.js";

const STEP = 200; // rows in a request
const SHOWN = 500; // rows on the page

let header = [];
let rows = []; // { cells, label, value, shown }
let order = { by: "number", up: true };
let running = null;
let name = "table";

let kinds = () => null; // of the fields of the model's records; null: texts

export function start(model, fields) {
  kinds = fields;
  const drop = by("drop");
  by("file").addEventListener("change", (event) => open(event.target.files[0]));
  drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    open(event.dataTransfer.files[0]);
  });
  by("start").addEventListener("click", () => watched(() => label(model())));
  by("cancel").addEventListener("click", () => running && running.abort());
  by("download").addEventListener("click", download);
  for (const id of ["filter-label", "filter-words", "filter-below"]) by(id).addEventListener("input", show);
  return { open: choose };
}

// A model of records reads the columns of its fields; for others the column of the text is chosen.
function choose() { by("column").hidden = by("column-label").hidden = kinds() !== null; }

function documentOf(row) {
  if (kinds() === null) return row.cells[Number(by("column").value)] || "";
  return Object.fromEntries(Object.keys(kinds()).map((name) => [name, row.cells[header.indexOf(name)] ?? ""]));
}

function shownOf(row) {
  if (kinds() === null) return row.cells[Number(by("column").value)] || "";
  return Object.entries(documentOf(row)).map(([name, value]) => `${name}: ${value}`).join("; ");
}

// The service reads the file, by the same rules as all commands: a bad row is named, and never shifts another.
async function open(file) {
  if (!file) return;
  if (running) running.abort(); // of the table before
  running = null;
  by("results").hidden = by("table-options").hidden = true;
  by("progress-words").textContent = "Reading …";
  const read = await watched(() => askWithFile(`/v1/table?${new URLSearchParams({ name: file.name })}`, file));
  by("progress-words").textContent = "";
  by("file").value = ""; // so that the same file can be chosen again
  if (!read) return;
  name = file.name.replace(/\.[^.]*$/, "");
  header = read.columns;
  rows = read.rows.map((cells, number) => ({ number, cells }));
  by("column").replaceChildren(...header.map((one, at) => make("option", { value: String(at), dir: "auto" }, one || `column ${at + 1}`)));
  by("column").value = String(guess());
  by("table-options").hidden = false;
  choose();
  by("progress-words").textContent = [`${file.name}: ${count(rows.length, "row")}`, read.note].filter(Boolean).join("; ");
}

// The column whose name says that it is the text, else the one with the longest cells.
function guess() {
  const named = header.findIndex((one) => /^(text|body|message|document|content)$/i.test(one.trim()));
  if (named >= 0) return named;
  const sizes = header.map((_, at) => rows.slice(0, 100).reduce((sum, row) => sum + (row.cells[at] || "").length, 0));
  return sizes.indexOf(Math.max(...sizes));
}

async function label(model) {
  const lacking = Object.keys(kinds() || {}).find((one) => !header.includes(one));
  if (lacking !== undefined) throw new Error(`The table has no column ${lacking}, which the model reads as a field; add it, empty where it is not known.`);
  const run = running = new AbortController();
  const table = rows; // of this run: another file may be opened meanwhile
  for (const one of table) delete one.label;
  by("progress").hidden = by("cancel").hidden = false;
  by("start").disabled = true;
  const began = performance.now();
  try {
    for (let at = 0; at < table.length; at += STEP) {
      const part = table.slice(at, at + STEP);
      const body = { texts: part.map(documentOf), model, top_k: 1 };
      const answer = await ask("/v1/classify", body, run.signal);
      answer.results.forEach((result, number) => {
        const best = result.classes[0];
        Object.assign(part[number], { label: result.labels.join(";"), value: valueOf(best), shown: shownValue(best) });
      });
      if (run.signal.aborted) return;
      const done = Math.min(table.length, at + STEP);
      const left = (performance.now() - began) / done * (table.length - done) / 1000;
      by("progress").value = done / table.length;
      by("progress-words").textContent = `${done.toLocaleString("en")} of ${count(table.length, "row")}` +
        (left > 1 ? `, ${Math.ceil(left)} s left` : "");
    }
  } finally {
    if (run === running || running === null) {
      by("progress").hidden = by("cancel").hidden = true;
      by("start").disabled = false;
    }
    if (run === running) finish();
  }
}

function finish() {
  const labels = [...new Set(rows.filter((one) => one.label !== undefined).map((one) => one.label))].sort();
  by("filter-label").replaceChildren(make("option", { value: "" }, "all"),
    ...labels.map((one) => make("option", { value: one || "\0" }, one || "no label")));
  by("results").hidden = labels.length === 0;
  show();
}

function wanted() {
  const label = by("filter-label").value;
  const words = by("filter-words").value.toLowerCase();
  const below = Number(by("filter-below").value || 100) / 100;
  const found = rows.filter((one) => one.label !== undefined
    && (label === "" || one.label === (label === "\0" ? "" : label)) && (below >= 1 || one.value < below)
    && (words === "" || one.cells.some((cell) => cell.toLowerCase().includes(words))));
  const key = { number: (one) => one.number, label: (one) => one.label, sure: (one) => one.value }[order.by];
  found.sort((one, two) => (key(one) < key(two) ? -1 : key(one) > key(two) ? 1 : one.number - two.number));
  return order.up ? found : found.reverse();
}

const beginning = (text) => (text.length > 500 ? `${text.slice(0, 500)} …` : text);

function show() {
  const found = wanted();
  const heading = kinds() === null ? header[Number(by("column").value)] : "Record";
  const head = (words, key, className = "") => make("th", {
    scope: "col", className, "aria-sort": order.by === key ? (order.up ? "ascending" : "descending") : "none",
  }, make("button", { type: "button", onclick: () => sort(key) },
    words + (order.by === key ? (order.up ? " ▲" : " ▼") : "")));
  by("rows").tHead.replaceChildren(make("tr", {}, head("Row", "number", "number"), head("Label", "label"),
    head("Probability", "sure", "number"), make("th", { scope: "col", dir: "auto" }, heading || "Text")));
  by("rows").tBodies[0].replaceChildren(...found.slice(0, SHOWN).map((one) => make("tr", {},
    make("td", { className: "number" }, String(one.number + 1)), make("td", { dir: "auto" }, one.label || "no label"),
    make("td", { className: "number" }, one.shown),
    make("td", { className: "text", dir: "auto" }, make("div", {}, beginning(shownOf(one)))))));
  const sure = found.length ? found.reduce((sum, one) => sum + one.value, 0) / found.length : 0;
  by("rows-words").textContent = `${count(found.length, "row")}${found.length > SHOWN ? `, the first ${SHOWN} shown` : ""}`
    + (found.length && found.every((one) => one.shown.includes("%")) ? `, mean probability ${percent(sure)}` : "");
}

function sort(key) {
  order = { by: key, up: order.by === key ? !order.up : key !== "sure" };
  show();
}

function download() {
  const lines = wanted().map((one) => [...one.cells, one.label, one.value]);
  const address = URL.createObjectURL(new Blob([write([[...header, "label", "probability"], ...lines])], { type: "text/csv" }));
  make("a", { href: address, download: `${name}-labelled.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
