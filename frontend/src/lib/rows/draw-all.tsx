import { Button } from "@mantine/core";
import { formatCount } from "@/lib/format/numbers";
import type { Whole } from "./use-whole";

/** Draws every row of a long list, or those in view again. The browser's find sees nothing that is not drawn. */
export function DrawAll({ rows, count, what }: { rows: Whole; count: number; what: string }) {
  if (!rows.long) return null;
  return (
    <Button
      size="compact-xs"
      variant="default"
      onClick={() => rows.ask(!rows.asked)}
      title={
        rows.asked
          ? "The page is faster with only the visible rows."
          : "The browser's find searches drawn rows only; by default these are the visible ones."
      }
      data-testid="draw-all"
    >
      {rows.asked ? "Draw visible rows only" : `Draw all ${formatCount(count)} ${what}`}
    </Button>
  );
}
