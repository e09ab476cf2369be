import type { RunSummary } from "@/lib/client/types.gen";

interface SelectBoxProps {
  run: Pick<RunSummary, "id" | "number" | "variant">;
  selected: boolean;
  select: (id: string, on: boolean) => void;
}

const LOOK = {
  width: 24,
  height: 24,
  marginRight: 6,
  verticalAlign: "middle",
  accentColor: "var(--hk-accent)",
};

/** The box before a run in a table, which selects it. Plain, because there may be hundreds. */
export function SelectBox({ run, selected, select }: SelectBoxProps) {
  return (
    <input
      type="checkbox"
      style={LOOK}
      aria-label={`Select run ${run.number}, ${run.variant}`}
      checked={selected}
      onChange={(event) => select(run.id, event.currentTarget.checked)}
    />
  );
}
