/** Letters that run from right to left, and signs that turn the direction. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\u200f\u202b\u202e\u2067\ufb1d-\ufdff\ufe70-\ufefc]/;

/**
 * A text in which names run in their own direction: figures beside a name that runs from right to left would otherwise
 * be drawn on its other side.
 */
export const isolated = (text: string, names: readonly string[]): string =>
  [...names]
    .sort((a, b) => b.length - a.length)
    .reduce(
      (all, name) => (RIGHT_TO_LEFT.test(name) ? all.replaceAll(name, () => `\u2068${name}\u2069`) : all),
      text,
    );
