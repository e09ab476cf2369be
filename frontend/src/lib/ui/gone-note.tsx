import { Alert } from "@mantine/core";
import { LinkButton } from "./link-button";
import screen from "./screen.module.css";

/** Above a page whose subject was deleted while it was open: what is seen of it is the last that was read. */
export function GoneNote({ what }: { what: string }) {
  return (
    <Alert className={screen.warning} mb={20} role="status" data-testid="gone">
      The server no longer has {what}: it was deleted, or you no longer have access to it. This page shows
      what was loaded last.{" "}
      <LinkButton size="compact-xs" variant="default" to="/" search={{ show: "deleted" }}>
        Deleted experiments
      </LinkButton>
    </Alert>
  );
}
