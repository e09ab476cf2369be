/** The texts of the ticks of an axis: the one place that sees all of them together. */
import { formatNumber } from "@/lib/format/numbers";
import type uPlot from "./plot-type";

type Format = (value: number) => string;
type Ticks = readonly (number | null)[];

/** The number at the beginning of a text, with its separators of thousands. */
const NUMBER = /^-?[0-9][0-9,]*(\.[0-9]+)?(e-?[0-9]+)?/;
/** Digits that a tick usually has, and at most. */
const USUAL = 3;
const MOST = 12;
/** How far formats round: to three digits, or to one decimal. */
const ROUNDED = 0.006;
const DECIMAL = 0.0501;
/** How far a text may be from its tick, as a share of the distance of two ticks. */
const EXACT = 0.05;

/**
 * A text for each tick, as `format` writes it. Where it would write two neighbours alike, or one that is not at its
 * tick, the numbers get more digits, all of the axis as many; where that is not possible, as of a time in words, only
 * the first of equal neighbours has a text. A tick may be null, without a text.
 */
export function tickTexts(ticks: Ticks, format: Format): string[] {
  const texts = ticks.map((tick) => (tick === null ? "" : format(tick)));
  const step = least(ticks);
  let rough = alike(texts) || texts.some((text, i) => isOff(text, ticks[i] ?? null, step));
  for (let digits = USUAL + 1; rough && digits <= MOST; digits += 1) {
    const finer = texts.map((text, i) => withDigits(text, ticks[i] ?? null, digits));
    if (finer.includes(undefined)) break;
    rough = alike(finer) || finer.some((text, i) => isOff(text ?? "", ticks[i] ?? null, step));
    if (!rough) return finer as string[];
  }
  return alike(texts) ? once(texts) : texts;
}

/** The least distance of two neighbours. */
function least(ticks: Ticks): number {
  const values = ticks.filter((tick) => tick !== null);
  return Math.min(...values.slice(1).map((value, i) => Math.abs(value - (values[i] ?? value))));
}

/** Whether a text equals the one before it that is not empty. */
function alike(texts: readonly (string | undefined)[]): boolean {
  const written = texts.filter(Boolean);
  return written.some((text, i) => i > 0 && text === written[i - 1]);
}

function once(texts: readonly string[]): string[] {
  let last = "";
  return texts.map((text) => {
    const again = text === last;
    if (text) last = text;
    return again ? "" : text;
  });
}

/** The number of a text, and its unit, a power of ten ("1.02 kB", "93%"); undefined: it is none that is known. */
function readTick(text: string, value: number): { number: string; read: number; unit: number } | undefined {
  const number = NUMBER.exec(text)?.[0];
  const read = Number(number?.replaceAll(",", ""));
  if (number === undefined || read === 0 || /[0-9]/.test(text.slice(number.length))) return undefined;
  const unit = 10 ** Math.round(Math.log10(value / read));
  const exact = value / unit;
  const near = Math.abs(exact - read) <= Math.max(ROUNDED * Math.abs(exact), DECIMAL);
  return near ? { number, read, unit } : undefined;
}

function isOff(text: string, value: number | null, step: number): boolean {
  const known = value ? readTick(text, value) : undefined;
  return known !== undefined && Math.abs(known.read * known.unit - (value ?? 0)) > EXACT * step;
}

/** A text with more digits of its number; undefined if that is not known. */
function withDigits(text: string, value: number | null, digits: number): string | undefined {
  if (!value || text === "") return text;
  const known = readTick(text, value);
  return known && formatNumber(value / known.unit, digits) + text.slice(known.number.length);
}

/** Room that a number below an axis takes, px. */
const ROOM = 28;

/**
 * Of some values, ascending, those in view whose numbers do not touch; the last of these is always among them. What is
 * out of view would be written beside the chart.
 */
export function apart(
  plot: Pick<uPlot, "valToPos">,
  values: readonly number[],
  low: number,
  high: number,
): number[] {
  const kept: number[] = [];
  let right = Number.POSITIVE_INFINITY;
  for (const value of [...values].reverse()) {
    if (value < low || value > high) continue;
    const left = plot.valToPos(value, "x");
    if (right - left < ROOM) continue;
    kept.unshift(value);
    right = left;
  }
  return kept;
}

/** Where uPlot writes numbers below an axis: at some values, as far as there is room. */
export const marksInView =
  (marks: readonly number[]) =>
  (plot: Pick<uPlot, "valToPos">, _axis: number, low: number, high: number): number[] =>
    apart(plot, marks, low, high);
