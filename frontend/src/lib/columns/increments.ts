import type { Band, BandAnswer } from "@/lib/client/types.gen";

const sameBand = (one: Band) => (other: Band) =>
  one.metric === other.metric &&
  one.variant === other.variant &&
  one.cluster === other.cluster &&
  one.workers === other.workers;

/** The columns that an increment leaves of those before it, around its own. */
function joined<T>(before: readonly T[], own: readonly T[], head: number, tail: number): T[] {
  return [...before.slice(0, head), ...own, ...before.slice(before.length - tail)];
}

function whole(band: Band, before: Band | undefined): Band {
  const [head, tail] = [band.kept_before ?? 0, band.kept_after ?? 0];
  if (!before || head + tail === 0) return band;
  return {
    ...band,
    x: joined(before.x, band.x, head, tail),
    mean: joined(before.mean, band.mean, head, tail),
    low: joined(before.low, band.low, head, tail),
    high: joined(before.high, band.high, head, tail),
    n: joined(before.n, band.n, head, tail),
    kept_before: 0,
    kept_after: 0,
  };
}

/** An answer with whole bands: as it came, or put together with the one that it continues. */
export function applied(answer: BandAnswer, before: BandAnswer | undefined): BandAnswer {
  if (before?.version && before.version === answer.version) return before;
  if (!answer.since || before?.version !== answer.since) return answer;
  const changed = answer.bands.map((band) => whole(band, before.bands.find(sameBand(band))));
  const kept = before.bands.map((band) => changed.find(sameBand(band)) ?? band); // the very same: not drawn again
  const fresh = changed.filter((band) => !before.bands.some(sameBand(band)));
  return { ...answer, since: null, bands: [...kept, ...fresh] };
}
