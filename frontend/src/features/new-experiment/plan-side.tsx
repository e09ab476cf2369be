import { Alert } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { type ReactNode, useRef } from "react";
import { explain } from "@/lib/api/problem";
import type { DryRun } from "@/lib/client/types.gen";
import styles from "./form.module.css";
import { PlanBar } from "./plan-bar";
import { type Startable, StartButton } from "./start-button";

interface PlanSideProps {
  /** What the server says of what is in the form. */
  query: { readonly data: DryRun | undefined; readonly isError: boolean };
  settled: boolean;
  startable: Startable;
  /** What the server answered to a start, where that names no place of the form; null: nothing. */
  refused: unknown;
  /** What has not been done then. */
  title: string;
  /** Whether there is a plan to be led to. */
  planned?: boolean;
  /** The plan. */
  children: ReactNode;
}

/** What stands beside a form: the plan, what came of a start, and the button, which Ctrl+Enter presses, too. */
export function PlanSide(props: PlanSideProps) {
  const { query, settled, startable, refused, title, planned = true, children } = props;
  const side = useRef<HTMLElement>(null);
  useHotkeys([["mod+Enter", () => startable.ready && !startable.starting && startable.start()]], [], true);
  return (
    <>
      {planned && (
        <PlanBar
          plan={query.data}
          startable={startable}
          failed={query.isError}
          settled={settled}
          show={() => side.current?.scrollIntoView({ block: "start" })}
        />
      )}
      <aside ref={side} className={styles.side} aria-label="Plan">
        {children}
        {refused !== null && (
          <Alert color="red" mt={12} title={title}>
            {explain(refused)}
          </Alert>
        )}
        <StartButton startable={startable} fullWidth size="md" mt={16} data-testid="start" />
      </aside>
    </>
  );
}
