/** A column that can be switched on and off; the usual ones are there without a choice. */
export interface Column {
  readonly key: string;
  readonly title: string;
  readonly usual: boolean;
}

/** In the address: no column at all. */
const NO_COLUMN = "none";

const usualOf = <C extends Column>(columns: readonly C[]): C["key"][] =>
  columns.filter(({ usual }) => usual).map(({ key }) => key);

/** The columns that an address names, such as "verdict.duration.state"; where it names none, the usual ones. */
export function columnsIn<C extends Column>(
  columns: readonly C[],
  text: string | undefined,
): ReadonlySet<C["key"]> {
  const named = new Set(text?.split("."));
  const found = columns.map(({ key }) => key).filter((key) => named.has(key));
  return new Set<C["key"]>(found.length > 0 || text === NO_COLUMN ? found : usualOf(columns));
}

/** How an address names columns; undefined: they are the usual ones. */
export function columnsText(columns: readonly Column[], shown: ReadonlySet<string>): string | undefined {
  const names = columns.map(({ key }) => key).filter((key) => shown.has(key));
  return names.join() === usualOf(columns).join() ? undefined : names.join(".") || NO_COLUMN;
}
