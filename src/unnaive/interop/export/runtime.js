// A text classifier of unnaive in one file without dependencies: token rule, weights, calibration and decision.
// Offsets are in code points, as in Python. MODEL, below, has everything that was learnt.

/*MODEL*/

// ---- characters: the tables of the package, so that every engine reads texts in the same way

const LETTER = 1, NUMBER = 2, MARK = 4, UNSPACED = 8, PICTURE = 16, TEXT_PICTURE = 32, SPACE = 64, FOLDED = 128;
const kinds = new Uint8Array(0x110000);
const folds = new Map();
const ranges = (table) => table.split(" ").filter(Boolean).map((run) => run.split("-").map((code) => parseInt(code, 16)));
for (const [name, kind] of [["letters", LETTER], ["numbers", NUMBER], ["marks", MARK], ["unspaced", UNSPACED],
  ["pictures", PICTURE], ["textPictures", TEXT_PICTURE], ["spaces", SPACE]]) {
  for (const [first, last = first] of ranges(MODEL.characters[name])) {
    for (let code = first; code <= last; code++) kinds[code] |= kind;
  }
}
if (MODEL.rule.lowercase) {
  for (const pair of MODEL.characters.folds.split(" ").filter(Boolean)) {
    const [code, lower] = pair.split(":").map((digits) => parseInt(digits, 16));
    kinds[code] |= FOLDED;
    folds.set(code, lower);
  }
  if (MODEL.rule.language === "tr") { kinds[0x49] |= FOLDED; folds.set(0x49, 0x131); }
}

// ---- numbers and terms

function bytes(text) {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at++) bytes[at] = raw.charCodeAt(at);
  return bytes.buffer;
}
const KINDS = { f64: Float64Array, f32: Float32Array, i8: Int8Array, i16: Int16Array, i32: Int32Array };
const numbers = (stored) => (stored ? new KINDS[stored[0]](bytes(stored[1])) : null);
const minusInfinity = (list) => Float64Array.from(list, (value) => (value === null ? -Infinity : value));

const SEED = 0x811c9dc5 | 0, GRAM = 0x23;
const mix = (hash, code) => Math.imul(hash ^ code, 0x01000193);

// Strings of code points → their numbers, by open addressing; a character n-gram is looked up without its prefix "#".
class Terms {
  constructor(text) {
    let n = text === "" ? 0 : 1;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) n++;
    this.codes = new Int32Array(text.length);
    this.ends = new Int32Array(n + 1);
    let size = 4;
    while (size < 2 * n) size *= 2;
    this.mask = size - 1;
    this.slots = new Int32Array(size).fill(-1);
    let at = 0, term = 0, hash = SEED;
    const close = () => {
      this.ends[++term] = at;
      let slot = (hash ^ (hash >>> 15)) & this.mask;
      while (this.slots[slot] >= 0) slot = (slot + 1) & this.mask;
      this.slots[slot] = term - 1;
      hash = SEED;
    };
    for (let unit = 0; unit < text.length; unit++) {
      const code = text.codePointAt(unit);
      if (code > 0xffff) unit++;
      if (code === 10) { close(); continue; }
      this.codes[at++] = code;
      hash = mix(hash, code);
    }
    if (n) close();
    this.size = n;
  }

  find(hash, buffer, from, to, gram) {
    const { slots, ends, codes, mask } = this, length = to - from + gram;
    for (let slot = (hash ^ (hash >>> 15)) & mask; slots[slot] >= 0; slot = (slot + 1) & mask) {
      const term = slots[slot], start = ends[term];
      if (ends[term + 1] - start !== length || (gram && codes[start] !== GRAM)) continue;
      let same = from;
      for (let at = start + gram; same < to && buffer[same] === codes[at]; at++) same++;
      if (same === to) return term;
    }
    return -1;
  }

  name(term) {
    return fromCodes(this.codes, this.ends[term], this.ends[term + 1]);
  }
}

// In pieces: a call takes a limited number of arguments, and a word may have more characters.
function fromCodes(codes, from, to) {
  let text = "";
  for (let at = from; at < to; at += 4096) text += String.fromCodePoint(...codes.subarray(at, Math.min(at + 4096, to)));
  return text;
}

