import { useCallback, useState } from "react";

/** Rows that a comparison takes. */
export const MOST_COMPARED = 100;
/** Experiments that these are of. */
export const MOST_EXPERIMENTS = 20;

/** The runs that are selected in a table, in the order in which they were. */
export function useSelected() {
  const [selected, setSelected] = useState<readonly string[]>([]);
  const select = useCallback(
    (id: string, on: boolean) =>
      setSelected((before) => {
        const others = before.filter((one) => one !== id);
        return on ? [...others, id] : others;
      }),
    [],
  );
  return { selected, select, clear: () => setSelected([]) };
}
