import { Button } from "@mantine/core";
import { lazily } from "@/lib/ui/lazily";
import { WhenPressed } from "@/lib/ui/when-pressed";
import { useViews } from "./use-views";

const ViewsItems = lazily(() => import("./views-items").then((part) => part.ViewsItems));

/** Saves what is shown under a name, and leads to what was saved. */
export function ViewsMenu() {
  useViews(); // they are there when the menu opens
  return (
    <WhenPressed
      button={
        <Button variant="default" data-testid="views">
          Views
        </Button>
      }
      opens={(button) => <ViewsItems button={button} />}
    />
  );
}