const terms = new Terms(MODEL.terms);
const stopWords = new Terms(MODEL.stopWords);
const isGram = MODEL.mixedTerms ? (term) => terms.codes[terms.ends[term]] === GRAM : () => false;
const nClasses = MODEL.classes.length;

const parts = MODEL.parts.map((stored) => {
  const part = {
    tf: stored.tf, norm: stored.norm, idf: numbers(stored.idf), weights: numbers(stored.weights), step: numbers(stored.step),
    ends: numbers(stored.ends), classes: numbers(stored.classes), bias: minusInfinity(stored.bias),
    classOffset: numbers(stored.classOffset), termOffset: numbers(stored.termOffset), rows: null,
  };
  const columns = numbers(stored.columns);
  if (columns) {
    part.rows = new Int32Array(terms.size).fill(-1);
    columns.forEach((column, row) => { part.rows[column] = row; });
  }
  return part;
});
const poolBias = minusInfinity(MODEL.bias);
const logCounts = numbers(MODEL.logCounts);
const logCount = (n) => (n < logCounts.length ? logCounts[n] : 1 + Math.log(n));

// ---- text → terms; `tokens.py` of the package is the specification

const rule = MODEL.rule;
const wordKinds = rule.digits ? LETTER | NUMBER : LETTER;
const cutKinds = rule.digits ? SPACE : SPACE | NUMBER;
const [shortest, longest] = rule.ngrams;
const [shortestGram, longestGram] = rule.charNgrams;
const border = rule.charBorders === "spaces" ? 0x20 : 0x5f;

function decode(text) {
  const codes = new Int32Array(text.length);
  let n = 0;
  for (let at = 0; at < text.length; at++) {
    let code = text.charCodeAt(at);
    if (code >= 0xd800 && code < 0xdc00 && at + 1 < text.length) {
      const low = text.charCodeAt(at + 1);
      if (low >= 0xdc00 && low < 0xe000) { code = (code - 0xd800) * 0x400 + low - 0xdc00 + 0x10000; at++; }
    }
    codes[n++] = kinds[code] & FOLDED ? folds.get(code) : code;
  }
  return codes.subarray(0, n);
}

const isSelector = (code) => code === 0xfe0e || code === 0xfe0f;
const isLetter = (code) => code !== undefined && (kinds[code] & (LETTER | NUMBER)) !== 0;

// The end of the pictograph that begins here; −1 if there is none.
function pictureEnd(codes, at) {
  const kind = at < codes.length ? kinds[codes[at]] : 0;
  if (!(kind & PICTURE) && !(kind & TEXT_PICTURE && codes[at + 1] === 0xfe0f)) return -1;
  let end = at + 1;
  if (isSelector(codes[end])) end++;
  if (codes[end] >= 0x1f3fb && codes[end] <= 0x1f3ff) end++;
  while (codes[end] >= 0xe0020 && codes[end] <= 0xe007f) end++;
  return end;
}

function emojiEnd(codes, at) {
  const code = codes[at], flag = (point) => point >= 0x1f1e6 && point <= 0x1f1ff;
  if (flag(code) && flag(codes[at + 1])) return at + 2;
  if (code >= 0x30 && code <= 0x39) {
    const box = codes[at + 1] === 0xfe0f ? at + 2 : at + 1;
    if (codes[box] === 0x20e3) return box + 1;
  }
  let end = pictureEnd(codes, at);
  while (end >= 0 && codes[end] === 0x200d) {
    const next = pictureEnd(codes, end + 1);
    if (next < 0) break;
    end = next;
  }
  return end;
}

const EYES = new Set([0x3a, 0x3b]), NOSES = new Set([0x2d, 0x27]), BRACKETS = new Set([0x28, 0x29]);
const MOUTHS = new Set(Array.from("()dDpPoO/\\|*", (character) => character.charCodeAt(0)));

