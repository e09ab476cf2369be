import { describe, expect, it } from "vitest";
import { chartSvg, type Drawing, WIDTH } from "@/lib/export/chart-svg";
import { curvesCsv } from "@/lib/export/curves-sheet";
import { variantStyle } from "@/lib/theme/palette";

const A = {
  label: "A <1>",
  style: variantStyle(0),
  x: [0, 50, 100],
  y: [0.2, 0.6, 1],
  low: [0.1, 0.5, 0.9],
  high: [0.3, 0.7, 1.1],
};
const TAIL = { label: "A, seed 1", style: variantStyle(0), x: [100, 150], y: [1, 0.9], faint: true };

const LOOK: Drawing = {
  title: "Accuracy",
  series: [A, TAIL],
  xTitle: "Train clock (s)",
  tickX: (value) => `${value} s`,
  tickY: (value) => `${value}`,
};

function drawing(changes: Partial<Drawing> = {}): string {
  return chartSvg({ ...LOOK, ...changes }).svg;
}

/** The points of every path of this look. */
const paths = (svg: string, look: string) =>
  [...svg.matchAll(/<path d="([^"]*)" ([^>]*)>/g)]
    .filter(([, , rest]) => rest?.includes(look))
    .map(([, path]) =>
      [...(path ?? "").matchAll(/[ML](\S+?) ([^MLZ]+)/g)].map(([, x, y]) => [Number(x), Number(y)] as const),
    );

it("a curve passes through its points, to scale, with its interval and a pale continuation", () => {
  const svg = drawing();
  const [curve] = paths(svg, 'stroke-width="2"');
  const [start, middle, end] = curve ?? [];
  expect(curve).toHaveLength(3);
  expect((middle?.[0] ?? 0) - (start?.[0] ?? 0)).toBeCloseTo((end?.[0] ?? 0) - (middle?.[0] ?? 0), 1);
  expect((start?.[1] ?? 0) - (middle?.[1] ?? 0)).toBeCloseTo((middle?.[1] ?? 0) - (end?.[1] ?? 0), 1);
  expect(paths(svg, "fill-opacity")[0]).toHaveLength(6); // along the high ends, and back along the low ones
  const [tail] = paths(svg, "stroke-opacity");
  expect(tail?.[0]).toEqual(end);
  expect(svg).toContain(">A &lt;1&gt;<");
  expect(svg).not.toContain(">A, seed 1<"); // what is pale has no entry of its own in the legend
});

it("a gap breaks a curve, and a zoom fills the chart with its part", () => {
  const broken = { ...A, y: [0.2, null, 1], low: undefined, high: undefined };
  expect(paths(drawing({ series: [broken] }), 'stroke-width="2"').map((points) => points.length)).toEqual([
    1, 1,
  ]);
  const [zoomed] = paths(drawing({ zoom: [0, 50] }), 'stroke-width="2"');
  expect(zoomed?.[1]?.[0]).toBe(WIDTH - 16);
});

it("on a logarithmic scale equal factors have equal heights, and what is not positive lies below", () => {
  const log = { ...A, y: [0.01, 0.1, 1], low: [-1, 0.05, 0.5], high: [0.02, 0.2, 2] };
  const svg = drawing({ series: [log], log: true });
  const [start, middle, end] = paths(svg, 'stroke-width="2"')[0] ?? [];
  expect((start?.[1] ?? 0) - (middle?.[1] ?? 0)).toBeCloseTo((middle?.[1] ?? 0) - (end?.[1] ?? 0), 1);
  for (const tick of ["0.01", "0.1", "1"]) expect(svg).toContain(`text-anchor="end">${tick}</text>`);
  expect(svg).not.toContain("NaN");
});

it("the target, the runs that met it and the evaluations are marked", () => {
  const style = variantStyle(0);
  const svg = drawing({
    target: { value: 0.6, label: "target 60%" },
    crossings: [{ x: 50, style }],
    evaluations: [{ x: [0, 50, 100], style }],
  });
  expect(svg).toContain(">target 60%<");
  const middle = paths(svg, 'stroke-width="2"')[0]?.[1] ?? [0, 0];
  expect(svg).toContain(`<circle cx="${middle[0]}" cy="${middle[1]}"`);
  expect(svg.match(/stroke-opacity="0.6"\/>/g)).toHaveLength(3);
});

it("many evaluations at one place are marked once in a colour, and do not make the file large", () => {
  const x = Array.from({ length: 5000 }, (_, i) => i / 50);
  const runs = Array.from({ length: 25 }, (_, i) => ({ x, style: variantStyle(i % 2) }));
  const ticks = drawing({ evaluations: runs }).match(/<line [^>]*stroke-opacity="0.6"\/>/g) ?? [];
  expect(ticks.length).toBeGreaterThan(500);
  expect(ticks.length).toBeLessThan(2 * 2 * WIDTH);
  expect(new Set(ticks).size).toBe(ticks.length);
});

