/** A text classifier exported by unnaive: one module, no dependencies. Offsets count code points, as `Array.from(text)` does. */

/** A fraction, and a whole number from 2^53 on, is a string, as Python prints it. */
export type Label = string | number | boolean;

export interface Options {
  /** The label of a text without a term that the model knows. */
  undecided?: string;
  /** Texts whose best label has a smaller probability are labelled "undecided", or as `undecided` says. */
  minProbability?: number;
  /** Also return a set of labels that contains the right one with this coverage; one of `model.coverages`. */
  coverage?: number;
  /** Guarantee `coverage` for every class. */
  byClass?: boolean;
  /** Never return an empty set; then more texts are covered than `coverage` asks. */
  atLeastOne?: boolean;
}

export interface Answer {
  /** The first of `labels`; null if a multilabel model predicts none. */
  label: Label | null;
  /** The labels, the one with the highest score first. */
  labels: Label[];
  /** The probability of `label`, or of the best class if it is undecided; null without a label or probabilities. */
  probability: number | null;
  /** One number for each of `classes`. */
  scores: number[];
  probabilities: number[] | null;
  /** The number of known terms in the text, with repetitions; if it is 0, the label is a guess. */
  known_terms: number;
  /** The set of labels if `coverage` was given, the most probable first. */
  label_set?: Label[];
}

export interface Evidence {
  term: string;
  count: number;
  /** What the term adds to the score. */
  value: number;
  places: [start: number, end: number][];
}

export interface Explanation {
  label: Label;
  against: Label | null;
  /** base + the sum of all evidence. */
  score: number;
  base: number;
  probability: number | null;
  exact: true;
  evidence: Evidence[];
}

/** A record for a model with fields: the values by field name. An empty string, null or NaN is an empty cell. */
export type Fields = { [name: string]: string | number | boolean | Date | null | undefined | (string | number)[] };

export const classes: readonly Label[];
export const model: Readonly<{ name: string; title: string; version: string; multilabel: boolean; link: string; coverages: number[] }>;
export function classify(text: string | Fields, options?: Options): Answer;
/** For a record, places are positions in the text that encodes it. */
export function explain(text: string | Fields, options?: { label?: Label; against?: Label }): Explanation;
export function tokens(text: string | Fields): [start: number, end: number, term: string][];