function symbolEnd(codes, at) {
  const mouth = NOSES.has(codes[at + 1]) ? at + 2 : at + 1;
  if (EYES.has(codes[at]) && BRACKETS.has(codes[mouth])) return mouth + 1;
  if (at > 0 && isLetter(codes[at - 1])) return -1;
  let end = -1;
  if ((EYES.has(codes[at]) || codes[at] === 0x3d) && MOUTHS.has(codes[mouth])) end = mouth + 1;
  if (codes[at] === 0x3c) {
    const three = codes[at + 1] === 0x2f ? at + 2 : at + 1;
    if (codes[three] === 0x33) end = three + 1;
  }
  return end >= 0 && !isLetter(codes[end]) ? end : -1;
}

const MAY_SIGN = new Set([0x3a, 0x3b, 0x3d, 0x3c]);
function signEnd(codes, at) {
  const code = codes[at];
  if (rule.emoji && (code > 0x7f || (code >= 0x30 && code <= 0x39))) {
    const end = emojiEnd(codes, at);
    if (end >= 0) return end;
  }
  return rule.symbols && MAY_SIGN.has(code) ? symbolEnd(codes, at) : -1;
}

// Call take(hash, buffer, from, to, gram, start, end) for every term: buffer[from…to) has its characters, and
// text[start…end) is its position.
function eachTerm(codes, take) {
  if (rule.analyzer !== "char") eachWordTerm(codes, take);
  if (rule.analyzer !== "word") {
    const room = new Int32Array(codes.length + 2);
    if (rule.charBorders === "spaces") eachChunk(codes, (from, to) => eachGram(codes, from, to, room, take));
    else eachPart(codes, false, (from, to, kind) => eachGram(codes, from, to, room, take, kind === "fixed"));
  }
}

function eachChunk(codes, use) {
  let from = 0;
  for (let at = 0; at <= codes.length; at++) {
    if (at < codes.length && !(kinds[codes[at]] & cutKinds)) continue;
    if (at > from) use(from, at);
    from = at + 1;
  }
}

// Call use(from, to, kind) for words ("word"), emoji and symbols ("fixed") and, with `grams`, runs without spaces ("run").
function eachPart(codes, grams, use) {
  let from = 0;
  const close = (to) => { if (to > from) eachRun(codes, from, to, grams, use); };
  for (let at = 0; at < codes.length;) {
    const end = signEnd(codes, at);
    if (end >= 0) {
      close(at);
      use(at, end, "fixed");
      from = at = end;
    } else if (kinds[codes[at]] & wordKinds) {
      at++;
    } else {
      close(at);
      from = ++at;
    }
  }
  close(codes.length);
}

function eachRun(codes, from, to, grams, use) {
  let start = from;
  for (let at = from; grams && at < to;) {
    if (!(kinds[codes[at]] & UNSPACED)) { at++; continue; }
    if (at > start) use(start, at, "word");
    const first = at;
    while (at < to && kinds[codes[at]] & (UNSPACED | MARK)) at++;
    use(first, at, "run");
    start = at;
  }
  if (to > start) use(start, to, "word");
}

// Words and word n-grams, with `prefix` before each word.
function eachWordTerm(codes, take, prefix = []) {
  const buffer = new Int32Array(codes.length * (2 + prefix.length) + 2); // consecutive words, separated by spaces
  const words = []; // for each word: from and to in the buffer, start and end in the text
  let size = 0;
  const close = () => {
    for (let first = 0; first < words.length; first += 4) {
      let hash = SEED;
      for (let n = 1, last = first; n <= longest && last < words.length; n++, last += 4) {
        if (n > 1) hash = mix(hash, 0x20);
        for (let at = words[last]; at < words[last + 1]; at++) hash = mix(hash, buffer[at]);
        if (n >= shortest) take(hash, buffer, words[first], words[last + 1], 0, words[first + 2], words[last + 3]);
      }
    }
    words.length = size = 0;
  };
  eachPart(codes, rule.unspaced === "grams", (from, to, kind) => {
    if (kind === "run") {
      close();
      eachCharacter(codes, from, to, prefix.length ? withPrefix(prefix, take) : take);
      return;
    }
    const first = size;
    for (const code of prefix) buffer[size++] = code;
    const start = size;
    let hash = SEED;
    for (let at = from; at < to; at++) {
      if (kind === "fixed" && isSelector(codes[at])) continue;
      buffer[size++] = codes[at];
      hash = mix(hash, codes[at]);
    }
    if ((kind === "word" && size - start < rule.minLength) || (stopWords.size && stopWords.find(hash, buffer, start, size, 0) >= 0)) {
      size = first;
      return;
    }
    words.push(first, size, from, to);
    buffer[size++] = 0x20;
  });
  close();
}

