import { formatNumber, NONE } from "./numbers";

/** A duration: 3.2 µs, 845 ms, 12.3 s, 2 min 05 s, 1 h 04 min. */
export function formatSeconds(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return NONE;
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size < 1e-7) return `${formatNumber(value * 1e9)} ns`;
  if (size < 1e-3) return `${formatNumber(value * 1e6)} µs`;
  if (size < 1) return `${formatNumber(value * 1e3)} ms`;
  if (size < 100) return `${formatNumber(value)} s`;
  const whole = Math.round(size);
  const pad = (n: number) => String(n).padStart(2, "0");
  const sign = value < 0 ? "-" : "";
  if (whole < 3600) return `${sign}${Math.floor(whole / 60)} min ${pad(whole % 60)} s`;
  return `${sign}${Math.floor(whole / 3600)} h ${pad(Math.floor((whole % 3600) / 60))} min`;
}

/** How long ago, in one unit. */
export function formatAge(then: string, now: number): string {
  const seconds = Math.max(0, (now - Date.parse(then)) / 1000);
  if (seconds < 10) return "just now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

/** Local date and time, to the second. */
export function formatMoment(at: string | null | undefined): string {
  if (!at) return NONE;
  const date = new Date(at);
  const pad = (n: number) => String(n).padStart(2, "0");
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${day} ${formatClock(at)}`;
}

/** A predicted time with its 90% interval, local: "about 14:05 (13:58 to 14:20)", with the day if it is another. */
export function formatSpan(span: { at: string; earliest: string; latest: string }, now: number): string {
  const today = new Date(now).toDateString();
  const clock = (text: string) => {
    const date = new Date(text);
    const time = formatClock(text).slice(0, 5);
    if (date.toDateString() === today) return time;
    const day = formatMoment(text).slice(date.getFullYear() === new Date(now).getFullYear() ? 5 : 0, 10);
    return `${day} ${time}`;
  };
  if (Date.parse(span.at) <= now) return "now";
  const wide = Date.parse(span.latest) - Date.parse(span.earliest) >= 60_000;
  return `about ${clock(span.at)}${wide ? ` (${clock(span.earliest)} to ${clock(span.latest)})` : ""}`;
}

/** Times of the server's phrases, "14:05 UTC" or "2026-06-02 14:05 UTC", in the time zone of the reader. */
export function withLocalTimes(phrase: string, now: number): string {
  return phrase.replace(
    /(?:(\d{4}-\d\d-\d\d) )?\b(\d\d:\d\d) UTC\b/g,
    (_, day: string | undefined, time: string) => {
      const at = `${day ?? new Date(now).toISOString().slice(0, 10)}T${time}:00Z`;
      const local = formatMoment(at).slice(0, 16);
      return new Date(at).toDateString() === new Date(now).toDateString() ? local.slice(11) : local;
    },
  );
}

/** Local time of day, to the second. */
export function formatClock(at: string): string {
  return new Date(at).toLocaleTimeString("en-GB", { hour12: false });
}
