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
  /** Scroll the box so that this row is in its middle. */
  readonly show: (index: number) => void;
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
  const show = (index: number) => {
    if (active) return virtual.scrollToIndex(index, { align: "center" });
    const row = box.current?.querySelector(`[data-index="${index}"]`);
    if (!box.current || !row) return;
    const [outer, inner] = [box.current.getBoundingClientRect(), row.getBoundingClientRect()];
    box.current.scrollTop += inner.top - outer.top - (outer.height - inner.height) / 2;
  };
  return { ...whole, ...drawn, total, show, measure: active ? virtual.measureElement : undefined };
}