// A function like `take` that puts the prefix before each term.
function withPrefix(prefix, take) {
  return (hash, buffer, from, to, gram, start, end) => {
    const codes = Int32Array.from([...prefix, ...buffer.subarray(from, to)]);
    take(codes.reduce(mix, SEED), codes, 0, codes.length, gram, start, end);
  };
}

// The characters of a run, with their marks, and the pairs of neighbours.
function eachCharacter(codes, from, to, take) {
  const starts = [];
  let at = from;
  while (at < to && kinds[codes[at]] & MARK) at++;
  for (; at < to; at++) if (!(kinds[codes[at]] & MARK)) starts.push(at);
  starts.push(to);
  for (let number = 0; number + 1 < starts.length; number++) {
    let hash = SEED, at = starts[number];
    for (let n = 1; n <= 2 && number + n < starts.length; n++) {
      const end = starts[number + n];
      while (at < end) hash = mix(hash, codes[at++]);
      if (stopWords.size && stopWords.find(hash, codes, starts[number], end, 0) >= 0) continue;
      take(hash, codes, starts[number], end, 0, starts[number], end);
    }
  }
}

const GRAM_SEED = mix(SEED, GRAM);

function eachGram(codes, from, to, room, take, sign = false) {
  let size = 0;
  room[size++] = border;
  for (let at = from; at < to; at++) if (!sign || !isSelector(codes[at])) room[size++] = codes[at];
  room[size++] = border;
  const least = Math.min(shortestGram, size), most = Math.min(longestGram, size);
  for (let first = 0; first + least <= size; first++) {
    let hash = GRAM_SEED;
    const last = Math.min(first + most, size);
    for (let at = first; at < last; at++) {
      hash = mix(hash, room[at]);
      const n = at + 1 - first;
      if (n >= least) take(hash, room, first, at + 1, 1, Math.max(from, from + first - 1), Math.min(to, from + first - 1 + n));
    }
  }
}

/*RECORDS*/

// ---- terms → scores

function countTerms(text) {
  const counts = new Map();
  eachTermOf(text, (hash, buffer, from, to, gram) => {
    const term = terms.find(hash, buffer, from, to, gram);
    if (term >= 0) counts.set(term, (counts.get(term) || 0) + 1);
  });
  return counts;
}

// The weighted terms of a part: rows and values, and the length by which sums are divided.
function weigh(part, ids, counts) {
  const rows = [], values = [];
  let squares = 0, sum = 0;
  for (let k = 0; k < ids.length; k++) {
    const row = part.rows ? part.rows[ids[k]] : ids[k];
    if (row < 0) continue;
    let z = part.tf === "log" ? logCount(counts[k]) : part.tf === "binary" ? 1 : counts[k];
    if (part.idf) z *= part.idf[row];
    squares += z * z;
    sum += Math.abs(z);
    rows.push(row);
    values.push(z);
  }
  const length = part.norm === "l2" ? Math.sqrt(squares) : part.norm === "l1" ? sum : 1;
  return { rows, values, length: length > 0 ? length : 1 };
}

// Call use(class, weight) for the weights of one row, without offsets.
function eachWeight(part, row, use) {
  const first = part.ends ? part.ends[row] : row * nClasses, last = part.ends ? part.ends[row + 1] : first + nClasses;
  for (let at = first; at < last; at++) {
    const c = part.classes ? part.classes[at] : at - first;
    use(c, part.step ? part.weights[at] * part.step[c] : part.weights[at]);
  }
}

