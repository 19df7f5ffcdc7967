// An imported fastText model in one file, without dependencies: its words and hashes, weights and decision.
// Sums are in 32 bits, in fastText's order. MODEL, below, has everything that was learnt.

/*MODEL*/

// ---- numbers

function bytes(text) {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at++) bytes[at] = raw.charCodeAt(at);
  return bytes.buffer;
}
const KINDS = { f64: Float64Array, f32: Float32Array, i8: Int8Array, u8: Uint8Array, i16: Int16Array, i32: Int32Array };
const numbers = (stored) => (stored ? new KINDS[stored[0]](bytes(stored[1])) : null);
const round = Math.fround;
const logOf = (p) => round(Math.log(p + 1e-5)); // fastText never takes the logarithm of 0

const { nWords, bucket, minn, maxn, wordNgrams, width, loss } = MODEL;
const nLabels = MODEL.places.length, folded = MODEL.output === null;
const rows = numbers(MODEL.rows), step = numbers(MODEL.step), codes = numbers(MODEL.codes), centroids = numbers(MODEL.centroids);
const normCodes = numbers(MODEL.normCodes), norms = numbers(MODEL.norms);
const output = numbers(MODEL.output), outputScale = numbers(MODEL.outputScale), children = numbers(MODEL.children);
const words = new Map(), skipped = new Set(MODEL.skipped), kept = MODEL.kept ? new Map() : null;
MODEL.words.split("\n").forEach((word, row) => { if (word !== "") words.set(word, row); });
if (kept) {
  const pairs = numbers(MODEL.kept);
  for (let at = 0; at < pairs.length; at += 2) kept.set(pairs[at], pairs[at + 1]);
}

// sum[j] += row[j], in the number type of `sum`.
function addRow(sum, row) {
  if (rows) {
    const from = row * width;
    for (let j = 0; j < width; j++) sum[j] += step ? round(rows[from + j] * step[j]) : rows[from + j];
    return;
  }
  const part = MODEL.partWidth, n = Math.ceil(width / part), length = norms ? norms[normCodes[row]] : null;
  for (let q = 0; q < n; q++) {
    const start = q * part, size = Math.min(part, width - start), from = 256 * start + codes[row * n + q] * size;
    for (let k = 0; k < size; k++) sum[start + k] += length === null ? centroids[from + k] : round(centroids[from + k] * length);
  }
}

// ---- from a text to rows

const END = "</s>", PREFIX = "__label__";
const mix = (hash, byte) => Math.imul(hash ^ (byte < 128 ? byte : byte | 0xffffff00), 16777619);

// The UTF-8 of a text; half a surrogate pair is encoded too.
function utf8(text) {
  const bytes = [];
  for (const character of text) {
    const code = character.codePointAt(0);
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
    else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
  }
  return bytes;
}

const hashOf = (token) => utf8(token).reduce(mix, 2166136261 | 0);

// The row of a hashed n-gram; -1 if it was pruned.
function gramRow(bucketNumber) {
  if (!kept) return nWords + bucketNumber;
  const row = kept.get(bucketNumber);
  return row === undefined ? -1 : nWords + row;
}

function characterRows(token, rowsOfToken) {
  const text = utf8(`<${token}>`), n = text.length, goesOn = (at) => at < n && (text[at] & 0xc0) === 0x80;
  for (let i = 0; i < n; i++) {
    if (goesOn(i)) continue;
    let hash = 2166136261 | 0, j = i;
    for (let size = 1; j < n && size <= maxn; size++) {
      hash = mix(hash, text[j++]);
      while (goesOn(j)) hash = mix(hash, text[j++]);
      if (size < minn || (size === 1 && (i === 0 || j === n))) continue;
      const row = gramRow((hash >>> 0) % bucket);
      if (row >= 0) rowsOfToken.push(row);
    }
  }
}

// The tokens of a text; the last is the end of the line.
function* tokensOf(text) {
  for (const [token] of text.matchAll(/[^ \n\r\t\v\f\0]+/g)) {
    if (token === END) break;
    yield token;
  }
  yield END;
}

// The rows of each feature. In folded models, a known word and its character n-grams are one feature.
function featuresOf(text) {
  const features = [], hashes = [];
  let known = 0;
  for (const token of tokensOf(text)) {
    const row = words.get(token);
    if (row === undefined && (skipped.has(token) || token.startsWith(PREFIX))) continue;
    const tokenRows = row === undefined ? [] : [row];
    if (maxn > 0 && token !== END) characterRows(token, tokenRows);
    if (token !== END) known += tokenRows.length;
    if (folded && maxn > 0 && row !== undefined) features.push(tokenRows);
    else for (const tokenRow of tokenRows) features.push([tokenRow]);
    if (wordNgrams > 1) hashes.push(BigInt(hashOf(token)));
  }
  for (let i = 0; i < hashes.length; i++) {
    let value = hashes[i];
    for (let j = i + 1; j < hashes.length && j < i + wordNgrams; j++) {
      value = BigInt.asUintN(64, value * 116049371n + hashes[j]);
      const row = gramRow(Number(value % BigInt(bucket)));
      if (row >= 0) features.push([row]);
    }
  }
  return { features, known };
}

// ---- from rows to outputs

const BLOCK = 32; // rows that are added in 32 bits before the sum is added in 64 bits

