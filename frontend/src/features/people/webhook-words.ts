import type { WebhookEvent, WebhookView } from "@/lib/client/types.gen";
import { formatAge } from "@/lib/format/time";

/** What a webhook may be told of, with words for a form. */
export const EVENTS: readonly (readonly [WebhookEvent, string])[] = [
  ["run.started", "run started"],
  ["run.succeeded", "run succeeded"],
  ["run.failed", "run failed"],
  ["run.cancelled", "run cancelled"],
  ["experiment.succeeded", "experiment succeeded"],
  ["experiment.failed", "experiment failed"],
  ["experiment.cancelled", "experiment cancelled"],
];

/** Events that the form begins with. */
export const USUAL: readonly WebhookEvent[] = [
  "run.failed",
  "experiment.succeeded",
  "experiment.failed",
  "experiment.cancelled",
];

/** Events by what they are about: "run started, failed; experiment failed". */
export function eventWords(events: readonly WebhookEvent[]): string {
  const parts = ["run", "experiment"].map((about) => {
    const ends = events.filter((event) => event.startsWith(`${about}.`)).map((event) => event.split(".")[1]);
    return ends.length > 0 ? `${about} ${ends.join(", ")}` : "";
  });
  return parts.filter(Boolean).join("; ");
}

/** Whether a webhook works, as a tone, and in words. */
export function webhookState(webhook: WebhookView): { words: string; tone: "good" | "bad" | "off" } {
  if (!webhook.active) return { words: webhook.off_why ? `off: ${webhook.off_why}` : "off", tone: "off" };
  if (webhook.last_delivered === null) return { words: "on", tone: "good" };
  return webhook.last_delivered ? { words: "on", tone: "good" } : { words: "on, failing", tone: "bad" };
}

/** What came of the last attempt, what waits, and what was left out. */
export function lastWords(webhook: WebhookView, now: number): string {
  const last = webhook.last_at
    ? `${webhook.last_why}, ${formatAge(webhook.last_at, now)}`
    : "nothing sent yet";
  const waiting = webhook.waiting > 0 ? `; ${webhook.waiting} waiting` : "";
  const discarded = webhook.dropped > 0 ? `; ${webhook.dropped} discarded` : "";
  return last + waiting + discarded;
}

/** Why the form does not send an address, as far as a browser can tell; undefined: the server decides. */
export function urlFault(url: string): string | undefined {
  if (url === "") return undefined;
  if (!/^https?:\/\/[^/]/.test(url)) return "An address such as https://example.org/hook";
  if (/[^!-~]|\\/.test(url)) return "Printable ASCII without blanks";
  return undefined;
}
