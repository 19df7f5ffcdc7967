// ---- records with fields; `sections.py` and `fields.py` of the package are the specification

const SECTION = "\x1e", UNIT = "\x1f";
const SHARED = 1, OWN = 2, BOTH = 3, FIXED = 4;
const modes = new Map(MODEL.fields.map(({ key, mode }) => [key, mode]));
const NO_TERM = /^$|[\u0000-\u0020\ufffd\p{Cs}]/u;
const points = (text) => Array.from(text, (character) => character.codePointAt(0));

// Call `take` for the terms of a text, or of all sections of an encoded record; offsets are in the whole text.
function eachTermOf(text, take) {
  let at = 0;
  text.split(SECTION).forEach((part, number) => {
    const border = part.indexOf(UNIT), key = number ? part.slice(0, Math.max(border, 0)) : "";
    const mode = number === 0 ? SHARED : border < 0 ? 0 : modes.get(key) || 0;
    const content = number ? part.slice(border + 1) : part, start = at + (number ? points(key).length + 1 : 0);
    if (mode) eachSectionTerm(key, mode, content, (hash, buffer, from, to, gram, first, last) =>
      take(hash, buffer, from, to, gram, start + first, start + last));
    at += points(part).length + 1;
  });
}

function eachSectionTerm(key, mode, content, take) {
  if (mode === FIXED) {
    const [value, ...units] = content.split(UNIT), length = points(value).length;
    for (const unit of units) {
      if (rule.analyzer === "char" || NO_TERM.test(unit)) continue;
      const codes = Int32Array.from(points(`${key}=${unit}`));
      take(codes.reduce(mix, SEED), codes, 0, codes.length, 0, 0, length);
    }
    return;
  }
  const codes = decode(content);
  if (mode !== OWN) eachTerm(codes, take);
  if (mode !== SHARED && rule.analyzer !== "char") eachWordTerm(codes, take, points(`${key}:`));
}

// Texts as Python takes them: its spaces, and digits of any script as ASCII.
const BLANK = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;
const digits = new Map(MODEL.zeros.flatMap((zero) => [...Array(10).keys()].map((k) => [String.fromCodePoint(zero + k), String(k)])));
const plainDigits = (text) => text.replace(/[^\x00-\x7f]/gu, (char) => digits.get(char) ?? char);

function strip(text, ends = BLANK) {
  let from = 0, to = text.length;
  while (from < to && ends.test(text[from])) from++;
  while (from < to && ends.test(text[to - 1])) to--;
  return text.slice(from, to);
}

// The value of a field of a record, or of a name with dots in the records inside; it must be there.
function valueOf(record, name, kind, rest = name) {
  if (Object.prototype.hasOwnProperty.call(record, rest)) return record[rest];
  const dot = rest.indexOf("."), inner = dot < 0 ? null : record[rest.slice(0, dot)];
  if (inner === null || typeof inner !== "object") throw new RangeError(`the record has no field ${name} (${kind}); add it, empty if it is not known`);
  return valueOf(inner, name, kind, rest.slice(dot + 1));
}

// Encode a record as one text with a section for each field of the model.
function encodeRecord(record) {
  return MODEL.fields.map(({ name, key, kind }) => {
    const value = valueOf(record, name, kind), start = `${SECTION}${key}${UNIT}`;
    if (!(kind in UNITS)) return start + textOf(value, name).replace(/[\x1e\x1f]/g, " ");
    if (isMissing(value) && !(kind === "category" && typeof value === "string" && strip(value))) return `${start}${UNIT}(missing)`;
    const shown = strip(plain(value).replace(BAD, " "));
    return start + [shown, ...UNITS[kind](value, name)].join(UNIT);
  }).join("");
}

function textOf(value, name) {
  if (typeof value === "string") return value;
  if (isMissing(value)) return "";
  if (typeof value === "object") throw new RangeError(`field ${name} is a text, but a value is an object`);
  return plain(value);
}

const BAD = /[\u0000-\u0020\u007f\ufffd\p{Cs}]+/gu;
const missing = new Set(MODEL.missing);
const isMissing = (value) => value === null || value === undefined || Number.isNaN(value)
  || (typeof value === "string" && (strip(value) === "" || missing.has(strip(value).toLowerCase().replaceAll("\u017f", "s"))));

// A value as Python writes it; a number without a fraction as a whole one.
function plain(value) {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (value instanceof Date) return value.toISOString().slice(0, 16).replace("T", " ").replace(" 00:00", "");
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return String(BigInt(value));
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const words = Math.abs(value) < 1e-4 ? value.toExponential() : String(value);
  return words.replace(/e([+-])(\d)$/, "e$10$2");
}

const UNITS = {
  category: (value, name) => {
    const values = [value].flat(Infinity).filter((item) => item !== null && item !== undefined && !Number.isNaN(item));
    if (values.some((item) => typeof item === "object" && !(item instanceof Date))) throw new RangeError(`field ${name} is of kind category, but a value is an object; give a string, or a list of strings`);
    const terms = values.map((item) => strip(plain(item)).replace(/^(-?\p{Nd}+)\.0+$/u, "$1").replace(BAD, "\u00a0")).filter(Boolean);
    return terms.length ? terms : ["(missing)"];
  },
  number: (value, name) => {
    const number = readNumber(value);
    if (Number.isNaN(number)) throw new RangeError(`field ${name} is of kind number, but a value is ${String(value).slice(0, 40)}; correct it or leave it empty`);
    if (number === 0) return ["0"];
    return Number.isFinite(number) ? [1, 2, 4].map((parts) => interval(number, parts)) : [number > 0 ? "inf" : "-inf"];
  },
  date: (value, name) => {
    const parts = readDate(plain(value));
    if (!parts) throw new RangeError(`field ${name} is of kind date, but a value is ${String(value).slice(0, 40)}; write it as 2024-03-05 14:30`);
    return parts;
  },
};

