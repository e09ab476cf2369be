import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import type { RefObject } from "react";
import { allOf, withGaps } from "./gaps";
import type { PageRows, RowsOf } from "./use-page-rows";
import { useUnanchored } from "./use-unanchored";
import { useWhole } from "./use-whole";

/** Lines are low and pass quickly. */
const OVERSCAN = 30;

export interface BoxRows extends PageRows {
  /** Height of all rows as far as it is known, px; it changes as they are drawn. */
  readonly total: number;
}

/** Of rows in a box that scrolls by itself: those in view. */
export function useBoxRows(box: RefObject<HTMLElement | null>, { count, estimate, keyOf }: RowsOf): BoxRows {
  const whole = useWhole(count);
  const active = !whole.whole;
  useUnanchored(box, active);
  const virtual = useVirtualizer<HTMLElement, Element>({
    count,
    enabled: active,
    getScrollElement: () => box.current,
    estimateSize: () => estimate,
    getItemKey: keyOf,
    overscan: OVERSCAN,
    rangeExtractor: defaultRangeExtractor,
  });
  const total = active ? virtual.getTotalSize() : 0;
  const drawn = active ? withGaps(virtual.getVirtualItems(), 0, total) : allOf(count);
  return { ...whole, ...drawn, total, measure: active ? virtual.measureElement : undefined };
}
