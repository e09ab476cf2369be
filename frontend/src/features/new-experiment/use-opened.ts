import { useState } from "react";

/** The variant that is edited in full, of all that are shown as rows, and how to open another. */
export interface Opened {
  readonly opened: number | undefined;
  readonly open: (index: number | undefined) => void;
}

export function useOpened(): Opened {
  const [opened, open] = useState<number>();
  return { opened, open };
}

/** The variant that a place of the document belongs to. */
export function variantOf(pointer: string): number | undefined {
  const [, index] = /^\/variants\/(\d+)(?:\/|$)/.exec(pointer) ?? [];
  return index === undefined ? undefined : Number(index);
}
