// The one script of a report: tables are sorted and filtered, a cell of the confusion matrix shows its documents,
// findings are accepted and saved, and everything is open on paper. It fetches nothing and writes only text.
"use strict";
(() => {
  const create = (name, settings = {}, ...inside) => {
    const element = Object.assign(document.createElement(name), settings);
    element.append(...inside);
    return element;
  };
  // without case and accents: "istanbul" finds "İstanbul"
  const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/ı/g, "i");
  const views = new Map();  // of each table

  class View {
    constructor(table) {
      this.table = table;
      this.body = table.tBodies[0];
      this.rows = [...this.body.rows];
      this.first = Number(table.dataset.first || 0);
      this.words = [];
      this.cell = "";
      this.tools = create("div", { className: "tools" });
      table.closest(".scroll").before(this.tools);
      if ("filter" in table.dataset) this.addFilter();
      if (this.first) this.addMore();
      if (this.rows.length > 1) this.addSorting();
      this.show();
    }

    addFilter() {
      const field = create("input", { type: "search", autocomplete: "off" });
      field.addEventListener("input", () => {
        this.words = fold(field.value).split(/\s+/).filter(Boolean);
        this.show();
      });
      this.field = field;
      this.counted = create("output");
      this.tools.append(create("label", {}, "Filter ", field), this.counted);
    }

    addMore() {
      this.more = create("button", { type: "button", className: "more" }, `Show all ${this.rows.length}`);
      this.more.addEventListener("click", () => { this.first = 0; this.show(); });
      this.table.closest(".scroll").after(this.more);
    }

    addSorting() {
      [...this.table.tHead.rows[0].cells].forEach((head, column) => {
        if (!head.textContent.trim() || head.querySelector("button")) return;
        const button = create("button", { type: "button" }, ...head.childNodes);
        head.append(button);
        button.addEventListener("click", () => this.sort(head, column));
      });
    }

    sort(head, column) {
      const values = this.rows.map((row) => this.value(row.cells[column]));
      const plain = (value) => value.replace(/±.*/, "").replace(/[,\s%×]/g, "").replace("−", "-");
      const numbers = values.map((value) => (/^–?$/.test(value) ? -Infinity : Number(plain(value))));
      const numeric = numbers.every((number) => !Number.isNaN(number));
      const before = head.getAttribute("aria-sort");
      const down = before ? before === "ascending" : numeric;
      const compare = numeric ? (a, b) => numbers[a] - numbers[b] || 0
        : (a, b) => values[a].localeCompare(values[b], undefined, { numeric: true });
      const order = this.rows.map((_, at) => at).sort((a, b) => (down ? compare(b, a) : compare(a, b)) || a - b);
      this.rows = order.map((at) => this.rows[at]);
      for (const other of this.table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      this.body.append(...this.rows);
      this.show();
    }

    value(cell) {  // what a cell is sorted by
      if ("sort" in cell.dataset) return cell.dataset.sort;
      const box = cell.querySelector("input[type=checkbox]");
      if (box) return box.checked ? "1" : "0";
      const bar = cell.querySelector("i");
      return bar && cell.classList.contains("bar") ? String(parseFloat(bar.style.width)) : cell.textContent.trim();
    }

    showCell(cell, name) {
      this.cell = cell;
      if (this.chosen) this.chosen.remove();
      const all = create("button", { type: "button" }, "Show all documents");
      all.addEventListener("click", () => {
        this.cell = "";
        this.chosen.remove();
        this.show();
      });
      this.chosen = create("p", { className: "chosen", tabIndex: -1 }, create("b", {}, name), " ", all);
      this.tools.before(this.chosen);
      if (this.field) { this.field.value = ""; this.words = []; }
      this.show();
      this.chosen.focus({ preventScroll: true });
    }

    matches(row) {
      if (this.cell && !(row.dataset.cells || "").split(" ").includes(this.cell)) return false;
      if (!this.words.length) return true;
      row.folded ??= fold(row.textContent);
      return this.words.every((word) => row.folded.includes(word));
    }

    show() {
      const found = this.rows.filter((row) => this.matches(row));
      const all = !this.first || this.cell || this.words.length;
      const shown = new Set(all ? found : found.slice(0, this.first));
      for (const row of this.rows) row.hidden = !shown.has(row);
      if (this.more) this.more.hidden = Boolean(all) || found.length <= this.first;
      if (this.counted) {
        this.counted.value = found.length < this.rows.length ? `${found.length} of ${this.rows.length}` : "";
      }
    }
  }

  for (const table of document.querySelectorAll("table.sortable, table.documents")) views.set(table, new View(table));

  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-cell]");
    const view = link && views.get(document.querySelector("table.documents"));
    if (!view) return;
    event.preventDefault();
    view.showCell(link.dataset.cell, link.dataset.name);
    document.getElementById("documents").scrollIntoView();
  });

  const findings = document.getElementById("findings");
  if (findings) {
    const { file, header, lines, others } = JSON.parse(findings.textContent);
    const boxes = [...document.querySelectorAll("input[data-line]")];
    const bar = document.getElementById("save"), counted = bar.querySelector("output");
    let changed = false;
    const count = () => {
      const number = boxes.filter((box) => box.checked).length + others.length;
      counted.value = `${number} of ${boxes.length + others.length} accepted`;
    };
    const save = () => {
      const accepted = boxes.filter((box) => box.checked).sort((a, b) => a.dataset.line - b.dataset.line);
      const content = [header, ...accepted.map((box) => lines[box.dataset.line]), ...others].join("");
      const address = URL.createObjectURL(new Blob([content], { type: "text/csv;charset=utf-8" }));
      const link = create("a", { href: address, download: file });
      link.click();
      setTimeout(() => URL.revokeObjectURL(address), 60000);
      changed = false;
    };
    const change = () => { changed = true; count(); };
    document.addEventListener("change", (event) => { if ("line" in event.target.dataset) change(); });
    bar.querySelector("button").addEventListener("click", save);
    for (const [table, view] of views) {
      const own = [...table.querySelectorAll("input[data-line]")];
      for (const checked of own.length > 1 ? [true, false] : []) {
        const button = create("button", { type: "button" }, checked ? "Accept those shown" : "Accept none");
        button.addEventListener("click", () => {
          for (const box of own) if (!checked || !box.closest("tr").hidden) box.checked = checked;
          change();
        });
        view.tools.append(button);
      }
    }
    addEventListener("beforeunload", (event) => { if (changed) event.preventDefault(); });
    bar.hidden = false;
    count();
  }

  let closed = [];  // on paper nothing is folded
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const part of closed) part.open = true;
  });
  addEventListener("afterprint", () => { for (const part of closed) part.open = false; });
  document.documentElement.classList.add("scripted");
})();
