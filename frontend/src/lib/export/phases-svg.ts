import { type Area, areaPath, bandsOf, phasesOver } from "@/lib/charts/phase-stack";
import { PHASES, type Phase, phasesIn } from "@/lib/theme/palette";
import type { Vector } from "./picture";
import { rowsSvg } from "./rows-svg";

interface Row {
  readonly name: string;
  readonly words: string;
}

const WIDTH = 320;
const [KEY, LETTER] = [24, 6.2];

/** The colour that a phase has on the page. */
const inkOf = (phase: string) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--phase-${phase}`).trim();
/** Hidden communication is drawn over compute. */
const BEHIND = 'fill-opacity="0.5"';

function keyOf(phases: readonly Phase[], hidden: boolean) {
  const items: { phase: string; words: string; look: string }[] = phases.map((phase) => ({
    phase,
    words: phase,
    look: "",
  }));
  if (hidden) items.push({ phase: "communicate", words: "communicate, hidden", look: BEHIND });
  return (left: number, bottom: number) => {
    let at = left;
    return items.flatMap(({ phase, words, look }) => {
      const x = at;
      at += KEY + words.length * LETTER;
      return [
        `<rect x="${x}" y="${bottom - 18}" width="10" height="10" fill="${inkOf(phase)}" ${look}/>`,
        `<text x="${x + 13}" y="${bottom - 9}" font-size="11">${words}</text>`,
      ];
    });
  };
}

/** Stacked bars of phases, given as seconds or shares, with their key, for a paper. */
export function phasesSvg(
  bars: readonly (Row & { shares: Partial<Record<string, number>> })[],
  title: string,
): Vector {
  const shown = phasesIn(bars.map(({ shares }) => shares));
  const drawn = bars.map(({ shares, ...row }) => ({
    ...row,
    parts: (left: number, middle: number) => {
      const whole = PHASES.reduce((sum, phase) => sum + (shares[phase] ?? 0), 0);
      let from = left;
      return shown.map((phase) => {
        const width = whole > 0 ? ((shares[phase] ?? 0) / whole) * WIDTH : 0;
        const bar = `<rect x="${from}" y="${middle - 9}" width="${width}" height="18" fill="${inkOf(phase)}"/>`;
        from += width;
        return bar;
      });
    },
  }));
  return rowsSvg(title, { width: WIDTH, height: 26 }, drawn, keyOf(shown, false));
}

/** Phases over time, one on the other, with their key, for a paper. */
export function areasSvg(areas: readonly (Row & Area)[], title: string): Vector {
  const height = 64;
  const drawn = areas.map((area) => ({
    name: area.name,
    words: area.words,
    parts: (left: number, middle: number) => {
      const { phases, behind } = bandsOf(area);
      const scale = `scale(${WIDTH / Math.max(1, area.hidden.length)} ${height})`;
      return [
        `<g transform="translate(${left} ${middle - height / 2}) ${scale}">`,
        ...phases.map((band, at) => `<path d="${areaPath(band)}" fill="${inkOf(PHASES[at] ?? "")}"/>`),
        `<path d="${areaPath(behind)}" fill="${inkOf("communicate")}" ${BEHIND}/>`,
        "</g>",
      ];
    },
  }));
  return rowsSvg(title, { width: WIDTH, height: height + 8 }, drawn, keyOf(phasesOver(areas), true));
}
