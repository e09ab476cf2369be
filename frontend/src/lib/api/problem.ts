import type { Fault, ProblemDetails } from "@/lib/client/types.gen";

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** Whether an error that a request threw is RFC 9457 problem+json. */
export function isProblem(error: unknown): error is ProblemDetails {
  return isRecord(error) && typeof error.status === "number" && typeof error.title === "string";
}

/** The HTTP status of a refused request; undefined where no answer came. */
export function statusOf(error: unknown): number | undefined {
  return isProblem(error) ? error.status : undefined;
}

/** Every fault that the server named. */
export function faultsOf(error: unknown): Fault[] {
  return isProblem(error) ? (error.errors ?? []) : [];
}

/** What happened, in a sentence. */
export function explain(error: unknown): string {
  if (isProblem(error)) return error.detail || error.title;
  if (error instanceof TypeError)
    return "The server did not respond. It may be restarting; this page retries.";
  return error instanceof Error ? error.message : "The server's response is not JSON.";
}

/** A refusal (4xx) is final; anything else may pass. */
export function worthRetrying(failures: number, error: unknown): boolean {
  const status = statusOf(error);
  return failures < 3 && (status === undefined || status >= 500);
}
