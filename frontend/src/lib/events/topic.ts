import type { StreamEvent } from "./stream-event";

/** What a subscriber wants: one experiment, one run, or (neither) everything. */
export interface Topic {
  readonly experiment?: string;
  readonly run?: string;
}

/** Whether an event is for those who want this. */
export function concerns(topic: Topic, event: StreamEvent): boolean {
  if (event.kind === "reset" || event.kind === "clusters") return true;
  if (topic.run) return event.id === topic.run;
  if (!topic.experiment) return true;
  return event.kind === "experiment" ? event.id === topic.experiment : event.experiment === topic.experiment;
}
