import { Button, type ButtonProps } from "@mantine/core";
import { fixFirst } from "./faults";

export interface Startable {
  /** What has to be mended first. */
  readonly problems: number;
  /** Whether what is seen has been checked, and nothing is wrong with it. */
  readonly ready: boolean;
  readonly starting: boolean;
  /** What the button says; "Start" if nothing. */
  readonly words?: string;
  readonly start: () => void;
}

/** Starts what is seen; while it cannot, it says what is in the way. */
export function StartButton({
  startable: { problems, ready, starting, words, start },
  ...rest
}: { startable: Startable; "data-testid"?: string } & ButtonProps) {
  return (
    <Button
      {...rest}
      loading={starting}
      disabled={!ready}
      onClick={start}
      aria-keyshortcuts="Control+Enter"
      title="Control + Enter"
    >
      {problems > 0 ? fixFirst(problems) : (words ?? "Start")}
    </Button>
  );
}
