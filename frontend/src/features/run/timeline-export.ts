import type { Sheet } from "@/lib/charts/sheet-table";
import type { TimelineView } from "@/lib/client/types.gen";
import { escaped, px, titled } from "@/lib/export/chart-svg";
import type { Vector } from "@/lib/export/picture";
import { formatPercent } from "@/lib/format/numbers";
import { PHASES } from "@/lib/theme/palette";
import type { Window } from "./asked-window";
import { arrowsOf, boxesOf, frameOf, phasesInView, rowTop, xOf } from "./timeline-layout";
import { nameOf } from "./timeline-words";

/** Rows of a table of a window: of more, the first ones, and how many there are. */
export const MOST_ROWS = 2000;
const WIDTH = 960;

type Row = readonly string[];

const seconds = (value: number) => String(Number(value.toPrecision(9)));

/** The phases of all ranks in a window, in the order of their begin; where they are merged, their shares in each bin. */
function phaseRows(answer: TimelineView, [from, to]: Window): Row[] {
  const rows: { at: number; row: Row }[] = [];
  const step = (answer.stop - answer.start) / (answer.bins || 1);
  for (const rank of answer.ranks) {
    for (const [phase, shares] of rank.shares.entries()) {
      for (const [bin, share] of shares.entries()) {
        const at = answer.start + bin * step;
        if (share > 0 && at + step > from && at < to)
          rows.push({
            at,
            row: [
              nameOf(rank),
              `${answer.phases[phase] ?? ""}, ${formatPercent(share / 1000)}`,
              seconds(at),
              seconds(at + step),
              "",
            ],
          });
      }
    }
    for (const [i, began] of rank.began.entries()) {
      const ended = rank.ended[i] ?? began;
      if (ended <= from || began >= to) continue;
      const operation = answer.operations[rank.operation[i] ?? -1];
      const phase = answer.phases[rank.phase[i] ?? -1] ?? "";
      rows.push({
        at: began,
        row: [
          nameOf(rank),
          operation ? `${phase} (${operation})` : phase,
          seconds(began),
          seconds(ended),
          "",
        ],
      });
    }
  }
  return rows.sort((a, b) => a.at - b.at).map(({ row }) => row);
}

function messageRows({ messages }: TimelineView, [from, to]: Window): Row[] {
  const { sender, receiver, sent, received, bytes } = messages;
  return sent.flatMap((began, i) => {
    const ended = received[i] ?? began;
    if (ended < from || began > to) return [];
    return [
      [
        `rank ${sender[i]} to ${receiver[i]}`,
        "message",
        seconds(began),
        seconds(ended),
        String(bytes[i] ?? ""),
      ],
    ];
  });
}

/** Phases and messages of the part in view, at most so many. */
export function timelineSheet(answer: TimelineView, window: Window, most = MOST_ROWS): Sheet {
  const all = [...phaseRows(answer, window), ...messageRows(answer, window)];
  const unit = answer.simulated ? "virtual s" : "s";
  const more = all.length - most;
  const rest = more > 0 ? [[`${more} more: zoom in to have them`, "", "", "", ""]] : [];
  return {
    head: ["rank", "phase", `begins, ${unit}`, `ends, ${unit}`, "bytes"],
    rows: [...all.slice(0, most), ...rest],
  };
}

/** The part in view, for a paper. */
export function timelineSvg(answer: TimelineView, window: Window, title: string): Vector {
  const look = getComputedStyle(document.documentElement);
  const ink = PHASES.map((phase) => look.getPropertyValue(`--phase-${phase}`).trim() || "#808b95");
  const frame = frameOf(answer.ranks.length, WIDTH);
  const down = 34;
  const rows = answer.ranks.flatMap((rank, position) => [
    `<text x="16" y="${px(down + rowTop(frame, position) + frame.row / 2 + 4)}">${escaped(nameOf(rank))}</text>`,
    ...boxesOf(rank, position, frame, window, answer).map(
      ({ phase, x, y, width, height }) =>
        `<rect x="${px(x)}" y="${px(down + y)}" width="${px(width)}" height="${px(height)}" fill="${ink[phase] ?? "#808b95"}"/>`,
    ),
  ]);
  const arrows = arrowsOf(answer, frame, window).map(
    ({ from, to }) =>
      `<line x1="${px(from[0])}" y1="${px(down + from[1])}" x2="${px(to[0])}" y2="${px(down + to[1])}" stroke="#3a4149"/>`,
  );
  const unit = answer.simulated ? " virtual s" : " s";
  const ends = window.map(
    (time, at) =>
      `<text x="${px(xOf(frame, window, time))}" y="${down + 18}" text-anchor="${at === 0 ? "start" : "end"}">${seconds(time)}${unit}</text>`,
  );
  const bottom = down + frame.height;
  const key = phasesInView(answer).map((phase, at) => {
    const x = frame.left + at * 110;
    return `<rect x="${x}" y="${bottom + 8}" width="10" height="10" fill="${ink[PHASES.indexOf(phase)]}"/><text x="${x + 14}" y="${bottom + 17}">${phase}</text>`;
  });
  return titled(title, 16, WIDTH, bottom + 30, [...rows, ...arrows, ...ends, ...key]);
}