function foldedOutputs(features) {
  const sums = new Float64Array(width), part = new Float32Array(width), whole = new Float64Array(width);
  let n = 0;
  for (let from = 0; from < features.length; from += BLOCK) {
    part.fill(0);
    for (const featureRows of features.slice(from, from + BLOCK)) {
      n += featureRows.length;
      if (featureRows.length === 1) { addRow(part, featureRows[0]); continue; }
      whole.fill(0);
      for (const row of featureRows) addRow(whole, row);
      for (let j = 0; j < width; j++) part[j] += round(whole[j]);
    }
    for (let j = 0; j < width; j++) sums[j] += part[j];
  }
  return Float32Array.from(sums, (sum) => sum / Math.max(n, 1));
}

function factoredOutputs(features) {
  const hidden = new Float32Array(width), share = round(1 / Math.max(features.length, 1));
  for (const [row] of features) addRow(hidden, row);
  for (let j = 0; j < width; j++) hidden[j] *= share;
  const raw = new Float32Array(nLabels);
  for (let i = 0; i < nLabels; i++) {
    let sum = 0;
    for (let j = 0, at = i * width; j < width; j++, at++) sum = round(sum + round(output[at] * hidden[j]));
    raw[i] = outputScale ? sum * outputScale[i] : sum;
  }
  return raw;
}

// ---- from outputs to scores: the label that fastText predicts has the highest score

// fastText reads the logistic function from a table of 512 steps over [-8, 8].
const steps = Float32Array.from({ length: 513 }, (_, i) => 1 / (1 + round(Math.exp(8 - (i * 16) / 512))));
const tableSigmoid = (x) => (x >= -8 ? (x > 8 ? 1 : steps[Math.trunc(round(x + 8) * 32)]) : 0);

function leafScores(raw) {
  const scores = new Float32Array(2 * nLabels - 1);
  for (let node = nLabels - 2; node >= 0; node--) {
    const share = round(1 / round(1 + round(Math.exp(-raw[node])))), above = scores[nLabels + node];
    scores[children[2 * node]] = above + logOf(round(1 - share));
    scores[children[2 * node + 1]] = above + logOf(share);
  }
  return scores.subarray(0, nLabels);
}

// The labels in the order in which fastText visits them: in its tree from left to right.
function labelOrder() {
  if (loss !== "hs") return Array.from({ length: nLabels }, (_, i) => i);
  const visited = [], open = [2 * nLabels - 2];
  while (open.length) {
    const node = open.pop();
    if (node < nLabels) visited.push(node);
    else open.push(children[2 * (node - nLabels) + 1], children[2 * (node - nLabels)]);
  }
  return visited;
}
const order = labelOrder();

// The values by which fastText ranks labels.
function ranks(raw, leaves) {
  if (loss === "hs") return leaves;
  if (loss !== "softmax") return raw.map(tableSigmoid);
  const most = raw.reduce((a, b) => Math.max(a, b), -Infinity);
  const odds = raw.map((value) => Math.exp(round(value - most)));
  const sum = odds.reduce((a, b) => round(a + b), 0);
  return odds.map((value) => logOf(round(value / sum)));
}

const number = new Float64Array(1), bits = new BigInt64Array(number.buffer);
function nextAbove(x) {
  if (x === 0) return Number.MIN_VALUE;
  number[0] = x;
  bits[0] += x > 0 ? 1n : -1n;
  return number[0];
}

function scoresOf(features) {
  const scores = new Array(nLabels).fill(0);
  if (!features.length) return scores;
  const raw = folded ? foldedOutputs(features) : factoredOutputs(features), leaves = loss === "hs" ? leafScores(raw) : raw;
  const values = ranks(raw, leaves);
  let winner = order[0], most = -Infinity; // of equal labels, fastText returns the last
  for (const label of order) if (values[label] >= values[winner]) winner = label;
  for (let i = 0; i < nLabels; i++) {
    scores[MODEL.places[i]] = leaves[i];
    if (i !== winner) most = Math.max(most, leaves[i]);
  }
  if (scores[MODEL.places[winner]] <= most) scores[MODEL.places[winner]] = nextAbove(most);
  return scores;
}

const largest = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
const byScore = (scores) => scores.map((_, c) => c).sort((a, b) => scores[b] - scores[a] || a - b);

function probabilitiesOf(scores) {
  if (MODEL.multilabel) return scores.map((score) => 1 / (1 + Math.exp(-score)));
  const top = largest(scores), odds = scores.map((score) => Math.exp(score - top)), sum = odds.reduce((a, b) => a + b, 0);
  return odds.map((value) => value / sum);
}

// ---- public functions

/** The labels, in the order of `scores` and `probabilities`. */
export const classes = Object.freeze(MODEL.classes.slice());

/** The model: its name, its loss, and whether it is multilabel. */
export const model = Object.freeze({ ...MODEL.about, coverages: [] });

/** The labels of a text, with scores and probabilities; see model.d.ts for the options. */
export function classify(text, options = {}) {
  if (options.coverage !== undefined) throw new RangeError("an imported fastText model has no sets of labels; leave coverage out");
  const { features, known } = featuresOf(String(text));
  const scores = scoresOf(features), probabilities = probabilitiesOf(scores), ranked = byScore(scores);
  const chosen = MODEL.multilabel ? ranked.filter((c) => scores[c] >= MODEL.thresholds[c]) : ranked.slice(0, 1);
  let labels = chosen.map((c) => MODEL.classes[c]), shown = probabilities[chosen.length ? chosen[0] : ranked[0]];
  const { undecided, minProbability } = options;
  if (undecided !== undefined && known === 0) labels = [undecided];
  else if (minProbability !== undefined && !(chosen.length && shown >= minProbability)) labels = [undecided === undefined ? "undecided" : undecided];
  return { label: labels.length ? labels[0] : null, labels, probability: shown, scores, probabilities, known_terms: known };
}

/** The tokens of a text as fastText cuts it; the last is the end of the line. */
export const tokens = (text) => [...tokensOf(String(text))];
