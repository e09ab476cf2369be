import { answers } from "./answers";

const PAUSE = 1000; // ms between two questions whether the server is back

/**
 * Load a part of the dashboard. A server that is away is waited for; where it is there and the part is not, the
 * dashboard has been replaced by another version, and the error is passed on.
 */
export async function patiently<T>(load: () => Promise<T>, there = answers, pause = PAUSE): Promise<T> {
  try {
    return await load();
  } catch {
    while (!(await there())) await new Promise((done) => setTimeout(done, pause));
    return load();
  }
}
