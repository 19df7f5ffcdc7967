// Writing CSV (RFC 4180) in the browser.

// A cell that looks like a formula gets a leading ', so that spreadsheets do not run it.
export function write(rows) {
  return rows.map((row) => row.map((cell) => {
    const words = /^[=+\-@\t\r]/.test(String(cell)) && Number.isNaN(Number(cell)) ? `'${cell}` : String(cell);
    return /[",\n\r]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words;
  }).join(",")).join("\r\n") + "\r\n";
}
