import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { apart } from "@/lib/theme/apart";
import { colorOf, PHASES, VARIANT_DARK, VARIANT_LIGHT, variantStyle } from "@/lib/theme/palette";

type Rgb = [number, number, number];
type Matrix = [Rgb, Rgb, Rgb];

/** Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB. */
const EYES: Record<string, Matrix> = {
  usual: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function linear(hex: string): Rgb {
  const part = (at: number) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [part(1), part(3), part(5)];
}

function seen([r, g, b]: Rgb, eye: Matrix): Rgb {
  const row = (m: Rgb) => Math.min(1, Math.max(0, m[0] * r + m[1] * g + m[2] * b));
  return [row(eye[0]), row(eye[1]), row(eye[2])];
}

/** OKLab (Ottosson 2020). */
function lab([r, g, b]: Rgb): Rgb {
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function contrast(left: string, right: string): number {
  const luminance = ([r, g, b]: Rgb) => 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  const [a, b] = [luminance(linear(left)), luminance(linear(right))];
  return Math.max(a, b) / Math.min(a, b);
}

describe.each([
  ["light", VARIANT_LIGHT, "#ffffff"],
  ["dark", VARIANT_DARK, "#151a1e"],
])("variant colours, %s", (_, colors, background) => {
  it.each(Object.keys(EYES))("stay apart for %s eyes", (name) => {
    const eye = EYES[name] as Matrix;
    const labs = colors.map((color) => lab(seen(linear(color), eye)));
    for (const [i, left] of labs.entries()) {
      for (const right of labs.slice(i + 1)) {
        const distance = Math.hypot(left[0] - right[0], left[1] - right[1], left[2] - right[2]);
        expect(distance).toBeGreaterThan(0.08);
      }
    }
  });

  it("stand out from the page (WCAG 1.4.11)", () => {
    for (const color of colors) expect(contrast(color, background)).toBeGreaterThanOrEqual(3);
  });
});

describe.each(["light", "dark"])("the colour of rebuilding, %s", (scheme) => {
  const tokens = readFileSync(`${import.meta.dirname}/../../src/lib/theme/tokens.css`, "utf8");
  const [light = "", dark = ""] = tokens.split("@media screen");
  const colorOfPhase = (phase: string) =>
    new RegExp(`--phase-${phase}: (#[0-9a-f]{6})`).exec(scheme === "light" ? light : dark)?.[1] ?? "";

  it.each(Object.keys(EYES))("stands apart from those of all other phases for %s eyes", (name) => {
    const [own, ...others] = ["rebuild", ...PHASES.filter((phase) => phase !== "rebuild")].map((phase) =>
      lab(seen(linear(colorOfPhase(phase)), EYES[name] as Matrix)),
    );
    for (const other of others)
      expect(Math.hypot(...other.map((part, i) => part - (own?.[i] ?? 0)))).toBeGreaterThan(0.12);
  });
});

it("thirty variants have thirty looks, and a variant's never changes", () => {
  const looks = Array.from({ length: 30 }, (_, i) => variantStyle(i)).map(
    (s) => `${s.light} ${s.dash.join()}`,
  );
  expect(new Set(looks).size).toBe(30);
  expect(variantStyle(3)).toEqual(variantStyle(3));
});

it("a variant has the colour that the server says, and without it that of its position", () => {
  const one = { variants: ["a", "b"], colors: [7, 2] };
  const other = { variants: ["b", "c"], colors: [2, 0] };
  expect([colorOf(one, "a"), colorOf(one, "b"), colorOf(other, "b")]).toEqual([7, 2, 2]);
  expect(colorOf({ variants: ["a", "b"] }, "b")).toBe(1);
  expect(colorOf({ variants: ["a"] }, "unknown")).toBe(0);
});

it("no two variants of a page have one style while there are others", () => {
  expect(apart([3, 3, 33, 0])).toEqual([3, 0, 1, 2]);
  const all = apart(Array(30).fill(4));
  expect(new Set(all.map((place) => JSON.stringify(variantStyle(place)))).size).toBe(30);
  expect(apart(Array(31).fill(4))).toHaveLength(31);
});
