import { Button, SegmentedControl } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { formatCount } from "@/lib/format/numbers";
import { columnsText } from "@/lib/ui/columns";
import { lazily } from "@/lib/ui/lazily";
import { WhenPressed } from "@/lib/ui/when-pressed";
import { columnsFor, OPTIONAL } from "./runs-order";
import type { ExperimentSearch } from "./search";

const ColumnsItems = lazily(() => import("@/lib/ui/columns-items").then((part) => part.ColumnsItems));
const route = getRouteApi("/experiments/$experimentId");

/** Whether runs stand under the variant and place that they are of. */
export function GroupSwitch({ on }: { on: boolean }) {
  const navigate = route.useNavigate();
  return (
    <Button
      size="compact-xs"
      variant={on ? "light" : "default"}
      aria-pressed={on}
      onClick={() =>
        navigate({
          search: (old) => ({ ...old, group: on ? undefined : "variant" }),
          replace: true,
          resetScroll: false,
        })
      }
      data-testid="group-runs"
    >
      Group by variant
    </Button>
  );
}

/** Those of trials, those that are reported, or both: the reported ones then come first. */
export function RunsPicker({
  only,
  reported,
  trials,
}: {
  only: ExperimentSearch["runs"];
  reported: number;
  trials: number;
}) {
  const navigate = route.useNavigate();
  return (
    <SegmentedControl
      size="xs"
      aria-label="Runs shown"
      data-testid="runs-picker"
      value={only ?? "all"}
      data={[
        { value: "all", label: "All" },
        { value: "reported", label: `Reported (${formatCount(reported)})` },
        { value: "trials", label: `Trials (${formatCount(trials)})` },
      ]}
      onChange={(value) => {
        const runs = value === "reported" || value === "trials" ? value : undefined;
        navigate({ search: (old) => ({ ...old, runs }), replace: true, resetScroll: false });
      }}
    />
  );
}

/** Which columns there are. */
export function RunColumns({ tuned, shown }: { tuned: boolean; shown: ReadonlySet<string> }) {
  const navigate = route.useNavigate();
  return (
    <WhenPressed
      button={
        <Button size="compact-xs" variant="default" data-testid="run-columns">
          Columns
        </Button>
      }
      opens={(button) => (
        <ColumnsItems
          button={button}
          columns={columnsFor(OPTIONAL, tuned)}
          shown={shown}
          show={(next) =>
            navigate({
              search: (old) => ({ ...old, columns: columnsText(OPTIONAL, next) }),
              replace: true,
              resetScroll: false,
            })
          }
        />
      )}
    />
  );
}
