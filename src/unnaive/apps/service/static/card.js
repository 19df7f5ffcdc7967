// The model card: settings, evaluation if there is one, the strongest terms of each class, versions, the network.

import { ask, picture } from "./api.js";
import { askForToken, isSignedIn } from "./session.js";
import { by, count, make, mark, percent, watched } from "./shown.js";

export function start(model, changed) {
  return { open: () => watched(() => open(model(), changed)) };
}

async function open(name, changed) {
  by("card-body").replaceChildren(make("p", { className: "quiet" }, "Loading …"));
  let card;
  try {
    card = await ask(`/v1/models/${encodeURIComponent(name)}?terms=12`);
    if (card.teachable) card.versions = (await ask(`/v1/models/${encodeURIComponent(name)}/versions?limit=50`)).versions;
  } catch (problem) {
    by("card-body").replaceChildren();
    throw problem;
  }
  by("card-body").replaceChildren(facts(card), ...measures(card.evaluation || {}), ...classes(card), ...versions(name, card, changed),
    ...network(name, card));
}

const MEASURES = 3; // measures shown as columns

// What was taught and forgotten, the evaluation of each version, and buttons to roll back.
function versions(name, card, changed) {
  if (!card.versions || !card.versions.length) return [];
  const measured = new Map((card.history || []).map((one) => [one.version, one.measures || {}]));
  const measuresOf = (one) => one.measures || measured.get(one.version) || {};
  const oldest = card.versions.at(-1);
  const all = oldest.version > 1 ? card.versions
    : [...card.versions, { version: 0, kind: "the model file", at: "", restorable: oldest.restorable !== false && oldest.kind !== "rebase" }];
  const names = [...new Set(all.flatMap((one) => Object.keys(measuresOf(one))))]
    .filter((key) => key !== "documents" && all.some((one) => typeof measuresOf(one)[key] === "number")).slice(0, MEASURES);
  const number = (words) => make("td", { className: "number" }, words);
  const measure = (one, key) => (typeof measuresOf(one)[key] === "number" ? measuresOf(one)[key].toFixed(3) : "");
  const rows = all.map((one) => make("tr", {}, number(String(one.version)), make("td", {}, one.at.slice(0, 16).replace("T", " ")),
    make("td", {}, describeEvent(one)), number(one.documents === undefined ? "" : String(one.documents)),
    ...names.map((key) => number(measure(one, key))),
    make("td", {}, ...(one.version === card.version ? ["now"] : one.restorable === false ? [] : [rollbackButton(name, one, card, changed)]))));
  const numeric = ["Version", "Documents", ...names];
  const head = ["Version", "When", "Change", "Documents", ...names, "Restore"].map((one) =>
    make("th", { scope: "col", className: numeric.includes(one) ? "number" : "" }, one));
  const on = Math.max(0, ...all.map((one) => measuresOf(one).documents || 0));
  return [make("h2", {}, "Versions"),
    ...(on ? [make("p", { className: "quiet" }, `Each version was evaluated on ${count(on, "document")}.`)] : []),
    make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Versions" },
      make("table", { id: "versions" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)))];
}

// Describe an event; for a new model file, also what could not be applied to it.
export function describeEvent(one) {
  if (one.kind !== "rebase") return one.kind + (one.undone ? ", undone" : "");
  const left = Object.entries(one.left || {}).map(([reason, number]) => `${number} left out: ${reason}`);
  return ["another model file was loaded", ...left].join("; ");
}

function rollbackButton(name, one, card, changed) {
  const later = card.versions.filter((other) => other.version > one.version).length;
  const button = make("button", { type: "button", onclick: () => {
    if (!isSignedIn()) { askForToken(); return; }
    const yes = make("button", { type: "button", onclick: () => { yes.disabled = true; watched(back); } },
      `Yes, undo ${count(later, "change")}`);
    const no = make("button", { type: "button", onclick: () => { yes.replaceWith(button); no.remove(); button.focus(); } }, "No");
    button.replaceWith(yes, no);
    yes.focus();
  } }, "Roll back");
  button.setAttribute("aria-label", `Roll back to version ${one.version}`);
  const back = async () => {
    await ask(`/v1/models/${encodeURIComponent(name)}/rollback`, { version: one.version });
    changed();
    await open(name, changed);
  };
  return button;
}

function facts(card) {
  const settings = Object.entries(card.settings).map(([key, value]) => `${key}=${value}`).join(", ") || "defaults";
  const reading = Object.entries(card.reading).map(([key, value]) => `${key}=${value}`).join(", ");
  const rows = [["Model", `${card.title} (${card.model})`], ["Version", String(card.version)], ["Settings", settings],
    ["Reads", reading || "words, lowercased"], ["Documents", card.documents === null ? "not kept" : card.documents.toLocaleString("en")],
    ["Terms", card.terms.toLocaleString("en")], ["Classes", String(card.classes.length)], ["Decision", card.decision],
    ["Probabilities", card.probabilistic ? (card.calibrated ? "calibrated" : "not calibrated") : "none; scores"]];
  return make("dl", { className: "facts" }, ...rows.flatMap(([key, value]) => [make("dt", {}, key), make("dd", {}, value)]));
}

// The output of `unnaive evaluate --json`.
function measures(evaluation) {
  if (!evaluation.measures) return [];
  const shown = Object.entries(evaluation.measures).filter(([, value]) => typeof value === "number");
  const on = evaluation.documents === undefined ? "Evaluation" : `Evaluation on ${count(evaluation.documents, "document")}`;
  const old = evaluation.current ? [] : [make("p", { className: "notice" },
    `This was measured on version ${evaluation.version}, and not on the one that answers now.`)];
  return [make("h2", {}, on), ...old, make("dl", { className: "facts tiles" }, ...shown.map(([key, value]) =>
    make("div", {}, make("dt", {}, key), make("dd", {}, value.toFixed(3))))),
  ...calibration(evaluation.calibration), ...confusion(evaluation)];
}

