/** What stands for a figure that does not exist (yet). */
export const NONE = "–";

type Maybe = number | null | undefined;

function absent(value: Maybe): value is null | undefined {
  return value === null || value === undefined || Number.isNaN(value);
}

/** Three significant digits, no exponent between 0.001 and 100,000. */
export function formatNumber(value: Maybe, digits = 3): string {
  if (absent(value)) return NONE;
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e15) return value.toExponential(digits - 1).replace("e+", "e");
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return withDecimals(decimals).format(value);
}

/** Kept: to make one takes longer than to use it a hundred times. */
const formats: Intl.NumberFormat[] = [];
function withDecimals(decimals: number): Intl.NumberFormat {
  formats[decimals] ??= new Intl.NumberFormat("en", { maximumFractionDigits: decimals });
  return formats[decimals];
}

/** Whole numbers with thousands separators. */
export function formatCount(value: Maybe): string {
  return absent(value) ? NONE : Math.round(value).toLocaleString("en");
}

/** 12 k, 3.4 M: for axes and tight places. */
export function formatCompact(value: Maybe): string {
  if (absent(value)) return NONE;
  return value.toLocaleString("en", { notation: "compact", maximumFractionDigits: 1 });
}

/** A fraction as a percentage. */
export function formatPercent(value: Maybe, decimals = 1): string {
  return absent(value) ? NONE : `${(value * 100).toFixed(decimals)}%`;
}

/** A fraction that someone chose, such as a target, as the percentage they chose: 99.99% is not written 100%. */
export function formatChosenPercent(value: Maybe): string {
  return absent(value) ? NONE : `${Number((value * 100).toPrecision(9))}%`;
}

/** A fraction as the tick of an axis: as many decimals as it needs, so that 92.5% is not written 93%. */
export function formatPercentTick(value: number): string {
  return `${formatNumber(value * 100)}%`;
}

const BYTE_UNITS = ["B", "kB", "MB", "GB", "TB", "PB"] as const;

/** Bytes in powers of 1,000. */
export function formatBytes(value: Maybe): string {
  if (absent(value)) return NONE;
  let scaled = value;
  let unit = 0;
  while (Math.abs(scaled) >= 1000 && unit < BYTE_UNITS.length - 1) {
    scaled /= 1000;
    unit += 1;
  }
  return `${formatNumber(scaled)} ${BYTE_UNITS[unit] ?? "B"}`;
}

/** A ratio such as a speed-up; what is not 1 is not written 1.00. */
export function formatRatio(value: Maybe): string {
  if (absent(value)) return NONE;
  if (value >= 100) return `${formatCount(value)}×`;
  const beside = value !== 1 && value.toFixed(2) === "1.00";
  const decimals = beside ? Math.min(5, Math.ceil(-Math.log10(Math.abs(value - 1)))) : value < 10 ? 2 : 1;
  return `${value.toFixed(decimals)}×`;
}

/** A factor that nothing is claimed of, with about two digits: its distance from 1 is not known. */
export function formatEstimate(value: Maybe): string {
  return !absent(value) && value >= 0.95 && value < 1.05 ? value.toFixed(1) : formatFactor(value);
}

/** A factor in a sentence, with about two digits, or more where it would otherwise be rounded to 1. */
export function formatFactor(value: Maybe): string {
  if (absent(value)) return NONE;
  if (value >= 10) return formatCount(value);
  if (value < 0.1) return formatNumber(value, 2);
  for (let decimals = value >= 1 ? 1 : 2; decimals < 6; decimals += 1) {
    const text = value.toFixed(decimals);
    if (Number(text) !== 1 || value === 1) return text;
  }
  return value.toFixed(6);
}
