/** Letters that run from right to left, and signs that turn the direction. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\u200f\u202b\u202e\u2067\ufb1d-\ufdff\ufe70-\ufefc]/;

/**
 * A text in which names run in their own direction: figures beside a name that runs from right to left would otherwise
 * be drawn on its other side.
 */
export function isolated(text: string, names: readonly string[]): string {
  const turned = names.filter((name) => RIGHT_TO_LEFT.test(name)).sort((a, b) => b.length - a.length);
  if (turned.length === 0) return text;
  const any = turned.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  return text.replace(new RegExp(any, "g"), (name) => `\u2068${name}\u2069`);
}