// A calibration diagram: accuracy against predicted probability; on the diagonal the model is calibrated.
function calibration(curves) {
  const [name, curve] = Object.entries(curves || {}).pop() || [];
  if (!curve || !Array.isArray(curve.bins) || !curve.bins.length) return [];
  const bins = curve.bins.filter((one) => one.predictions);
  const error = `The expected calibration error is ${percent(curve.error)} (${name}).`;
  return [make("h2", {}, "Calibration"),
    make("p", { className: "quiet" }, "Share of right predictions against the predicted probability; larger dots stand for more ",
      `predictions. On the dashed line the model is calibrated; below it, overconfident. ${error}`),
    make("div", { className: "beside" }, diagram(bins),
      make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Calibration" },
        make("table", {}, make("thead", {}, make("tr", {}, ...["Predicted", "Observed", "Predictions"].map((one) =>
          make("th", { scope: "col", className: "number" }, one)))),
        make("tbody", {}, ...bins.map((one) => make("tr", {}, ...[percent(one.probability), `${Math.round(100 * one.came_true)} %`,
          one.predictions.toLocaleString("en")].map((cell) => make("td", { className: "number" }, cell))))))))];
}

function diagram(bins) {
  const drawn = (tag, properties, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(properties)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const x = (share) => (34 + 180 * share).toFixed(1);
  const y = (share) => (190 - 180 * share).toFixed(1);
  const largest = Math.max(...bins.map((one) => one.predictions));
  const ticks = [0, 0.5, 1].flatMap((share) => [
    drawn("text", { x: x(share), y: 206, "text-anchor": "middle" }, `${100 * share} %`),
    drawn("text", { x: 30, y: Number(y(share)) + 4, "text-anchor": "end" }, String(100 * share))]);
  const points = bins.map((one) => drawn("circle", {
    cx: x(one.probability), cy: y(one.came_true), r: (2.5 + 4.5 * Math.sqrt(one.predictions / largest)).toFixed(1) },
  drawn("title", {}, `predicted ${percent(one.probability)}, observed ${percent(one.came_true)}: ${count(one.predictions, "prediction")}`)));
  return drawn("svg", { viewBox: "0 0 232 226", class: "diagram", role: "img", "aria-label": "Calibration diagram; the table has the same numbers" },
    drawn("rect", { x: 34, y: 10, width: 180, height: 180, class: "frame" }),
    drawn("line", { x1: x(0), y1: y(0), x2: x(1), y2: y(1), class: "ideal" }),
    ...points, ...ticks, drawn("text", { x: x(0.5), y: 222, "text-anchor": "middle" }, "predicted"),
    drawn("text", { x: -100, y: 12, transform: "rotate(-90)", "text-anchor": "middle" }, "observed"));
}

function confusion(evaluation) {
  const found = evaluation.confusion;
  if (!found || !Array.isArray(found.matrix)) {
    const pairs = evaluation.confused || [];
    if (!pairs.length) return [];
    return [make("h2", {}, "Most often confused"), make("ul", {}, ...pairs.slice(0, 12).map((one) =>
      make("li", { dir: "auto" }, `${one.true} predicted as ${one.given}: ${one.documents}`)))];
  }
  const head = make("tr", {}, make("td", {}), ...found.classes.map((one) => make("th", { scope: "col" }, String(one))));
  const body = found.matrix.map((row, at) => {
    const all = row.reduce((sum, value) => sum + value, 0) || 1;
    return make("tr", {}, make("th", { scope: "row" }, String(found.classes[at])), ...row.map((value, column) => {
      const cell = make("td", { title: `${found.classes[at]} predicted as ${found.classes[column]}: ${value} of ${all}` }, value ? String(value) : "");
      const side = at === column ? "for" : "against";
      if (value) cell.style.background = mark(side, 0.1 + 0.5 * value / all);
      return cell;
    }));
  });
  return [make("h2", {}, "Confusion matrix"),
    make("p", { className: "quiet" }, "Rows are true labels, columns are predicted labels; blue is right, orange is wrong."),
    make("div", { className: "scroll matrix", tabIndex: 0, role: "region", "aria-label": "Confusion matrix" },
      make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)))];
}

function classes(card) {
  return [make("h2", {}, "Classes and their strongest terms"),
    make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Classes" },
      make("table", {}, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Class"),
        make("th", { scope: "col", className: "number" }, "Documents"), make("th", { scope: "col" }, "Strongest terms"))),
      make("tbody", {}, ...card.classes.map((one) => make("tr", {}, make("td", { dir: "auto" }, String(one.label)),
        make("td", { className: "number" }, one.documents === null ? "" : one.documents.toLocaleString("en")),
        make("td", { className: "text", dir: "auto" }, one.terms.map((term) => term.term).join(", ")))))))];
}

function network(name, card) {
  if (!card.network) return [];
  const place = make("div", { className: "network" });
  const select = make("select", { id: "network-class" }, ...card.classes.map((one) => make("option", {}, String(one.label))));
  const draw = async () => {
    const query = new URLSearchParams({ label: select.value });
    const found = await picture(`/v1/models/${encodeURIComponent(name)}/network?${query}`);
    place.replaceChildren(found ? make("img", { src: found, alt: `The Bayesian network of ${select.value}` })
      : make("p", { className: "quiet" }, "There is no picture for this class."));
  };
  select.addEventListener("change", () => watched(draw));
  watched(draw);
  return [make("h2", {}, "Bayesian network"), make("label", { htmlFor: "network-class" }, "Class "), select, place];
}
