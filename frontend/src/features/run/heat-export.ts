import { px } from "@/lib/export/chart-svg";
import type { Vector } from "@/lib/export/picture";
import { rowsSvg } from "@/lib/export/rows-svg";
import { formatPercent } from "@/lib/format/numbers";
import { type HeatRow, strength } from "./phase-heat";

const [CELL, ROW] = [88, 26];

const phasesOf = (rows: readonly HeatRow[]) => rows[0]?.cells.map(({ phase }) => phase) ?? [];
const nameOf = ({ role, rank }: HeatRow) => `${role} ${rank}`;
const inkOf = (phase: string) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--phase-${phase}`).trim() || "#808b95";

/** The cells in their colours, for a paper. */
export function heatSvg(title: string, rows: readonly HeatRow[]): Vector {
  const drawn = rows.map((row) => ({
    name: nameOf(row),
    words: "",
    parts: (left: number, middle: number) =>
      row.cells.flatMap(({ phase, share, apart }, at) => {
        const x = left + at * CELL;
        const bold = apart ? ' font-weight="700"' : "";
        return [
          `<rect x="${px(x)}" y="${px(middle - ROW / 2)}" width="${CELL}" height="${ROW}" fill="${inkOf(phase)}" fill-opacity="${strength(share) / 100}"/>`,
          `<text x="${px(x + CELL - 8)}" y="${px(middle + 4)}" text-anchor="end"${bold}>${formatPercent(share)}</text>`,
        ];
      }),
  }));
  const phases = phasesOf(rows);
  return rowsSvg(title, { width: phases.length * CELL, height: ROW }, drawn, (left, bottom) =>
    phases.map(
      (phase, at) =>
        `<text x="${px(left + (at + 1) * CELL - 8)}" y="${bottom - 4}" text-anchor="end">${phase}</text>`,
    ),
  );
}
