import { Button } from "@mantine/core";
import type { ExperimentView } from "@/lib/client/types.gen";
import { whyNoVariants } from "@/lib/keeping/extensible";
import { Unless } from "@/lib/people/allowed";
import { useRefusal } from "@/lib/people/use-me";
import { LinkButton } from "@/lib/ui/link-button";

/** The way to the form for further variants, where any may be added. */
export function AddVariants({ experiment }: { experiment: ExperimentView }) {
  const refused = useRefusal("researcher", experiment.user);
  if (whyNoVariants(experiment)) return null;
  if (refused !== undefined) {
    return (
      <Unless why={refused}>
        <Button variant="default">Add variants</Button>
      </Unless>
    );
  }
  return (
    <LinkButton variant="default" data-testid="add-variants" to="/new" search={{ extend: experiment.id }}>
      Add variants
    </LinkButton>
  );
}