// Numbers with separators between thousands, and their decimal sign.
const GROUPED = [
  [/^[-+]?\d{1,3}(?:[, _'\u2019\u00a0\u202f]\d{3})+(?:\.\d+)?$/, "."],
  [/^[-+]?\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?$/, "."],
  [/^[-+]?\d{1,3}(?:[. _'\u2019\u00a0\u202f]\d{3})+,\d+$/, ","],
  [/^[-+]?\d{1,3}(?:\.\d{3}){2,}$/, ","],
];

function readNumber(value) {
  if (typeof value !== "string") return ["number", "boolean", "bigint"].includes(typeof value) ? Number(value) : NaN;
  let words = plainDigits(strip(strip(strip(value), /[$€£%]/)));
  const [, point] = GROUPED.find(([pattern]) => pattern.test(words)) || [];
  if (point) {
    const [whole, fraction = ""] = words.split(point);
    words = `${whole.replace(/[^\d+-]/g, "")}.${fraction}`;
  }
  if (words.split(",").length === 2) words = words.replace(",", ".");
  if (/^[-+]?inf(?:inity)?$/i.test(words)) return words.startsWith("-") ? -Infinity : Infinity;
  words = words.replace(/(?<=\d)_(?=\d)/g, "");
  return /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(words) ? Number(words) : NaN;
}

function interval(number, parts) {
  const size = Math.abs(number);
  let exponent = Math.floor(Math.log2(size));
  while (2 ** exponent > size) exponent--;
  while (2 ** (exponent + 1) <= size) exponent++;
  const index = Math.floor((size / 2 ** exponent - 1) * parts);
  const [low, high] = [index, index + 1].map((at) => general(2 ** exponent * (1 + at / parts)));
  return number > 0 ? `[${low},${high})` : `(-${high},-${low}]`;
}

// A number with nine digits, as "%.9g" formats it: ties go to the even digit.
function general(number) {
  if (!Number.isFinite(number)) return "inf";
  const [digits, power] = number.toExponential(60).split("e"), all = digits.replace(".", "");
  let head = BigInt(all.slice(0, 9)), exponent = Number(power);
  const rest = all.slice(9), tie = /^50*$/.test(rest);
  if (tie ? head % 2n === 1n : rest[0] >= "5") head += 1n;
  let words = String(head);
  if (words.length > 9) { words = words.slice(0, 9); exponent++; }
  if (exponent < -4 || exponent >= 9) {
    const [first, others] = [words[0], words.slice(1).replace(/0+$/, "")];
    return `${first}${others && `.${others}`}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  const whole = exponent < 0 ? `0.${"0".repeat(-exponent - 1)}${words}` : `${words.slice(0, exponent + 1)}.${words.slice(exponent + 1)}`;
  return whole.replace(/\.?0*$/, "");
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const CLOCK = "(?:[t ,]+(?<hour>\\d{1,2}):(?<minute>\\d{2})(?:[:.\\d]* ?(?<half>[ap])\\.?m(?![a-z]))?.*)?";
const DATES = [
  "(?<year>\\d{4})[-/.](?<month>\\d{1,2})[-/.](?<day>\\d{1,2})",
  "(?<day>\\d{1,2})[.](?<month>\\d{1,2})[.](?<year>\\d{4})",
  "(?<month>\\d{1,2})[-/](?<day>\\d{1,2})[-/](?<year>\\d{2}|\\d{4})",
  "(?:[a-z]{3,9},? )?(?<day>\\d{1,2})[ -](?<name>[a-z]{3})[a-z]*[., -]+(?<year>\\d{4})",
  "(?:[a-z]{3,9},? )?(?<name>[a-z]{3})[a-z]*\\.? (?<day>\\d{1,2}),? (?<year>\\d{4})",
].map((pattern) => new RegExp(`^${pattern}${CLOCK}$`));
const SPECIAL = { "\u017f": "s", "\u212a": "k", "\u0130": "i", "\u0131": "i" }; // letters of a to z where Python ignores case

// The year, month, weekday and hour of a date; null if the text is not a date.
function readDate(words) {
  const text = plainDigits(words).split(BLANK).filter(Boolean).join(" ")
    .replace(/[A-Z]/g, (letter) => letter.toLowerCase()).replace(/[\u017f\u212a\u0130\u0131]/g, (letter) => SPECIAL[letter]);
  for (const pattern of DATES) {
    const match = pattern.exec(text)?.groups;
    if (!match) continue;
    let year = Number(match.year), month = Number(match.month || 0), day = Number(match.day);
    let hour = Number(match.hour || 0);
    const minute = Number(match.minute || 0);
    if (match.half && hour >= 1 && hour <= 12) hour = (hour % 12) + (match.half === "p" ? 12 : 0);
    if (year < 100) year += year > 68 ? 1900 : 2000;
    if (match.name) month = MONTHS.indexOf(match.name[0].toUpperCase() + match.name.slice(1)) + 1;
    if (month > 12 && day <= 12) [month, day] = [day, month];
    const moment = new Date(0);
    moment.setUTCFullYear(year, month - 1, day);
    if (year < 1 || moment.getUTCMonth() !== month - 1 || moment.getUTCDate() !== day || hour > 23 || minute > 59) continue;
    return [String(year), MONTHS[month - 1], DAYS[moment.getUTCDay()], ...(hour || minute ? [`${hour}h`] : [])];
  }
  return null;
}

// The text to read: an encoded record, or the text itself.
const asText = (input) => (input !== null && typeof input === "object" ? encodeRecord(input) : String(input));
