import { Affix, Button, Notification } from "@mantine/core";
import { useEffect } from "react";
import type { Outcome } from "./use-actions";

/** How long it can be undone here, ms; what is deleted can be restored for days from its own list. */
const SHOWN = 15_000;

/** Says what was done, and offers to undo it. */
export function OutcomeNote({ outcome, onClose }: { outcome: Outcome | undefined; onClose: () => void }) {
  useEffect(() => {
    if (!outcome || outcome.failed.length > 0) return; // what went wrong stays until it was read
    const timer = setTimeout(onClose, SHOWN);
    return () => clearTimeout(timer);
  }, [outcome, onClose]);
  if (!outcome) return null;
  return (
    <Affix position={{ bottom: 20, left: 16, right: 16 }} zIndex={30}>
      <Notification
        role="status"
        title={outcome.text}
        color={outcome.failed.length > 0 ? "red.8" : "steel"}
        maw={520}
        mx="auto"
        withBorder
        closeButtonProps={{ "aria-label": "Dismiss" }}
        onClose={onClose}
        data-testid="outcome"
      >
        {outcome.failed.map((line) => (
          <div key={line}>{line}</div>
        ))}
        {outcome.undo && (
          <Button variant="default" size="compact-sm" mt={6} onClick={outcome.undo} data-testid="undo">
            Undo
          </Button>
        )}
      </Notification>
    </Affix>
  );
}
