const ADDRESS = "/api/v1/livez";
/** What has not answered after so long is away, ms: a request into a network that is gone hangs for minutes. */
const LIMIT = 10_000;

/** Whether the server answers at all. */
export async function answers(limit = LIMIT): Promise<boolean> {
  try {
    return (await fetch(ADDRESS, { cache: "no-store", signal: AbortSignal.timeout(limit) })).status < 500;
  } catch {
    return false;
  }
}