function addPart(part, ids, counts, out) {
  const { rows, values, length } = weigh(part, ids, counts), sums = new Float64Array(nClasses);
  let total = 0, background = 0;
  for (let k = 0; k < rows.length; k++) {
    const row = rows[k], z = values[k];
    if (part.ends === null && part.step === null) {
      for (let c = 0, at = row * nClasses; c < nClasses; c++, at++) sums[c] += z * part.weights[at];
    } else eachWeight(part, row, (c, weight) => { sums[c] += z * weight; });
    total += z;
    if (part.termOffset) background += z * part.termOffset[row];
  }
  for (let c = 0; c < nClasses; c++) {
    out[c] += sums[c] / length;
    out[c] += (part.classOffset ? (total * part.classOffset[c]) / length : 0) + background / length + part.bias[c];
  }
}

function scoreCounts(counts) {
  const ids = Int32Array.from(counts.keys()).sort(), each = Array.from(ids, (term) => counts.get(term));
  const out = Float64Array.from(poolBias);
  for (const part of parts) addPart(part, ids, each, out);
  let known = 0;
  for (let k = 0; k < ids.length; k++) if (!isGram(ids[k])) known += each[k];
  return { scores: Array.from(out), known };
}

// ---- scores → probabilities

const EXCLUSIVE = new Set(["softmax", "one-of-all"]);
const largest = (values) => values.reduce((most, value) => (value > most ? value : most), -Infinity);
const logSigmoid = (x) => (x > 0 ? -Math.log1p(Math.exp(-x)) : x - Math.log1p(Math.exp(x)));
const LOG_ODDS = {
  softmax: (s) => s, "log-odds": (s) => s, "one-of-all": logSigmoid,
  "noisy-or": (s) => (s > 30 ? s : Math.log(Math.expm1(s))),
};
const logits = (scores) => (LOG_ODDS[MODEL.link] ? scores.map(LOG_ODDS[MODEL.link]) : scores);

function logSoftmax(odds) {
  const top = largest(odds);
  if (!Number.isFinite(top)) return odds.map(() => -Math.log(odds.length)); // no class has any evidence: all are equal
  const total = Math.log(odds.reduce((sum, value) => sum + Math.exp(value - top), 0));
  return odds.map((value) => value - top - total);
}

// Log-odds of each class against the rest.
function classLogOdds(scores) {
  const odds = logits(scores);
  if (!EXCLUSIVE.has(MODEL.link) || odds.length < 2) return EXCLUSIVE.has(MODEL.link) ? scores : odds;
  const logP = logSoftmax(odds), best = odds.indexOf(largest(odds));
  return logP.map((logOfClass, c) => {
    if (c !== best) return logOfClass - Math.log1p(-Math.exp(logOfClass));
    const others = logP.filter((_, other) => other !== c), top = largest(others);
    const shift = Number.isFinite(top) ? top : 0;
    return logOfClass - (shift + Math.log(others.reduce((sum, other) => sum + Math.exp(other - shift), 0)));
  });
}

function interpolate(x, [knots, values]) {
  const last = knots.length - 1;
  if (x <= knots[0]) return values[0];
  if (x >= knots[last]) return values[last];
  let at = 0;
  while (knots[at + 1] <= x) at++;
  return values[at] + ((values[at + 1] - values[at]) / (knots[at + 1] - knots[at])) * (x - knots[at]);
}

const ALONE = {
  platt: (how, odds) => odds.map((value, c) => 1 / (1 + Math.exp(-(value * how.slopes[c] + how.offsets[c])))),
  isotonic: (how, odds) => odds.map((value, c) => interpolate(value, how.curves[c])),
};

function probabilitiesOf(scores) {
  const how = MODEL.calibration;
  if (how && how.kind in ALONE) {
    const p = ALONE[how.kind](how, classLogOdds(scores));
    if (!how.exclusive) return p;
    const total = p.reduce((sum, value) => sum + value, 0);
    return p.map((value) => (total > 0 ? value / total : 1 / p.length));
  }
  if (!how && MODEL.link === "noisy-or" && MODEL.multilabel) return scores.map((score) => -Math.expm1(-score));
  return logProbabilitiesOf(scores).map(Math.exp);
}

