// Beside the next text: earlier answers, classes and guidelines, progress and agreement.

import { ask } from "./api.js";
import { by, count, make, percent, say, watched } from "./shown.js";

const PANELS = ["label", "answers", "classes", "progress"];
const REASONS = { flagged: "flagged", skipped: "skipped", disagreed: "people disagree" };
let page = null; // functions of label.js: who, view, show, focusText
let me = { reviews: true, fixed: false };
let listed = { wanted: null, number: 0, rows: 0 };

export const isLabelling = () => !by("panel-label").hidden;

export function setUp(functions) {
  page = functions;
  for (const name of PANELS) {
    by(`tab-${name}`).addEventListener("click", () => open(name));
    by(`tab-${name}`).addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) open(PANELS[(PANELS.indexOf(name) + step + PANELS.length) % PANELS.length], true);
    });
  }
  by("browse-form").addEventListener("submit", (event) => { event.preventDefault(); list(); });
  for (const id of ["browse-state", "browse-label", "browse-by"]) by(id).addEventListener("change", () => list());
  by("browse-more").addEventListener("click", () => list(listed.rows));
  by("bulk-form").addEventListener("submit", (event) => { event.preventDefault(); labelAll(); });
  by("bulk-undo").addEventListener("click", undoAll);
  by("guidelines-form").addEventListener("submit", (event) => {
    event.preventDefault();
    change("guidelines", [by("guidelines-words").value]);
  });
}

export function setPerson(person) {
  me = person;
  by("browse-by-choice").hidden = by("guidelines-edit").hidden = !me.reviews;
}

export async function open(name, focusTab = false) {
  for (const other of PANELS) {
    by(`panel-${other}`).hidden = other !== name;
    by(`tab-${other}`).setAttribute("aria-selected", String(other === name));
    by(`tab-${other}`).tabIndex = other === name ? 0 : -1;
  }
  say("");
  if (focusTab) by(`tab-${name}`).focus();
  else if (name !== "label") (by(`panel-${name}`).querySelector("select") || by(`panel-${name}`)).focus();
  if (name === "label") { if (!focusTab) page.focusText(); return; }
  if (name === "answers") await list();
  if (name === "classes") await drawClasses();
  if (name === "progress") await drawAgreement();
}

// Answers.

function fill(select, empty, names) {
  const chosen = select.value;
  select.replaceChildren(make("option", { value: "" }, empty), ...names.map((name) => make("option", { value: name }, name)));
  select.value = names.includes(chosen) ? chosen : "";
}

async function list(start = 0) {
  const classes = page.view() ? page.view().classes : [];
  fill(by("browse-label"), "any", classes);
  fill(by("bulk-label"), "choose a class", classes);
  const wanted = { who: page.who(), state: by("browse-state").value, label: by("browse-label").value || null,
    by: by("browse-by").value || null, words: by("browse-words").value.trim() || null };
  const found = await watched(() => ask("/label/browse", { ...wanted, start }));
  if (!found) return;
  fill(by("browse-by"), "anybody", found.people);
  listed = { wanted, number: found.number, rows: start + found.texts.length };
  by("browse-found").textContent = count(found.number, "text");
  by("bulk-form").hidden = found.number === 0 || page.view().multilabel;
  by("bulk-apply").textContent = `Label ${found.number.toLocaleString("en")}`;
  const rows = found.texts.map(drawRow);
  if (start) by("rows").append(...rows); else by("rows").replaceChildren(...rows);
  by("rows").start = 1;
  by("browse-more").hidden = listed.rows >= found.number;
}

function drawRow(text) {
  const reasons = text.reasons.map((reason) => REASONS[reason]).join(", ");
  const decide = me.reviews && text.answers.length > 0;
  return make("li", {},
    make("p", { className: "body", dir: "auto" }, text.body.trim() || "(an empty text)"),
    make("p", { className: "quiet" }, `Text ${text.name}`, text.labels ? ` · ${text.labels.join(", ") || "no label"}` : "",
      reasons ? ` · ${reasons}` : "", text.measures ? " · measures the model" : ""),
    make("ul", { className: "quiet" }, ...text.answers.map((one) => make("li", {}, describe(one)))),
    make("p", { className: "filters" },
      make("button", { type: "button", onclick: () => openText(text.number, false) }, text.answers.some((one) => one.who === page.who()) ? "Correct" : "Label"),
      ...(decide ? [make("button", { type: "button", onclick: () => openText(text.number, true) }, "Decide")] : [])));
}

const DID = { skip: "skipped", flag: "flagged" };
export function describe(one) {
  const suggested = one.suggested ? `, suggested ${one.suggested}${one.probability === null ? "" : ` ${percent(one.probability)}`}` : "";
  const decided = one.way === "review" ? " (decided)" : "";
  return `${one.who}: ${DID[one.kind] || one.labels.join(", ") || "no label"}${decided}, ${one.at.slice(0, 16).replace("T", " ")}${suggested}`;
}

