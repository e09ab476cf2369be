import { type Shown, TEXTS } from "./columns";
import { ColumnsMenu } from "./columns-menu";
import { KEYS, type Order, type SortKey, turned } from "./order";
import styles from "./order-row.module.css";

interface OrderRowProps {
  order: Order;
  shown: Shown;
  sort: (order: Order) => void;
  show: (shown: ReadonlySet<string>) => void;
}

/** Above the list: by what it is sorted, each where its column is, and which columns there are. */
export function OrderRow({ order, shown, sort, show }: OrderRowProps) {
  const button = (key: SortKey) => <SortButton key={key} of={key} order={order} sort={sort} />;
  const texts = TEXTS.filter((key) => shown.has(key));
  const ends = (["state", "progress"] as const).filter((key) => shown.has(key));
  // what the list is sorted by has its button, also where its column is switched off
  const first = (["added", "name", "verdict"] as const).filter((key) => key !== "verdict" || shown.has(key));
  const placed: readonly SortKey[] = [...first, ...texts, ...ends];
  return (
    <div className={styles.head}>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is no part of a grid in every browser */}
      <div role="group" aria-label="Sort by" className={styles.sorts}>
        <div className={styles.sortCell}>
          {first.map(button)}
          {!placed.includes(order.key) && button(order.key)}
        </div>
        {texts.length > 0 && <div className={styles.texts}>{texts.map(button)}</div>}
        {shown.has("curve") && <span className={styles.unsorted} />}
        {ends.length > 0 && <div className={styles.sortCell}>{ends.map(button)}</div>}
      </div>
      <ColumnsMenu shown={shown} show={show} />
    </div>
  );
}

function SortButton({ of, order, sort }: { of: SortKey; order: Order; sort: (order: Order) => void }) {
  const found = KEYS.find(({ key }) => key === of);
  if (!found) return null;
  const { title, words } = found;
  const mine = order.key === of;
  const way = words[order.down ? 1 : 0];
  return (
    <button
      type="button"
      className={styles.sort}
      aria-pressed={mine}
      aria-label={mine ? `${title}, ${way}` : title}
      title={mine ? `Sorted: ${way}` : undefined}
      onClick={() => sort(turned(order, of))}
    >
      {title}
      <span aria-hidden="true">{mine ? (order.down ? "↓" : "↑") : ""}</span>
    </button>
  );
}
