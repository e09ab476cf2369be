/** What is built ahead, in the order in which it was asked for. */
const waiting = new Set<() => void>();
let asked = false;

function next(): void {
  asked = false;
  const [first] = waiting;
  if (!first) return;
  waiting.delete(first);
  ask();
  first();
}

function ask(): void {
  if (asked || waiting.size === 0) return;
  asked = true;
  requestIdleCallback(next);
}

/**
 * Build something once the browser has nothing to do, one thing at a time; returns what calls it off. Charts that are to
 * come into view are there then: built while somebody scrolls, each would hold up a frame. Browsers that do not say when
 * they are idle build nothing ahead.
 */
export function ahead(build: () => void): () => void {
  if (typeof requestIdleCallback !== "function") return () => undefined;
  waiting.add(build);
  ask();
  return () => waiting.delete(build);
}