function logProbabilitiesOf(scores) {
  const how = MODEL.calibration;
  if (how && how.kind in ALONE) return probabilitiesOf(scores).map(Math.log);
  const odds = how ? logits(scores).map((value) => value / how.value) : logits(scores);
  const exclusive = how ? how.exclusive : !MODEL.multilabel || EXCLUSIVE.has(MODEL.link);
  return exclusive ? logSoftmax(odds) : odds.map((value) => logSigmoid(value + (how ? how.offset : 0)));
}

// ---- scores → labels

const best = (values) => values.reduce((winner, value, c) => (value > values[winner] ? c : winner), 0);
const byScore = (values) => values.map((_, c) => c).sort((a, b) => values[b] - values[a] || a - b);

const DECISIONS = {
  argmax: (how, scores) => [best(scores)],
  "weighted-argmax": (how, scores, p) => [best(p.map((value, c) => value * how.weights[c]))],
  "least-cost": (how, scores, p) =>
    [best(how.costs[0].map((_, predicted) => -p.reduce((sum, value, truth) => sum + value * how.costs[truth][predicted], 0)))],
  "top-k": (how, scores) => byScore(scores).slice(0, how.k),
  thresholds: (how, scores, p) => {
    const top = largest(scores);
    const values = how.on === "probabilities" ? p : how.on === "relative" ? scores.map((score) => score / (top > 0 ? top : 1)) : scores;
    const above = values.map((value, c) => value - how.values[c]);
    const reached = above.map((value, c) => (value >= 0 ? c : -1)).filter((c) => c >= 0);
    return how.at_least_one && !reached.length ? [best(above)] : reached;
  },
};

function decide(scores, p) {
  const decided = DECISIONS[MODEL.decision.kind](MODEL.decision, scores, p);
  return decided.sort((a, b) => scores[b] - scores[a] || a - b);
}

// ---- public functions

/** The labels, in the order of `scores` and `probabilities`. */
export const classes = Object.freeze(MODEL.classes.slice());

/** The model: its name, how it reads texts, and the coverages for which it gives sets. */
export const model = Object.freeze({ ...MODEL.about, coverages: Object.keys(MODEL.limits).map(Number) });

/** The labels of a text, with scores and probabilities; see model.d.ts for the options. */
export function classify(text, options = {}) {
  const { scores, known } = scoreCounts(countTerms(asText(text)));
  const probabilities = MODEL.probabilistic ? probabilitiesOf(scores) : null;
  const chosen = decide(scores, probabilities), values = probabilities || scores;
  let labels = chosen.map((c) => MODEL.classes[c]);
  let shown = chosen.length ? values[chosen[0]] : largest(values);
  const { undecided, minProbability } = options;
  if (minProbability !== undefined && !probabilities) throw new RangeError("this model gives no probabilities to reject by; leave minProbability out, or export a calibrated model");
  if (undecided !== undefined && known === 0) [labels, shown] = [[undecided], largest(values)];
  else if (minProbability !== undefined && !(chosen.length && largest(chosen.map((c) => values[c])) >= minProbability)) {
    [labels, shown] = [[undecided === undefined ? "undecided" : undecided], largest(values)];
  }
  const answer = { label: labels.length ? labels[0] : null, labels, probability: probabilities && labels.length ? shown : null, scores, probabilities, known_terms: known };
  if (options.coverage !== undefined) answer.label_set = setOf(scores, chosen, options);
  return answer;
}

function setOf(scores, chosen, { coverage, byClass = false, atLeastOne = false }) {
  const limits = MODEL.limits[String(coverage)];
  if (!limits) throw new RangeError(`the export has no sets with coverage ${coverage}; there are ${Object.keys(MODEL.limits).join(", ") || "none"}`);
  const logP = logProbabilitiesOf(scores), first = chosen.length ? chosen[0] : best(scores);
  const limitOf = (c) => (byClass ? limits[1][c] : limits[0]) ?? Infinity;
  return byScore(logP).filter((c) => -logP[c] <= limitOf(c) || (atLeastOne && c === first)).map((c) => MODEL.classes[c]);
}

