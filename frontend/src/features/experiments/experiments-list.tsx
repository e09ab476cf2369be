import { Group } from "@mantine/core";
import { useCallback, useRef } from "react";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import { DrawAll } from "@/lib/rows/draw-all";
import { usePageRows } from "@/lib/rows/use-page-rows";
import { ExperimentItem } from "./experiment-item";
import styles from "./experiments.module.css";
import type { Action } from "./use-actions";

/** Height of an item with a line of each kind, px. */
const ITEM = 140;

interface ExperimentsListProps {
  items: readonly ExperimentSummary[];
  /** Whether the server has no more of them. */
  complete: boolean;
  stale: boolean;
  now: number;
  chosen: ReadonlySet<string>;
  choose: (item: ExperimentSummary, wanted: boolean) => void;
  act: (action: Action, item: ExperimentSummary) => void;
  edit: (id: string) => void;
}

/** The experiments that were read; of many, those in view are drawn. */
export function ExperimentsList({
  items,
  complete,
  stale,
  now,
  chosen,
  choose,
  act,
  edit,
}: ExperimentsListProps) {
  const host = useRef<HTMLUListElement>(null);
  const keyOf = useCallback((index: number) => items[index]?.id ?? String(index), [items]);
  const rows = usePageRows(host, { count: items.length, estimate: ITEM, keyOf });
  const place = (index: number, gap: number) =>
    rows.whole
      ? undefined
      : {
          ref: rows.measure,
          "data-index": index,
          "aria-posinset": index + 1,
          "aria-setsize": complete ? items.length : -1,
          style: { marginTop: gap },
        };
  return (
    <>
      {rows.long && (
        <Group justify="flex-end" mb={8}>
          <DrawAll rows={rows} count={items.length} what="experiments" />
        </Group>
      )}
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
                now={now}
                chosen={chosen.has(item.id)}
                choose={(wanted) => choose(item, wanted)}
                act={(action) => act(action, item)}
                edit={() => edit(item.id)}
                place={place(index, gap)}
              />
            )
          );
        })}
      </ul>
    </>
  );
}
