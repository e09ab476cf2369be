import type { RankTimeline, StragglerView, TimelineView } from "@/lib/client/types.gen";
import { formatBytes, formatCount, formatPercent } from "@/lib/format/numbers";
import { formatSeconds } from "@/lib/format/time";
import { type Frame, type Hit, roomFor } from "./timeline-layout";

/** What the trace says about who waits for whom. */
export function stragglerWords(found: StragglerView | null | undefined): string | undefined {
  if (!found) return undefined;
  const { rank, longest, steps, waited, consistent } = found;
  const often = `in ${formatCount(longest)} of ${formatCount(steps)} steps`;
  const wait =
    waited === null
      ? ""
      : `; the others waited ${formatPercent(waited, waited < 0.0995 ? 1 : 0)} of the time for it`;
  if (consistent) return `Rank ${rank} computed longest ${often}${wait}.`;
  return `No single rank is the slowest: rank ${rank}, ${
    waited === null ? "the slowest most often" : "the most awaited"
  }, computed longest ${often}${wait}.`;
}

/** What is under the pointer, in words. */
export function hitWords(hit: Hit, answer: TimelineView): readonly string[] {
  const unit = answer.simulated ? " virtual" : "";
  const phases = answer.phases;
  if (hit.kind === "bin") {
    const step = (answer.stop - answer.start) / (answer.bins || 1);
    const from = answer.start + hit.bin * step;
    const shares = phases.flatMap((phase, i) => {
      const share = (hit.rank.shares[i]?.[hit.bin] ?? 0) / 1000;
      return share > 0 ? [`${phase} ${formatPercent(share, share < 0.1 ? 1 : 0)}`] : [];
    });
    return [
      `${nameOf(hit.rank)}, ${formatSeconds(step)}${unit} from ${formatSeconds(from)}`,
      shares.join(", ") || "nothing recorded",
    ];
  }
  const { rank, index } = hit;
  const began = rank.began[index] ?? 0;
  const phase = phases[rank.phase[index] ?? -1] ?? "";
  const operation = answer.operations[rank.operation[index] ?? -1];
  const step = rank.step[index] ?? 0;
  return [
    `${nameOf(rank)} · ${phase}${operation ? ` (${operation})` : ""}`,
    [
      formatSeconds((rank.ended[index] ?? 0) - began) + unit,
      ...(step > 0 && rank.role === "worker" ? [`step ${formatCount(step)}`] : []),
      `from ${formatSeconds(began)}`,
    ].join(" · "),
  ];
}

/** How a rank is called. */
export function nameOf(rank: Pick<RankTimeline, "rank" | "role">): string {
  return `${rank.role === "server" ? "server" : "rank"} ${rank.rank}`;
}

/** What is shown, and how much of it: for the foot of the drawing, and for a screen reader. */
export function extentWords(answer: TimelineView, frame: Frame): string {
  const start = answer.start;
  const stop = answer.stop;
  const unit = answer.simulated ? "virtual seconds, simulated" : "measured";
  const whole = start <= 0 && stop >= answer.span;
  const what = whole
    ? `the whole ${formatSeconds(answer.span)}`
    : `${formatSeconds(stop - start)} from ${formatSeconds(start)} of ${formatSeconds(answer.span)}`;
  const bins = answer.bins;
  const detail = bins
    ? `each column is ${formatSeconds((stop - start) / bins)}, divided by the shares of its phases`
    : messageWords(answer, roomFor(frame));
  return `${what} (${unit}); ${detail}`;
}

function messageWords(answer: TimelineView, room: number): string {
  const { sent, bytes, left_out } = answer.messages;
  const size = `${formatBytes(bytes.reduce((sum, each) => sum + each, 0))}`;
  if (left_out > 0) return `${formatCount(left_out)} messages: zoom in to see them`;
  if (sent.length > 0)
    return sent.length <= room
      ? `${formatCount(sent.length)} messages of ${size} as arrows`
      : `${formatCount(sent.length)} messages of ${size}: zoom in to see them`;
  const meetings = answer.meetings.entered.length;
  if (meetings === 0) return "no message between two ranks in view";
  return meetings <= room
    ? `dashed: the last rank enters a collective operation, ${formatCount(meetings)} in view`
    : `${formatCount(meetings)} collective operations: zoom in to see who enters last`;
}