/** The terms of a text in order: start and end in code points, and the term. */
export function tokens(text) {
  const spans = [];
  eachTermOf(asText(text), (hash, buffer, from, to, gram, start, end) => {
    spans.push([start, end, (gram ? "#" : "") + fromCodes(buffer, from, to), hash]);
  });
  return spans.map(([start, end, term]) => [start, end, term]);
}

/** Evidence for and against a class by term, by default for the first label: base + Σ values = score. */
export function explain(text, options = {}) {
  text = asText(text);
  const counts = countTerms(text), { scores } = scoreCounts(counts);
  const probabilities = MODEL.probabilistic ? probabilitiesOf(scores) : null;
  const chosen = options.label === undefined ? decide(scores, probabilities)[0] ?? best(scores) : classIndex(options.label);
  const rival = options.against === undefined ? null : classIndex(options.against);
  if (rival === chosen) throw new RangeError(`${options.against} cannot be explained against itself; name another class`);
  const { base, values } = contributions(counts, chosen, rival);
  const spans = tokens(text);
  return {
    label: MODEL.classes[chosen], against: rival === null ? null : MODEL.classes[rival],
    score: base + values.reduce((sum, [, value]) => sum + value, 0), base,
    probability: probabilities ? probabilities[chosen] : null, exact: true,
    evidence: evidenceOf(Array.from(text), spans, counts, values),
  };
}

function classIndex(label) {
  const index = MODEL.classes.indexOf(label);
  if (index < 0) throw new RangeError(`there is no class ${label}; there are ${classes.slice(0, 10).join(", ")}${classes.length > 10 ? ", …" : ""}`);
  return index;
}

// The contribution of each term, [[term, value], …] with terms ascending, and the base: the part of the score without terms.
function contributions(counts, chosen, rival) {
  const ids = Int32Array.from(counts.keys()).sort(), each = Array.from(ids, (term) => counts.get(term));
  const values = new Map(Array.from(ids, (term) => [term, 0]));
  const lead = (row, possible) => {
    if (rival !== null) return row[chosen] - row[rival];
    if (!MODEL.referenceIsMean) return row[chosen];
    const among = possible ? row.filter((_, c) => possible[c]) : row;
    return row[chosen] - among.reduce((sum, value) => sum + value, 0) / among.length;
  };
  let base = lead(Array.from(poolBias), null);
  for (const part of parts) {
    const possible = Array.from(part.bias, Number.isFinite), { rows, values: z, length } = weigh(part, ids, each);
    base += lead(Array.from(part.bias), possible);
    const termOf = part.rows ? Array.from(ids).filter((term) => part.rows[term] >= 0) : Array.from(ids);
    rows.forEach((row, k) => {
      const weights = new Array(nClasses).fill(part.termOffset ? part.termOffset[row] : 0);
      if (part.classOffset) for (let c = 0; c < nClasses; c++) weights[c] += part.classOffset[c];
      eachWeight(part, row, (c, weight) => { weights[c] += weight; });
      values.set(termOf[k], values.get(termOf[k]) + (z[k] / length) * lead(weights, possible));
    });
  }
  return { base, values: Array.from(values) };
}

function evidenceOf(characters, spans, counts, values) {
  const places = new Map();
  for (const [start, end, term] of spans) addPlace(places, term, [start, end]);
  let evidence = values.map(([id, value]) => {
    const term = terms.name(id);
    return { term, count: counts.get(id), value, places: places.get(term) || [] };
  });
  if (evidence.some((item) => item.term.startsWith("#") && item.places.length)) evidence = sumOverWords(evidence, spans, characters);
  return evidence.sort((a, b) => Math.abs(b.value) - Math.abs(a.value) || (a.term < b.term ? -1 : 1));
}

function addPlace(places, term, place) {
  const own = places.get(term);
  if (own) own.push(place);
  else places.set(term, [place]);
}

