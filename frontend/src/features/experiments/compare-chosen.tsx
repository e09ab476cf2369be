import { Button } from "@mantine/core";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import { Unless } from "@/lib/people/allowed";
import { LinkButton } from "@/lib/ui/link-button";

/** Experiments that a comparison takes. */
const MOST_EXPERIMENTS = 20;

/** Leads to the comparison of the chosen experiments; of too many, it says why it does not. */
export function CompareChosen({ chosen }: { chosen: readonly ExperimentSummary[] }) {
  const rows = chosen.map(({ number }) => String(number));
  const look = { size: "compact-sm", variant: "default", "data-testid": "selected-compare" } as const;
  if (rows.length <= MOST_EXPERIMENTS) {
    return (
      <LinkButton to="/compare" search={{ rows }} {...look}>
        Compare
      </LinkButton>
    );
  }
  return (
    <Unless why={`A comparison takes at most ${MOST_EXPERIMENTS} experiments; ${rows.length} are selected.`}>
      <Button disabled {...look}>
        Compare
      </Button>
    </Unless>
  );
}
