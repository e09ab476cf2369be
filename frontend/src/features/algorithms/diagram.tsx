import { Button } from "@mantine/core";
import { useReducedMotion } from "@mantine/hooks";
import { type CSSProperties, useState } from "react";
import { DrawingMenu } from "@/lib/charts/drawing-menu";
import type { Sheet } from "@/lib/charts/sheet-table";
import { useWidth } from "@/lib/charts/use-width";
import { formatNumber } from "@/lib/format/numbers";
import screen from "@/lib/ui/screen.module.css";
import { TableRegion } from "@/lib/ui/table-region";
import styles from "./algorithms.module.css";
import { type Drawn, PHASE_NAMES, WEIGHT_BYTES } from "./figures";

const [LEFT, RIGHT, TOP, ROW, BAR] = [96, 14, 6, 40, 14];
const LEAST = 640;
const AXIS = 22;
/** Seconds that a gradient takes on the screen. */
const SLOWLY = 1.6;

/** Who sends what when: the phases of every rank, and messages as arrows from the link of one to that of another. */
export function Diagram({ drawn, title }: { drawn: Drawn; title: string }) {
  const still = useReducedMotion();
  const [paused, setPaused] = useState(false);
  const [round, setRound] = useState(0);
  const [host, width] = useWidth<HTMLElement>();
  const wide = Math.max(width, LEAST);
  const x = (time: number) => LEFT + (time / drawn.end) * (wide - LEFT - RIGHT);
  const y = (row: number) => TOP + row * ROW + ROW / 2;
  const bottom = TOP + drawn.rows.length * ROW;
  const cycle = (drawn.end / 1000) * SLOWLY;
  return (
    <>
      <p className={screen.intro}>{wordsOf(drawn)}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section ref={host} className={styles.diagram} aria-label={`Diagram of ${title}`} tabIndex={0}>
        <svg
          role="img"
          aria-label={`Phases of ${drawn.rows.length} rows and ${drawn.messages.length} messages; the table below has them.`}
          width={wide}
          height={bottom + AXIS}
          className={paused ? styles.paused : undefined}
          data-testid="diagram"
        >
          <defs>
            <marker
              id="tip"
              viewBox="0 0 6 6"
              refX="5.5"
              refY="3"
              markerWidth="6"
              markerHeight="6"
              orient="auto"
            >
              <path d="M0 0 6 3 0 6z" fill="var(--hk-ink)" />
            </marker>
          </defs>
          {drawn.rows.map((name, row) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity but their place
            <g key={row}>
              <text x={0} y={y(row) + 4}>
                {name}
              </text>
              <line x1={LEFT} x2={wide - RIGHT} y1={y(row)} y2={y(row)} stroke="var(--hk-line-2)" />
              {(drawn.phases[row] ?? []).map(([phase, began, ended]) => (
                <rect
                  key={began}
                  x={x(began)}
                  y={y(row) - BAR / 2}
                  width={Math.max(0.5, x(ended) - x(began))}
                  height={BAR}
                  fill={`var(--phase-${PHASE_NAMES[phase]})`}
                >
                  <title>{`${name}: ${PHASE_NAMES[phase]}, ${inGradients(began)} to ${inGradients(ended)}`}</title>
                </rect>
              ))}
            </g>
          ))}
          {drawn.messages.map(([from, to, began, ended]) => (
            <line
              key={`${from} ${to} ${began}`}
              {...{ x1: x(began), y1: y(from), x2: x(ended), y2: y(to) }}
              stroke="var(--hk-ink)"
              strokeWidth={1.2}
              markerEnd="url(#tip)"
            />
          ))}
          {Array.from({ length: Math.floor(drawn.end / 1000) + 1 }, (_, n) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a mark is its place
            <text key={n} x={x(n * 1000)} y={bottom + 15} textAnchor="middle">
              {n}
            </text>
          ))}
          {!still && (
            <g key={round}>
              <line
                className={styles.cursor}
                {...{ x1: LEFT, x2: LEFT, y1: TOP, y2: bottom }}
                style={moving({ "--dx": `${x(drawn.end) - LEFT}px` }, 0, cycle)}
                onAnimationEnd={() => setRound(round + 1)}
              />
              {drawn.messages.map(([from, to, began, ended]) => (
                <circle
                  key={`${from} ${to} ${began}`}
                  className={styles.flying}
                  {...{ cx: x(began), cy: y(from), r: 4.5 }}
                  style={moving(
                    { "--dx": `${x(ended) - x(began)}px`, "--dy": `${y(to) - y(from)}px` },
                    (began / 1000) * SLOWLY,
                    ((ended - began) / 1000) * SLOWLY,
                  )}
                />
              ))}
            </g>
          )}
        </svg>
      </section>
      <div className={styles.key}>
        {KEY.map((phase) => (
          <span key={phase}>
            <i style={{ background: `var(--phase-${phase})` }} /> {phase}
          </span>
        ))}
        <span>→ message</span>
        <DrawingMenu of={`Diagram of ${title}`} host={host} sheet={() => messageSheet(drawn)} />
        {!still && (
          <Button size="compact-xs" variant="default" onClick={() => setPaused(!paused)}>
            {paused ? "Play" : "Pause"}
          </Button>
        )}
      </div>
      <details className={styles.plain}>
        <summary>Messages as a table</summary>
        <MessageTable drawn={drawn} />
      </details>
    </>
  );
}

const KEY = ["data", "compute", "communicate", "update", "idle"];

function moving(way: Record<string, string>, after: number, seconds: number): CSSProperties {
  return { ...way, animationDelay: `${after}s`, animationDuration: `${seconds}s` } as CSSProperties;
}

const HEAD = ["From", "To", "Sent", "Arrives", "Size"];

/** The messages in the order in which they are sent; times in gradients. */
function messageSheet(drawn: Drawn): Sheet {
  const rows = [...drawn.messages].sort((a, b) => a[2] - b[2] || a[0] - b[0]);
  return {
    head: HEAD,
    rows: rows.map(([from, to, began, ended, bytes]) => [
      drawn.rows[from] ?? "",
      drawn.rows[to] ?? "",
      inGradients(began),
      inGradients(ended),
      `${formatNumber(bytes / WEIGHT_BYTES)} |W|`,
    ]),
  };
}

function MessageTable({ drawn }: { drawn: Drawn }) {
  return (
    <TableRegion label="Messages of the diagram">
      <table data-testid="messages">
        <thead>
          <tr>
            {HEAD.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {messageSheet(drawn).rows.map((cells) => (
            <tr key={cells.join(" ")}>
              {cells.map((cell, at) => (
                <td key={HEAD[at]}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableRegion>
  );
}

function inGradients(time: number): string {
  return (time / 1000).toFixed(2);
}

function wordsOf({ settings, rows, messages }: Drawn): string {
  const given = Object.entries(settings).map(([name, value]) => `${name} = ${String(value)}`);
  const workers = rows.filter((row) => row.startsWith("worker")).length;
  const beside = rows.length > workers ? ` and a ${rows[workers]}` : "";
  const told = given.length > 0 ? ` with ${given.join(", ")}` : "";
  return (
    `A run in virtual time${told}: ${workers} workers${beside}, ${messages.length} messages. The unit is the mean time ` +
    "of a gradient; a message of all weights takes a quarter of it. Simulated, not measured."
  );
}
