/** A text classifier exported by unnaive: one module, no dependencies. Offsets count code points, as `Array.from(text)` does. */

export type Label = string | number | boolean;

export interface Options {
  /** The label of a text without a term that the model knows. */
  unknown?: string;
  /** Texts whose best label has a smaller probability are labelled "unknown", or as `unknown` says. */
  rejectBelow?: number;
  /** Also give the set of labels that holds the right one with this confidence; one of `model.confidences`. */
  confidence?: number;
  /** Make `confidence` hold for every class by itself. */
  byClass?: boolean;
  /** Never give an empty set. */
  atLeastOne?: boolean;
}

export interface Answer {
  /** The first of `labels`; null where a multilabel model gives none. */
  label: Label | null;
  /** The labels, the one with the highest score first. */
  labels: Label[];
  /** The probability of `label`; null where the model has none. */
  probability: number | null;
  /** One for each of `classes`. */
  scores: number[];
  probabilities: number[] | null;
  /** How many mentions of terms that the model knows the text has; with 0 the label is a guess. */
  known: number;
  /** With `confidence`: the most probable first. */
  set?: Label[];
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

/** A record of a model with fields, each by its name; an empty string, null or NaN is an empty cell. */
export type Fields = { [name: string]: string | number | boolean | Date | null | undefined | (string | number)[] };

export const classes: readonly Label[];
export const model: Readonly<{ name: string; title: string; version: string; multilabel: boolean; link: string; confidences: number[] }>;
export function classify(text: string | Fields, options?: Options): Answer;
/** Of a record, places are those in the text that stands for it. */
export function explain(text: string | Fields, options?: { label?: Label; against?: Label }): Explanation;
export function tokens(text: string | Fields): [start: number, end: number, term: string][];
