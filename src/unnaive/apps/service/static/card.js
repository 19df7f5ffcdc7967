// The model's card: what it is, the strongest terms of each class, how well it does when that is known, its network.

import { ask, picture } from "./api.js";
import { by, make, percent, watched } from "./shown.js";

export function start(model) {
  return { open: () => watched(() => open(model())) };
}

async function open(name) {
  by("card-body").replaceChildren(make("p", { className: "quiet" }, "Loading …"));
  let card;
  try {
    card = await ask(`/v1/models/${encodeURIComponent(name)}?terms=12`);
  } catch (problem) {
    by("card-body").replaceChildren();
    throw problem;
  }
  by("card-body").replaceChildren(facts(card), ...measures(card.evaluation || {}), ...classes(card), ...network(name, card));
}

function facts(card) {
  const settings = Object.entries(card.settings).map(([key, value]) => `${key}=${value}`).join(", ") || "defaults";
  const reading = Object.entries(card.reading).map(([key, value]) => `${key}=${value}`).join(", ");
  const rows = [["Model", `${card.title} (${card.model})`], ["Version", String(card.version)], ["Settings", settings],
    ["Reads", reading || "words"], ["Documents", card.documents === null ? "not kept" : card.documents.toLocaleString("en")],
    ["Terms", card.terms.toLocaleString("en")], ["Classes", String(card.classes.length)], ["Decision", card.decision],
    ["Probabilities", card.probabilistic ? (card.calibrated ? "calibrated" : "as the model gives them") : "none; scores"]];
  return make("dl", { className: "facts" }, ...rows.flatMap(([key, value]) => [make("dt", {}, key), make("dd", {}, value)]));
}

function measures(evaluation) {
  if (!evaluation.measures) return [];
  const shown = Object.entries(evaluation.measures).filter(([, value]) => typeof value === "number");
  return [make("h2", {}, `Measured on ${evaluation.documents.toLocaleString("en")} documents`),
    make("dl", { className: "facts" }, ...shown.flatMap(([key, value]) =>
      [make("dt", {}, key), make("dd", {}, value.toFixed(3))])),
    ...reliability(evaluation.reliability), ...confusion(evaluation)];
}

// Bins of stated probability against the share that was right.
function reliability(bins) {
  if (!Array.isArray(bins) || !bins.length) return [];
  return [make("h2", {}, "Calibration"), make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Calibration" },
    make("table", {}, make("thead", {}, make("tr", {}, ...["Stated", "Right", "Documents"].map((one) =>
      make("th", { scope: "col" }, one)))),
    make("tbody", {}, ...bins.filter((one) => one.documents).map((one) => make("tr", {},
      make("td", {}, percent(one.stated)), make("td", {}, percent(one.right)), make("td", {}, String(one.documents)))))))];
}

function confusion(evaluation) {
  const found = evaluation.confusion;
  if (!found || !Array.isArray(found.matrix)) {
    const pairs = evaluation.confused || [];
    if (!pairs.length) return [];
    return [make("h2", {}, "Most often confused"), make("ul", {}, ...pairs.slice(0, 12).map((one) =>
      make("li", { dir: "auto" }, `${one.true} taken for ${one.given}: ${one.documents}`)))];
  }
  const largest = Math.max(...found.matrix.flat(), 1);
  const head = make("tr", {}, make("td", {}), ...found.classes.map((one) => make("th", { scope: "col" }, String(one))));
  const body = found.matrix.map((row, at) => make("tr", {}, make("th", { scope: "row" }, String(found.classes[at])),
    ...row.map((value, column) => {
      const cell = make("td", {}, value ? String(value) : "");
      if (value) cell.style.background = `rgba(var(--${at === column ? "for" : "against"}), ${(0.1 + 0.5 * value / largest).toFixed(2)})`;
      return cell;
    })));
  return [make("h2", {}, "Confusion matrix: rows are the right labels, columns the given ones"),
    make("div", { className: "scroll matrix", tabIndex: 0, role: "region", "aria-label": "Confusion matrix" },
      make("table", {}, make("tbody", {}, head, ...body)))];
}

function classes(card) {
  return [make("h2", {}, "Classes and what speaks for them"),
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
      : make("p", { className: "quiet" }, "There is no picture of this class."));
  };
  select.addEventListener("change", () => watched(draw));
  watched(draw);
  return [make("h2", {}, "Its Bayesian network"), make("label", { htmlFor: "network-class" }, "Class "), select, place];
}
