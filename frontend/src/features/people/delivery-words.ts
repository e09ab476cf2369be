import type { DeliveryView } from "@/lib/client/types.gen";
import { NONE } from "@/lib/format/numbers";
import { formatAge, formatMoment } from "@/lib/format/time";

type Told = Pick<DeliveryView, "event" | "state" | "attempts" | "status" | "why" | "next_at" | "ended_at">;

/** "run failed", or the test. */
export function deliveryEvent({ event }: Pick<Told, "event">): string {
  return event === "webhook.test" ? "test" : event.replace(".", " ");
}

/** What has become of a delivery, as a tone, and in words. */
export function deliveryState({ state, attempts }: Pick<Told, "state" | "attempts">): {
  words: string;
  tone: "quiet" | "warn" | "good" | "bad" | "off";
} {
  switch (state) {
    case "delivered":
      return { words: "delivered", tone: "good" };
    case "failed":
      return { words: "failed", tone: "bad" };
    case "discarded":
      return { words: "discarded", tone: "off" };
    case "waiting":
      return attempts > 0 ? { words: "retrying", tone: "warn" } : { words: "waiting", tone: "quiet" };
  }
}

/** When the next attempt is due, or when it ended. */
export function deliveryTime(told: Pick<Told, "state" | "next_at" | "ended_at">, now: number): string {
  const { state, next_at, ended_at } = told;
  if (state !== "waiting") return ended_at ? formatAge(ended_at, now) : "";
  if (!next_at || Date.parse(next_at) <= now) return "next attempt now";
  return `next attempt ${formatMoment(next_at)}`;
}

/** What the receiver answered last: "status 500; redirects are not followed", or why there was no answer. */
export function deliveryOutcome({
  attempts,
  status,
  why,
}: Pick<Told, "attempts" | "status" | "why">): string {
  if (why) return why;
  if (status !== null) return `status ${status}`;
  return attempts > 0 ? "no answer" : NONE;
}
