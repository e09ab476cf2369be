import type { ReactNode } from "react";

/** A text in which what stands between backticks is code. */
export function withCode(text: string): ReactNode {
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no identity but their place
  return text.split("`").map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part));
}
