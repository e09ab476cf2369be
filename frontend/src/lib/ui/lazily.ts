import { type ComponentType, lazy } from "react";
import { patiently } from "@/lib/api/patiently";

/** How to fetch what was not drawn yet. */
const parts: (() => Promise<unknown>)[] = [];
/** Until the first page is there, ms. */
const PAUSE = 3000;

/** A component whose code is fetched when it is drawn first, also while the server is away. */
export function lazily<P extends object>(load: () => Promise<ComponentType<P>>) {
  parts.push(load);
  return lazy(async () => ({ default: await patiently(load) }));
}

/** What else is fetched once the first page is there. */
export function fetchLater(load: () => Promise<unknown>): void {
  parts.unshift(load);
}

/** Browsers that do not say when they are idle are asked for a pause, ms. */
const REST = 500;
const whenIdle = (call: () => void) =>
  typeof requestIdleCallback === "function" ? requestIdleCallback(call) : setTimeout(call, REST);

/**
 * Fetch all of them, one after the other, once the first page is there and the browser has nothing to do: a menu then
 * opens at once, also after the server has gone away.
 */
export function fetchIdly(): void {
  const again = (): void => {
    whenIdle(() => parts.shift()?.().then(again, again)); // what does not come is fetched when it is drawn
  };
  setTimeout(again, PAUSE);
}
