import { Button, Group, TextInput } from "@mantine/core";
import { useRef } from "react";
import { formatCount } from "@/lib/format/numbers";
import { isComposing, useLineBreak } from "@/lib/ui/composing";
import styles from "./logs.module.css";
import type { Find } from "./use-find";

interface FindBarProps {
  find: Find;
  /** Number of lines that were read, if there are older ones. */
  among: number | undefined;
  busy: boolean;
  lookBack: () => void;
}

/** Where a text is looked for in a log: the newest line that has it first, Enter for the one before. */
export function FindBar({ find: { asked, ask, hits, at, go }, among, busy, lookBack }: FindBarProps) {
  const text = asked === "errors" ? "" : asked.text;
  const looks = asked === "errors" || text.trim() !== "";
  const what = asked === "errors" ? "lines with errors" : "lines";
  const field = useRef<HTMLInputElement>(null);
  useLineBreak(field, () => go(-1));
  return (
    <Group gap={6}>
      {looks && (
        <>
          <span className={styles.count} role="status" data-testid="log-hits">
            {hits.length === 0
              ? `no ${what}`
              : `${formatCount(at + 1)} of ${formatCount(hits.length)} ${what}`}
            {among !== undefined && ` among the newest ${formatCount(among)}`}
          </span>
          {among !== undefined && (
            <Button size="compact-xs" variant="default" loading={busy} onClick={lookBack}>
              Search older lines
            </Button>
          )}
          {([-1, 1] as const).map((by) => (
            <Button
              key={by}
              size="compact-xs"
              variant="default"
              disabled={hits.length < 2}
              onClick={() => go(by)}
            >
              {by < 0 ? "Previous" : "Next"}
            </Button>
          ))}
        </>
      )}
      <Button
        size="compact-xs"
        variant="default"
        aria-pressed={asked === "errors"}
        onClick={() => ask(asked === "errors" ? { text: "" } : "errors")}
        data-testid="log-errors"
      >
        Errors
      </Button>
      <TextInput
        ref={field}
        size="xs"
        w={150}
        type="search"
        placeholder="Find"
        aria-label="Find in the log"
        title="Enter: previous match; Shift + Enter: next match"
        value={text}
        onChange={(event) => ask({ text: event.currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || isComposing(event)) return;
          event.preventDefault();
          go(event.shiftKey ? 1 : -1);
        }}
        data-testid="log-find"
      />
    </Group>
  );
}
