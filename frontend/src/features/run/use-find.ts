import { useMemo, useState } from "react";
import type { LogLineView } from "@/lib/client/types.gen";

/**
 * What lines that tell of an error have: names of exceptions, also at the end of a traceback, where they begin with
 * their module; levels of loggers, words of shells and of MPI.
 */
const ERROR =
  /(?:[A-Za-z](?:Error|Exception)\b|\bTraceback\b|\b(?:ERROR|FATAL|CRITICAL)\b|\berror:|\bAborted\b|\bKilled\b|Segmentation fault|^(?:[a-z_]\w*\.)+[A-Z]\w*(?::|$))/;

export type Asked = { readonly text: string } | "errors";

/** The places of the lines that are looked for. */
export function hitsOf(lines: readonly LogLineView[], asked: Asked): number[] {
  const words = asked === "errors" ? "" : asked.text.trim().toLowerCase();
  if (asked !== "errors" && words === "") return [];
  const fits = (text: string) => (asked === "errors" ? ERROR.test(text) : text.toLowerCase().includes(words));
  return lines.flatMap(({ text }, index) => (fits(text) ? [index] : []));
}

export interface Find {
  readonly asked: Asked;
  readonly ask: (asked: Asked) => void;
  /** Places of the lines that are found, and which of them is shown: its place among them. */
  readonly hits: readonly number[];
  readonly at: number;
  /** Show the one so many further down, beyond the ends from the other end. */
  readonly go: (by: 1 | -1) => void;
  /** Whether any of these lines has it, and show the newest that has. */
  readonly isIn: (among: readonly LogLineView[]) => boolean;
  readonly show: (among: readonly LogLineView[]) => void;
}

/** Looks for a text, or for errors, in the lines of a log; the newest that is found is shown first. */
export function useFind(lines: readonly LogLineView[], asked: Asked, setAsked: (asked: Asked) => void): Find {
  const [shown, setShown] = useState<number>();
  const hits = useMemo(() => hitsOf(lines, asked), [lines, asked]);
  const found = hits.findIndex((index) => lines[index]?.position === shown);
  const at = found < 0 ? hits.length - 1 : found;
  const go = (by: 1 | -1) => {
    const next = hits[(at + by + hits.length) % hits.length];
    if (next !== undefined) setShown(lines[next]?.position);
  };
  const newest = (among: readonly LogLineView[], what: Asked) => {
    const last = hitsOf(among, what).at(-1);
    return last === undefined ? undefined : among[last]?.position;
  };
  const ask = (next: Asked) => {
    setAsked(next);
    setShown(newest(lines, next)); // stays shown while the log grows
  };
  const isIn = (among: readonly LogLineView[]) => newest(among, asked) !== undefined;
  const show = (among: readonly LogLineView[]) => setShown((now) => newest(among, asked) ?? now);
  return { asked, ask, hits, at, go, isIn, show };
}
