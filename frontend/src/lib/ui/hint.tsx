import { Tooltip } from "@mantine/core";
import type { RefObject } from "react";

/** A note beside an element; `useHint` says when. */
export function Hint({ label, target }: { label: string; target: RefObject<HTMLElement | null> }) {
  return <Tooltip opened target={target} label={label} multiline maw={260} />;
}
