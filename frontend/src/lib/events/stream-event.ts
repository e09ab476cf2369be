/** The vocabulary of the event stream. Events are hints: ids, and the few numbers that a list shows. */
export type StreamEvent =
  | { kind: "experiment"; id: string }
  | { kind: "run"; id: string; experiment: string; state: string; attempt: number }
  | {
      kind: "points";
      id: string;
      experiment: string;
      samples: number | null;
      accuracy: number | null;
      loss: number | null;
      clock: number | null;
    }
  | { kind: "logs"; id: string; experiment: string }
  | { kind: "clusters" }
  | { kind: "reset" };

export const EVENT_KINDS = ["experiment", "run", "points", "logs", "clusters", "reset"] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

function parse(data: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const number = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) ? value : null;

/** Read one event; undefined where it lacks the id that makes it useful. */
export function readEvent(kind: EventKind, data: string): StreamEvent | undefined {
  if (kind === "clusters" || kind === "reset") return { kind };
  const body = parse(data);
  const id = text(body.id);
  if (!id) return undefined;
  const experiment = text(body.experiment_id);
  if (kind === "experiment") return { kind, id };
  if (kind === "logs") return { kind, id, experiment };
  if (kind === "run")
    return { kind, id, experiment, state: text(body.state), attempt: number(body.attempt) ?? 0 };
  return {
    kind,
    id,
    experiment,
    samples: number(body.samples),
    accuracy: number(body.accuracy),
    loss: number(body.loss),
    clock: number(body.clock),
  };
}
