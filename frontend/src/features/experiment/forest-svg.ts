import type { Vector } from "@/lib/export/picture";
import { rowsSvg } from "@/lib/export/rows-svg";
import { formatNumber } from "@/lib/format/numbers";
import { estimated } from "@/lib/format/ratios";
import { type Colored, colorOf, variantStyle } from "@/lib/theme/palette";
import { lineOf } from "./answer";
import { arrow, forestDomain, forestTicks, placeOn, spanOf, WIDE } from "./forest";
import type { Group } from "./groups";

const ROW = 26;

/** The forest plot as a drawing for a paper; `of` gives the colours. */
export function forestSvg({ rows }: Pick<Group, "rows">, of: Colored, title: string): Vector {
  const domain = forestDomain(rows.map((row) => row.speed_up));
  const place = placeOn(domain, WIDE);
  const ticks = forestTicks(domain, WIDE);
  const label = (x: number, y: number, words: string, anchor = "middle") =>
    `<text x="${x}" y="${y}" text-anchor="${anchor}" font-size="11">${words}</text>`;
  const drawn = rows.map((row) => ({
    name: row.variant,
    words: lineOf(row),
    parts: (left: number, middle: number) => {
      const { claim } = row.speed_up;
      const ratio = estimated(row.speed_up);
      const { light } = variantStyle(colorOf(of, row.variant));
      const span = spanOf(row.speed_up, domain, WIDE);
      const tip = (x: number, to: 1 | -1) =>
        `<path d="${arrow(left + x, middle, to)}" fill="none" stroke="${light}" stroke-width="2"/>`;
      return [
        ...ticks.map((tick) => {
          const x = left + place(tick);
          const ink = tick === 1 ? "#a5afb7" : "#dfe3e7";
          return `<line x1="${x}" x2="${x}" y1="${middle - ROW / 2}" y2="${middle + ROW / 2}" stroke="${ink}"/>`;
        }),
        claim === "baseline" ? `<circle cx="${left + WIDE / 2}" cy="${middle}" r="3"/>` : "",
        span
          ? `<line x1="${left + span.start}" x2="${left + span.end}" y1="${middle}" y2="${middle}" stroke="${light}" stroke-width="2"/>`
          : "",
        span?.below ? tip(span.start, -1) : "",
        span?.beyond ? tip(span.end, 1) : "",
        claim !== "baseline" && ratio !== null
          ? `<rect x="${left + place(ratio) - 4}" y="${middle - 4}" width="8" height="8" fill="${light}"/>`
          : "",
      ].filter(Boolean);
    },
  }));
  return rowsSvg(title, { width: WIDE, height: ROW }, drawn, (left, bottom) => [
    label(left, bottom - 16, "slower", "start"),
    label(left + WIDE, bottom - 16, "faster", "end"),
    ...ticks.map((tick) => label(left + place(tick), bottom, `${formatNumber(tick, 2)}×`)),
  ]);
}
