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
          ? "The page is quicker with the rows in view alone."
          : "The browser's find searches what is drawn: by default that is what is in view."
      }
      data-testid="draw-all"
    >
      {rows.asked ? "Draw those in view" : `Draw all ${formatCount(count)} ${what}`}
    </Button>
  );
}
