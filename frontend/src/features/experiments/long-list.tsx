import { Group } from "@mantine/core";
import { useCallback, useRef } from "react";
import { refusal } from "@/lib/people/roles";
import { DrawAll } from "@/lib/rows/draw-all";
import { usePageRows } from "@/lib/rows/use-page-rows";
import { ExperimentItem } from "./experiment-item";
import styles from "./experiments.module.css";
import type { ExperimentsListProps } from "./experiments-list";

/** Height of an item with a line of each kind, px. */
const ITEM = 140;

/** A long list: those in view are drawn, unless all are asked for. */
export function LongList({ items, complete, stale, chosen, me, ...row }: ExperimentsListProps) {
  const host = useRef<HTMLUListElement>(null);
  const keyOf = useCallback((index: number) => items[index]?.id ?? String(index), [items]);
  const rows = usePageRows(host, { count: items.length, estimate: ITEM, keyOf });
  const place = (index: number, gap: number) =>
    rows.whole ? {} : { index, gap, measure: rows.measure, of: complete ? items.length : -1 };
  return (
    <>
      <Group justify="flex-end" mb={8}>
        <DrawAll rows={rows} count={items.length} what="experiments" />
      </Group>
      <ul
        ref={host}
        className={styles.list}
        style={{ paddingBottom: rows.after }}
        data-testid="experiments"
        data-stale={stale || undefined}
      >
        {rows.rows.map(({ index, gap }) => {
          const item = items[index];
          return (
            item && (
              <ExperimentItem
                key={item.id}
                item={item}
                chosen={chosen.has(item.id)}
                refused={refusal(me, "researcher", item.user)}
                {...row}
                {...place(index, gap)}
              />
            )
          );
        })}
      </ul>
    </>
  );
}
