/** Without an answer for so long, ms, a request that reads counts as lost. */
const LIMIT = 20_000;
/** The same address is given twice as long with every try, as many times: the server may need it. */
const DOUBLED = 3;
/** Addresses that are remembered for it: those with a position in a list or a log are seldom asked for again. */
const MOST = 100;

/** Whether a request changes nothing. A file may take the server long before it begins. */
function reads({ method, url }: Request): boolean {
  const { pathname } = new URL(url);
  return method === "GET" ? !/\.\w+$/.test(pathname) : /\/(series|dry-run)$/.test(pathname);
}

/**
 * Fetches, and gives up what reads where no answer begins. On a connection that the network has forgotten, as in an outage, a
 * request hangs for many minutes after the server is back, and so does all that waits for its end. It counts as a lost connection
 * (`TypeError`), after which queries try again.
 */
export function withPatience(limit = LIMIT): typeof fetch {
  const late = new Map<string, number>();
  return async (input, init) => {
    if (!(input instanceof Request) || !reads(input)) return fetch(input, init);
    const { signal, url } = input;
    const tries = late.get(url) ?? 0;
    const end = new AbortController();
    const stop = () => end.abort(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop); // also while the answer is read
    const lost = new TypeError("No answer has begun in time.");
    const timer = setTimeout(() => end.abort(lost), limit * 2 ** Math.min(tries, DOUBLED));
    try {
      const answer = await fetch(input, { signal: end.signal });
      late.delete(url);
      return answer;
    } catch (error) {
      if (end.signal.reason !== lost) throw error;
      late.delete(url);
      late.set(url, tries + 1);
      const [oldest = url] = late.keys();
      if (late.size > MOST) late.delete(oldest);
      throw lost;
    } finally {
      clearTimeout(timer);
    }
  };
}