// The index of the first item of which `holds` is true, as it is of all items after it; the number of items if there is none.
function firstWhere(items, holds) {
  let low = 0, high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(items[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Add the evidence of character n-grams to the words that contain them; the sum stays the same.
function sumOverWords(evidence, spans, characters) {
  const isPiece = (term) => term.startsWith("#"), key = ([start, end]) => `${start} ${end}`;
  const known = new Map(spans.filter(([, , term]) => !isPiece(term) && !term.includes(" ")).map((span) => [key(span), span]));
  const runs = covered(spans.filter(([, , term]) => isPiece(term)));
  const words = wordsInRuns(runs, [...known.values()], characters);
  const names = new Map(), places = new Map(), totals = new Map(), others = [];
  for (const word of words.flat()) {
    const span = known.get(key(word));
    names.set(key(word), span ? span[2] : characters.slice(word[0], word[1]).join("").toLowerCase());
  }
  for (const word of words.flat()) {
    const name = names.get(key(word));
    addPlace(places, name, [word[0], word[1]]);
  }
  for (const item of evidence) {
    if (!isPiece(item.term) || !item.places.length) { others.push(item); continue; }
    for (const place of item.places) {
      const at = firstWhere(runs, ([start]) => start > place[0]) - 1;
      for (const [word, share] of shares(place, words.at(at))) {
        const name = names.get(key(word));
        totals.set(name, (totals.get(name) || 0) + (share * item.value) / item.places.length);
      }
    }
  }
  const summed = others.map((item) => {
    const more = totals.get(item.term) || 0;
    totals.delete(item.term);
    return { ...item, value: item.value + more };
  });
  for (const [term, value] of totals) summed.push({ term, count: places.get(term).length, value, places: places.get(term) });
  return summed;
}

function covered(spans) {
  const runs = [];
  for (const [start, end] of spans.filter(([from, to]) => from < to).sort((a, b) => a[0] - b[0] || a[1] - b[1])) {
    const last = runs[runs.length - 1];
    if (last && start < last[1]) last[1] = Math.max(end, last[1]);
    else runs.push([start, end]);
  }
  return runs;
}

function shortestSpans(spans) {
  const kept = [];
  for (const [start, end] of [...spans].sort((a, b) => a[1] - b[1] || b[0] - a[0])) {
    if (start < end && (!kept.length || start > kept[kept.length - 1][0])) kept.push([start, end]);
  }
  return kept;
}

function wordsInRuns(runs, known, characters) {
  const shortest = shortestSpans(known), codes = characters.map((character) => character.codePointAt(0));
  return runs.map(([from, to]) => {
    const inside = shortest.slice(firstWhere(shortest, ([start]) => start >= from), firstWhere(shortest, ([start]) => start >= to));
    const letters = [];
    for (let at = from; at < to;) {
      if (!isLetter(codes[at])) { at++; continue; }
      const start = at;
      while (at < to && isLetter(codes[at])) at++;
      eachRun(codes, start, at, true, (first, last, kind) => {
        if (kind === "word") { letters.push([first, last]); return; }
        for (let next = first; next < last;) {
          if (kinds[codes[next]] & MARK) { next++; continue; }
          const begin = next++;
          while (next < last && kinds[codes[next]] & MARK) next++;
          letters.push([begin, next]);
        }
      });
    }
    const free = letters.filter(([start, end]) => {
      const next = inside[firstWhere(inside, ([, b]) => b > start)];
      return !next || next[0] >= end;
    });
    const all = [...inside, ...free].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    return all.length ? all : [[from, to]];
  });
}

// The words that a character n-gram is in, with its share of each; without one, the nearest word. Words are in order.
function shares(gram, run) {
  const first = firstWhere(run, ([, end]) => end > gram[0]), last = firstWhere(run, ([start]) => start >= gram[1]);
  const words = run.slice(Math.max(first - 1, 0), last + 1);
  const common = words.map(([start, end]) => Math.min(gram[1], end) - Math.max(gram[0], start));
  const total = common.reduce((sum, length) => sum + Math.max(0, length), 0);
  if (!total) return [[words[common.indexOf(largest(common))], 1]];
  return words.map((word, at) => [word, common[at] / total]).filter(([, share]) => share > 0);
}
