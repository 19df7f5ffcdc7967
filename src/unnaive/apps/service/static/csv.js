// Reading and writing CSV (RFC 4180) in the browser.

// Decode a file: UTF-8, or UTF-16 with a byte order mark, else Windows-1252 (a superset of Latin-1).
export function decode(bytes) {
  const mark = bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : null;
  if (mark) return { words: new TextDecoder(mark).decode(bytes), note: ", read as UTF-16" };
  try {
    return { words: new TextDecoder("utf-8", { fatal: true }).decode(bytes), note: "" };
  } catch {
    return { words: new TextDecoder("windows-1252").decode(bytes), note: "; the file is not UTF-8 and was read as Windows-1252 (Latin-1)" };
  }
}

export function parse(words, delimiter) {
  const rows = [];
  let row = [];
  let cell = "";
  let quoted = false;
  for (let at = 0; at < words.length; at += 1) {
    const one = words[at];
    if (quoted) {
      if (one === '"' && words[at + 1] === '"') { cell += '"'; at += 1; }
      else if (one === '"') quoted = false;
      else cell += one;
    } else if (one === '"' && cell === "") quoted = true;
    else if (one === delimiter) { row.push(cell); cell = ""; }
    else if (one === "\n" || one === "\r") {
      if (one === "\r" && words[at + 1] === "\n") at += 1;
      row.push(cell);
      if (row.length > 1 || row[0] !== "") rows.push(row);
      row = [];
      cell = "";
    } else cell += one;
  }
  row.push(cell);
  if (row.length > 1 || row[0] !== "") rows.push(row);
  return rows;
}

export function findDelimiter(words) {
  const line = words.slice(0, 10000).split(/\r?\n/, 1)[0];
  const counts = [",", "\t", ";", "|"].map((one) => [line.split(one).length, one]);
  return counts.sort((one, two) => two[0] - one[0])[0][1];
}

// A cell that looks like a formula gets a leading ', so that spreadsheets do not run it.
export function write(rows) {
  return rows.map((row) => row.map((cell) => {
    const words = /^[=+\-@\t\r]/.test(String(cell)) && Number.isNaN(Number(cell)) ? `'${cell}` : String(cell);
    return /[",\n\r]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words;
  }).join(",")).join("\r\n") + "\r\n";
}
