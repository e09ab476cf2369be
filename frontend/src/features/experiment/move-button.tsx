import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { moveExperimentMutation, readExperimentQueryKey } from "@/lib/client/@tanstack/react-query.gen";
import type { ExperimentView } from "@/lib/client/types.gen";
import { Allowed } from "@/lib/people/allowed";
import { MoveWindow } from "@/lib/projects/move-window";
import { useTargets } from "@/lib/projects/targets";
import { ErrorPanel } from "@/lib/ui/error-panel";

/** Moves the experiment to another project, where there is one that the user may move it into. */
export function MoveButton({ experiment }: { experiment: ExperimentView }) {
  const into = useTargets([experiment.project]);
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  const change = useMutation({
    ...moveExperimentMutation(),
    onSuccess: (view) => {
      setAsking(false);
      client.setQueryData(readExperimentQueryKey({ path: { experiment_id: view.id } }), view);
      void client.invalidateQueries({ queryKey: ["experiments"] });
    },
  });
  if (into.length === 0) return null;
  return (
    <Allowed least="researcher" of={experiment.user}>
      <Button
        variant="subtle"
        size="compact-xs"
        onClick={() => setAsking(true)}
        data-testid="move-experiment"
      >
        Move to another project
      </Button>
      {asking && (
        <MoveWindow
          what="this experiment"
          into={into}
          busy={change.isPending}
          move={(project) => change.mutate({ path: { experiment_id: experiment.id }, body: { project } })}
          onClose={() => setAsking(false)}
        >
          {change.isError && <ErrorPanel what="The experiment could not be moved." error={change.error} />}
        </MoveWindow>
      )}
    </Allowed>
  );
}
