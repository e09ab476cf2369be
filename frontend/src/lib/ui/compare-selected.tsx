import { Button } from "@mantine/core";
import { Unless } from "@/lib/people/allowed";
import { LinkButton } from "./link-button";
import { MOST_COMPARED, MOST_EXPERIMENTS } from "./use-selected";

interface CompareSelectedProps {
  /** Ids of runs. */
  selected: readonly string[];
  /** Of how many experiments they are. */
  experiments?: number;
  clear: () => void;
}

/** What is done with the runs that are selected in a table; nothing without any. Of too many it says why they are not compared. */
export function CompareSelected({ selected, experiments = 1, clear }: CompareSelectedProps) {
  if (selected.length === 0) return null;
  const count = `${selected.length} ${selected.length === 1 ? "run" : "runs"}`;
  const why =
    selected.length > MOST_COMPARED
      ? `A comparison takes at most ${MOST_COMPARED} runs; ${selected.length} are selected.`
      : experiments > MOST_EXPERIMENTS
        ? `A comparison takes runs of at most ${MOST_EXPERIMENTS} experiments; those of ${experiments} are selected.`
        : undefined;
  return (
    <>
      {why ? (
        <Unless why={why}>
          <Button disabled size="compact-sm" data-testid="compare-runs">
            Compare {count}
          </Button>
        </Unless>
      ) : (
        <LinkButton
          to="/compare"
          search={{ rows: [...selected] }}
          size="compact-sm"
          data-testid="compare-runs"
        >
          Compare {count}
        </LinkButton>
      )}
      <Button variant="default" size="compact-sm" onClick={clear}>
        Clear selection
      </Button>
    </>
  );
}
