const ADDRESS = "/api/v1/livez";

/** Whether the server answers at all. */
export async function answers(): Promise<boolean> {
  try {
    return (await fetch(ADDRESS, { cache: "no-store" })).status < 500;
  } catch {
    return false;
  }
}
