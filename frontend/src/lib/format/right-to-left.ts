/** From a letter that runs from right to left to the last one with nothing but signs in between. */
const PARTS =
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc](?:[^\p{L}\p{N}]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc])*/gu;

/** A text whose names are not known: what runs from right to left in it keeps to itself. */
export const isolatedParts = (text: string): string => text.replace(PARTS, "\u2068$&\u2069");
