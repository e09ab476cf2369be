import { Group } from "@mantine/core";
import { LinkButton } from "@/lib/ui/link-button";
import { Message } from "@/lib/ui/message";
import { type Import, ImportButton, ImportFault } from "./import-button";

/** What stands in place of the list before there is any experiment. */
export function FirstLook({ act }: { act: Import }) {
  return (
    <Message
      page
      title="No experiments yet"
      testId="empty"
      action={
        <>
          <Group justify="center">
            <LinkButton to="/new" search={{ example: true }} data-testid="start-example">
              Start with the example
            </LinkButton>
            <LinkButton to="/new" variant="default">
              Define your own
            </LinkButton>
            <ImportButton act={act} />
          </Group>
          <ImportFault act={act} />
          <Group justify="center" mt={28} gap={6}>
            <LinkButton to="/" search={{ filter: "archived" }} variant="subtle" size="compact-sm">
              Archived experiments
            </LinkButton>
            <LinkButton to="/" search={{ show: "deleted" }} variant="subtle" size="compact-sm">
              Deleted experiments
            </LinkButton>
          </Group>
        </>
      }
    >
      An experiment trains one workload with several algorithms on several seeds, and shows which one reaches
      the target first. The example compares five algorithms on handwritten digits and takes less than three
      minutes.
    </Message>
  );
}
