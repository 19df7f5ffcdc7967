/** An imported fastText model exported by unnaive: one module, no dependencies. */

export type Label = string;

export interface Options {
  /** The label of a text without a word or character n-gram that the model knows. */
  undecided?: string;
  /** Texts whose best label has a smaller probability are labelled "undecided", or as `undecided` says. */
  minProbability?: number;
}

export interface Answer {
  /** The first of `labels`; null if a multilabel model predicts none. */
  label: Label | null;
  /** The labels, the one with the highest score first. */
  labels: Label[];
  /** The probability of the label with the highest score. */
  probability: number;
  /** One number for each of `classes`. */
  scores: number[];
  probabilities: number[];
  /** The number of known words and character n-grams in the text; if it is 0, the label is a guess. */
  known_terms: number;
}

export const classes: readonly Label[];
export const model: Readonly<{ name: string; title: string; version: string; multilabel: boolean; link: string; loss: string; coverages: number[] }>;
export function classify(text: string, options?: Options): Answer;
/** The tokens of a text as fastText cuts it; the last is the end of the line. */
export function tokens(text: string): string[];
