import { SegmentedControl } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import ui from "@/lib/ui/ui.module.css";
import { type Group, groupLabel } from "./groups";

const route = getRouteApi("/experiments/$experimentId");

/** One cluster and number of workers at a time: real and simulated seconds never share a table or an axis. */
export function GroupPicker({ groups, group }: { groups: readonly Group[]; group: Group | undefined }) {
  const navigate = route.useNavigate();
  if (groups.length < 2 || !group) return null;
  return (
    <div className={ui.scroll}>
      <SegmentedControl
        size="xs"
        aria-label="Cluster and workers"
        data-testid="group-picker"
        value={group.key}
        data={groups.map((one) => ({
          value: one.key,
          label:
            one.simulated && !one.cluster.includes("simulated")
              ? `${groupLabel(one)} (simulated)`
              : groupLabel(one),
        }))}
        onChange={(key) => {
          const next = groups.find((one) => one.key === key);
          navigate({
            search: (old) => ({ ...old, cluster: next?.cluster, workers: next?.workers }),
            resetScroll: false,
          });
        }}
      />
    </div>
  );
}