it("without a point there are axes and no curve", () => {
  const svg = drawing({ series: [] });
  expect(paths(svg, "stroke-width")).toEqual([]);
  expect(svg).not.toContain("NaN");
});

it("the points leave in full precision", () => {
  expect(curvesCsv([{ ...A, y: [1 / 3, null, 1] }], "Train clock (s)", "Accuracy").split("\r\n")).toEqual([
    "curve,Train clock (s),Accuracy,low,high",
    `A <1>,0,${1 / 3},0.1,0.3`,
    "A <1>,100,1,0.9,1.1",
    "",
  ]);
});

describe("what lies outside of the view", () => {
  const style = variantStyle(0);
  const marked = {
    target: { value: 0.95, label: "target 95%" },
    crossings: [
      { x: 10, style },
      { x: 90, style },
    ],
    evaluations: [{ x: [0, 20, 90], style }],
  };
  const ticks = (svg: string) => svg.match(/stroke-opacity="0.6"\/>/g)?.length ?? 0;

  it("is not marked: evaluations and runs beyond a zoom, a target above it", () => {
    const whole = drawing(marked);
    expect([ticks(whole), whole.match(/<circle/g)?.length]).toEqual([3, 2]);
    const right = drawing({ ...marked, zoom: [80, 100] });
    expect([ticks(right), right.match(/<circle/g)?.length]).toEqual([1, 1]);
    const low = drawing({ ...marked, zoom: [0, 50] }); // where the curve is below the target
    expect(low).not.toContain("target 95%");
    expect(ticks(low)).toBe(2);
  });

  it("is the label of a target at the upper edge: it stands below its line", () => {
    const heights = (svg: string) => {
      const line = /y1="([\d.]+)" y2="[\d.]+" stroke="#3a4149" stroke-dasharray/.exec(svg)?.[1];
      const label = /y="([\d.]+)" text-anchor="end" paint-order/.exec(svg)?.[1];
      return Number(label) - Number(line);
    };
    expect(heights(drawing({ target: { value: 0.5, label: "t" } }))).toBeLessThan(0);
    expect(heights(drawing({ target: { value: 1.0, label: "t" }, clamp: [0, 1] }))).toBeGreaterThan(0);
  });
});

it("the names of many curves take several lines, within the width, and the drawing grows with them", () => {
  const series = Array.from({ length: 12 }, (_, i) => ({ ...A, label: `Sync EASGD, period ${i}` }));
  const options = { title: "t", xTitle: "x", tickX: String, tickY: String };
  const few = chartSvg({ ...options, series: series.slice(0, 2) });
  const many = chartSvg({ ...options, series });
  const names = [...many.svg.matchAll(/<text x="([\d.]+)" y="(\d+)">Sync EASGD/g)];
  expect(names).toHaveLength(12);
  expect(new Set(names.map(([, , y]) => y)).size).toBeGreaterThan(2);
  for (const [, x] of names) expect(Number(x)).toBeLessThan(WIDTH - 60);
  expect(many.height).toBeGreaterThan(few.height);
});

it("one point, or one value everywhere, gives a drawing without a division by nothing", () => {
  for (const [x, y] of [
    [[5], [0.5]],
    [
      [1, 2],
      [0, 0],
    ],
  ])
    expect(drawing({ series: [{ label: "A", style: variantStyle(0), x: x ?? [], y: y ?? [] }] })).not.toMatch(
      /NaN|Infinity/,
    );
});

it("words of the axes that XML would read as marks leave as words", () => {
  const svg = drawing({ title: 'a < b & "c"', xTitle: "<x>", tickY: () => "&" });
  const words = [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);
  expect(words).toEqual(expect.arrayContaining(["a &lt; b &amp; &quot;c&quot;", "&lt;x&gt;", "&amp;"]));
  expect(words).toHaveLength(svg.match(/<text/g)?.length ?? 0);
});

it("the values that a chart marks below are written there, as far as they are in view and have room", () => {
  const below = (changes: Partial<Drawing>) =>
    [...drawing(changes).matchAll(/y="332" text-anchor="middle">([^<]*)</g)].map(([, text]) => text);
  const workers = { ...A, x: [2, 4, 16], low: undefined, high: undefined };
  const marked = { series: [workers], marksX: [2, 4, 16], tickX: String };
  expect(below(marked)).toEqual(["2", "4", "16"]);
  expect(below({ ...marked, zoom: [1, 5] })).toEqual(["2", "4"]);
  expect(below({ ...marked, marksX: undefined })).toEqual(["2", "4", "6", "8", "10", "12", "14", "16"]);
  const many = Array.from({ length: 129 }, (_, i) => i + 2);
  const kept = below({ ...marked, series: [{ ...workers, x: [2, 66, 130] }], marksX: many }).map(Number);
  expect(kept.length).toBeGreaterThan(3);
  expect(kept.length).toBeLessThan(40);
  expect(many).toEqual(expect.arrayContaining(kept));
});
