import { type CSSProperties, Suspense } from "react";
import type { ExperimentSummary, Me } from "@/lib/client/types.gen";
import { refusal } from "@/lib/people/roles";
import { PLAIN } from "@/lib/rows/gaps";
import { lazily } from "@/lib/ui/lazily";
import { ExperimentItem, type RowProps } from "./experiment-item";
import styles from "./experiments.module.css";

/** Rows that are drawn until the code of long lists is there. */
const BEFORE = 30;
const LongList = lazily(() => import("./long-list").then((part) => part.LongList));

export interface ExperimentsListProps extends RowProps {
  items: readonly ExperimentSummary[];
  /** Whether the server has no more of them. */
  complete: boolean;
  stale: boolean;
  chosen: ReadonlySet<string>;
  me: Me | undefined;
}

/** The experiments that were read; of many, those in view are drawn. */
export function ExperimentsList(props: ExperimentsListProps) {
  if (props.items.length <= PLAIN) return <PlainList {...props} />;
  return (
    <Suspense fallback={<PlainList {...props} items={props.items.slice(0, BEFORE)} />}>
      <LongList {...props} />
    </Suspense>
  );
}

function PlainList({ items, complete, stale, chosen, me, ...row }: ExperimentsListProps) {
  return (
    <ul className={styles.list} data-testid="experiments" data-stale={stale || undefined}>
      {items.map((item) => (
        <ExperimentItem
          key={item.id}
          item={item}
          chosen={chosen.has(item.id)}
          refused={refusal(me, "researcher", item.user)}
          {...row}
        />
      ))}
    </ul>
  );
}

/** Widths of the columns, for the rows and what stands above them. */
export function widths({ columns, fewer }: { columns: string; fewer: string }): CSSProperties {
  return { "--columns": columns, "--fewer": fewer } as CSSProperties;
}
