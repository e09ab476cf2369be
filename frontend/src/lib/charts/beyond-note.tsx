import { Button } from "@mantine/core";
import { formatCount } from "@/lib/format/numbers";

interface BeyondNoteProps {
  /** Values that the axis leaves out. */
  beyond: number;
  /** Whether all are shown because somebody asked for it. */
  whole: boolean;
  turn: (whole: boolean) => void;
}

/** Says how many values lie beyond the axis, and shows all of them or most again. */
export function BeyondNote({ beyond, whole, turn }: BeyondNoteProps) {
  if (beyond === 0 && !whole) return null;
  const values = `${formatCount(beyond)} ${beyond === 1 ? "value" : "values"}`;
  return (
    <Button size="compact-xs" variant="default" data-testid="beyond" onClick={() => turn(!whole)}>
      {whole ? "Leave out far values" : `${values} beyond: show all`}
    </Button>
  );
}
