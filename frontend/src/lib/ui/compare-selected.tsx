import { Button } from "@mantine/core";
import { LinkButton } from "./link-button";

interface CompareSelectedProps {
  /** Ids of runs. */
  selected: readonly string[];
  clear: () => void;
}

/** What is done with the runs that are selected in a table; nothing without any. */
export function CompareSelected({ selected, clear }: CompareSelectedProps) {
  if (selected.length === 0) return null;
  const count = `${selected.length} ${selected.length === 1 ? "run" : "runs"}`;
  return (
    <>
      <LinkButton to="/compare" search={{ rows: [...selected] }} size="compact-sm" data-testid="compare-runs">
        Compare {count}
      </LinkButton>
      <Button variant="default" size="compact-sm" onClick={clear}>
        Clear selection
      </Button>
    </>
  );
}