async function openText(number, decide) {
  const found = await watched(() => ask("/label/open", { who: page.who(), text: number, decide }));
  if (!found) return;
  page.show(found);
  await open("label");
}

async function labelAll() {
  const label = by("bulk-label").value;
  if (!label) { say("Choose the class first."); return; }
  const done = await watched(() => ask("/label/bulk", { ...listed.wanted, labels: [label], number: listed.number }));
  if (!done) return;
  await list();
  const left = done.left_out ? ` ${count(done.left_out, "text")} that measure${done.left_out === 1 ? "s" : ""} the model ${done.left_out === 1 ? "was" : "were"} left out.` : "";
  by("browse-found").textContent = `${count(done.labelled, "text")} labelled ${label}.${left}`;
  by("bulk-form").hidden = by("bulk-undo").hidden = false;
}

async function undoAll() {
  const found = await watched(() => ask("/label/undo", { who: page.who() }));
  if (!found) return;
  page.show(found);
  by("bulk-undo").hidden = true;
  await list();
}

// Classes.

async function drawClasses(given) {
  const found = given || await watched(() => ask("/label/classes"));
  if (!found) return;
  by("guidelines").textContent = found.guidelines || "There are no guidelines yet.";
  by("guidelines-words").value = found.guidelines;
  by("class-list").replaceChildren(...found.classes.map((one) => drawClass(one, found)));
}

function drawClass(one, found) {
  const about = make("div", {}, make("strong", { dir: "auto" }, one.name), ` · ${count(one.texts, "text")}`,
    make("p", { dir: "auto" }, one.description));
  if (!found.reviews) return make("li", {}, about);
  const name = make("input", { value: one.name, dir: "auto", maxlength: 200, "aria-label": `New name of ${one.name}` });
  const words = make("input", { value: one.description, dir: "auto", maxlength: 2000, "aria-label": `Description of ${one.name}` });
  const others = make("select", { "aria-label": `Class to merge ${one.name} into` }, make("option", { value: "" }, "choose a class"),
    ...found.classes.filter((other) => other.name !== one.name).map((other) => make("option", { value: other.name }, other.name)));
  const button = (label, act) => make("button", { type: "button", onclick: act }, label);
  return make("li", {}, about, make("details", {}, make("summary", {}, "Change"),
    make("p", { className: "filters" }, words, button("Describe", () => change("describe", [one.name, words.value]))),
    make("p", { className: "filters" }, name, button("Rename", () => change("rename", [one.name, name.value]))),
    make("p", { className: "filters" }, others,
      button("Merge", () => (others.value ? change("rename", [one.name, others.value], true) : say("Choose the class to merge into.")))),
    make("p", { className: "filters" }, button("Delete", () => change("drop", [one.name])))));
}

async function change(kind, names, merge = false) {
  const found = await watched(() => ask("/label/classes", { who: page.who(), kind, names, merge }));
  if (!found) return;
  by("guidelines-edit").open = false;
  await drawClasses(found);
  await page.refresh();
}

// Progress.

async function drawAgreement() {
  const [found, standing] = await Promise.all([watched(() => ask("/label/agreement")), watched(() => ask("/label/standing"))]);
  if (standing) drawFigures(standing);
  if (!found) return;
  by("agreement").hidden = !found.agreement.length;
  by("alpha").textContent = found.alpha === null ? "" : `Krippendorff's alpha of all: ${found.alpha.toFixed(2)}`;
  by("pairs").replaceChildren(...found.agreement.map((pair) => make("tr", {}, make("td", {}, pair.people.join(" and ")),
    ...[pair.texts, pair.same, pair.kappa === null ? "–" : pair.kappa.toFixed(2)].map((value) => make("td", { className: "number" }, String(value))))));
}

const whole = (share) => `${Math.round(100 * share)} %`;

function drawFigures(standing) {
  const { accuracy, asked } = standing;
  const tile = (name, value, words) => make("div", {}, make("dt", {}, name), make("dd", {}, value), make("dd", { className: "quiet" }, words));
  by("figures").replaceChildren(
    tile("Measured at random", accuracy ? whole(accuracy.share) : "–", accuracy
      ? `of new texts like these are predicted correctly (${whole(accuracy.low)} to ${whole(accuracy.high)}, ${count(accuracy.texts, "text")})`
      : "no text that measures the model has a label yet"),
    tile("Asked for", asked ? whole(asked.share) : "–", asked
      ? `of ${count(asked.texts, "suggestion")} for texts chosen by the model or by you were right; these are not like new texts`
      : "no suggestion was answered yet"));
  by("stopping").replaceChildren(...standing.notes.map((one) => make("li", {}, `${one[0].toUpperCase()}${one.slice(1)}.`)));
}
