import { px, titled } from "./chart-svg";
import type { Vector } from "./picture";

/** A bar: its share of the height, null where nothing is known, and what stands below and above it. */
export interface SvgBar {
  readonly share: number | null;
  readonly below: string;
  readonly above?: string;
}

const [LEFT, TOP, HEIGHT, LETTER] = [16, 56, 180, 7.4];
const FILL = "#1f66d0";

/** Bars beside one another, for a paper; of words that would lie on one another, some are left out. */
export function barsSvg(title: string, bars: readonly SvgBar[], xTitle: string, width = 640): Vector {
  const wide = (width - 2 * LEFT) / Math.max(1, bars.length);
  const longest = Math.max(1, ...bars.flatMap(({ below, above = "" }) => [below.length, above.length]));
  const every = Math.max(1, Math.ceil(((longest + 1) * LETTER) / wide));
  const bottom = TOP + HEIGHT;
  const parts = bars.flatMap(({ share, below, above = "" }, at) => {
    const x = LEFT + at * wide;
    const high = (share ?? 0) * HEIGHT;
    const word = (y: number, text: string) =>
      at % every === 0 && text
        ? [`<text x="${px(x + wide / 2)}" y="${px(y)}" text-anchor="middle">${text}</text>`]
        : [];
    const bar = `<rect x="${px(x + wide * 0.08)}" y="${px(bottom - high)}" width="${px(wide * 0.84)}" height="${px(high)}" fill="${FILL}"/>`;
    return [...(share === null ? [] : [bar]), ...word(bottom + 18, below), ...word(bottom - high - 5, above)];
  });
  return titled(title, LEFT, width, bottom + 52, [
    ...parts,
    `<line x1="${LEFT}" x2="${width - LEFT}" y1="${bottom}" y2="${bottom}" stroke="#3a4149"/>`,
    `<text x="${width / 2}" y="${bottom + 40}" text-anchor="middle">${xTitle}</text>`,
  ]);
}
