import { Button, Text } from "@mantine/core";
import { useState } from "react";
import { JsonView } from "@/lib/ui/json-view";

/** The virtual cluster whose workers have the measured speeds, to copy into an experiment. */
export function MeasuredSpeeds({ cluster }: { cluster: unknown }) {
  const [shown, show] = useState(false);
  return (
    <div>
      <Button size="compact-xs" variant="default" mt="xs" onClick={() => show(!shown)} aria-expanded={shown}>
        As a virtual cluster
      </Button>
      {shown && (
        <>
          <Text fz={13.5} c="dimmed" mt="xs">
            Simulated workers with the measured speeds. In the form of a new experiment, choose “Add virtual
            cluster”, then “With the speeds of a run…”. In its YAML, this is one of the clusters; its network
            is the default one, unless <code>like</code> names a calibrated cluster.
          </Text>
          <JsonView value={cluster} label="Virtual cluster as JSON" />
        </>
      )}
    </div>
  );
}
