import { Button, Text } from "@mantine/core";

export interface Replaced {
  readonly what: string;
  /** What the button says that undoes it. */
  readonly undo: string;
  readonly act: () => void;
}

/** What has happened to the draft, and the way back. */
export function DraftNote({ replaced, before }: { replaced: Replaced | undefined; before: () => void }) {
  return (
    <div role="status">
      {replaced && (
        <Text fz={13} c="dimmed" mt={10} data-testid="draft-note">
          {replaced.what}{" "}
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => {
              before();
              replaced.act();
            }}
          >
            {replaced.undo}
          </Button>
        </Text>
      )}
    </div>
  );
}
