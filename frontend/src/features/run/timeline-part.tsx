import { Button, Group, NumberInput, Skeleton, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { DrawingMenu } from "@/lib/charts/drawing-menu";
import { PhaseKey } from "@/lib/charts/phase-bar";
import { among } from "@/lib/charts/phase-stack";
import type { RunView, TimelineView } from "@/lib/client/types.gen";
import { formatCount, formatPercent } from "@/lib/format/numbers";
import { LoadFault } from "@/lib/ui/load-fault";
import { Section } from "@/lib/ui/section";
import { isTerminal } from "@/lib/ui/states";
import { TableRegion } from "@/lib/ui/table-region";
import { Tag } from "@/lib/ui/tag";
import { useSteps } from "@/lib/views/use-steps";
import { type Window, windowFrom } from "./asked-window";
import type { RunSearch } from "./search";
import styles from "./timeline.module.css";
import { TimelineCanvas } from "./timeline-canvas";
import { timelineSheet, timelineSvg } from "./timeline-export";
import { phasesInView, sharesOf } from "./timeline-layout";
import { zoomed } from "./timeline-window";
import { nameOf, stragglerWords } from "./timeline-words";
import { arriving, useMovingWindow, useTimeline } from "./use-timeline";

const route = getRouteApi("/runs/$runId");

/** What the ranks did when: from the trace that the run recorded. */
export function TimelinePart({ run }: { run: RunView }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const query = useTimeline(run, search);
  const again = () => {
    // a window or a step that it does not have must not stay
    navigate({
      search: (old) => ({ ...old, t: undefined, step: undefined }),
      replace: true,
      resetScroll: false,
    });
    void query.refetch();
  };
  const answer = query.data;
  return (
    <Section
      title="Timeline"
      testId="timeline"
      aside={answer && answer.ranks.length > 0 && <PhaseKey phases={phasesInView(answer)} />}
    >
      {answer && answer.ranks.length > 0 ? (
        <Drawn run={run} answer={answer} stale={query.isPlaceholderData} />
      ) : query.isError ? (
        <LoadFault what="The timeline could not be loaded." query={{ ...query, refetch: again }} />
      ) : query.isLoading ? (
        <Skeleton height={180} />
      ) : (
        <Text fz={12.5} c="dimmed" mt={8}>
          {absentWords(run, answer)}
        </Text>
      )}
    </Section>
  );
}

/** Why there is no timeline. */
export function absentWords(run: RunView, answer: TimelineView | undefined): string {
  if (run.spec.trace !== true)
    return "This run recorded no timeline. With “trace: true” in the experiment's document, every rank records its phases and messages.";
  if (run.host.startsWith("~")) return "This run was imported without its timeline.";
  if (!isTerminal(run.state)) return "The timeline will arrive when the run has ended.";
  if (answer && arriving(run, answer.complete, Date.now())) return "The timeline is being delivered.";
  return "No timeline has arrived: no rank took a step, or the supervisor cannot reach this server.";
}

function Drawn({ run, answer, stale }: { run: RunView; answer: TimelineView; stale: boolean }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const steps = useSteps();
  const look = (changes: Pick<RunSearch, "t" | "step">) =>
    navigate({ search: (old) => ({ ...old, ...changes }), replace: steps(changes), resetScroll: false });
  const asked = windowFrom(search.t);
  const shown: Window =
    asked ?? (search.step !== undefined || !stale ? [answer.start, answer.stop] : [0, answer.span]);
  const [window, move] = useMovingWindow(shown, (t) => look({ t, step: undefined }), answer.span);
  const words = stragglerWords(answer.straggler);
  const straggler = answer.straggler?.consistent ? answer.straggler.rank : undefined;
  const middle = (window[0] + window[1]) / 2;
  const title = `Timeline of run ${run.number}`;
  const whole = window[0] <= 0 && window[1] >= answer.span;
  return (
    <>
      {words && (
        <Text fz={14} mb={14} data-testid="straggler">
          {words}
        </Text>
      )}
      <Group justify="space-between" gap="10px 24px" mb={10}>
        <Group gap={8}>
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => move(zoomed(window, 0.5, middle, answer.span))}
          >
            Zoom in
          </Button>
          <Button
            size="compact-xs"
            variant="default"
            disabled={whole}
            onClick={() => move(zoomed(window, 2, middle, answer.span))}
          >
            Zoom out
          </Button>
          <Button
            size="compact-xs"
            variant="default"
            disabled={whole}
            onClick={() => look({ t: undefined, step: undefined })}
          >
            Whole run
          </Button>
          {answer.simulated && <Tag kind="simulated" />}
          <DrawingMenu
            of={title}
            host={() => timelineSvg(answer, window, title)}
            sheet={() => timelineSheet(answer, window)}
          />
        </Group>
        {answer.steps > 0 && (
          <Group gap={8}>
            <label htmlFor="timeline-step" className={styles.label}>
              Step
            </label>
            <NumberInput
              id="timeline-step"
              size="xs"
              w={110}
              min={1}
              max={answer.steps}
              clampBehavior="strict"
              allowDecimal={false}
              placeholder="all"
              value={search.step ?? ""}
              onChange={(value) =>
                look({ t: undefined, step: typeof value === "number" ? value : undefined })
              }
            />
            <span className={styles.label}>of {formatCount(answer.steps)}</span>
          </Group>
        )}
      </Group>
      <TimelineCanvas answer={answer} window={window} straggler={straggler} stale={stale} move={move} />
      <Text fz={12.5} c="dimmed" mt={8} id="timeline-keys">
        Drag to move, Shift + drag to zoom to a part, Ctrl + wheel to zoom. With the keyboard: + − to zoom, ←
        → to move, Home for the whole run; , and . read the phase before and after, [ and ] the rank above and
        below.
      </Text>
      {answer.remarks.length > 0 && !arriving(run, answer.complete, Date.now()) && (
        <ul className={styles.remarks}>
          {answer.remarks.map((remark) => (
            <li key={remark}>{remark}</li>
          ))}
        </ul>
      )}
      <WindowTable answer={answer} />
    </>
  );
}

/** The window as a table: what a reader of the drawing sees at a glance. */
function WindowTable({ answer }: { answer: TimelineView }) {
  const shown = phasesInView(answer);
  return (
    <details className={styles.table}>
      <summary>Table of the part in view</summary>
      <TableRegion label="Shares of phases in the part of the timeline in view">
        <table className={styles.sheet}>
          <thead>
            <tr>
              <th scope="col">rank</th>
              {shown.map((phase) => (
                <th key={phase} scope="col">
                  {phase}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {answer.ranks.map((rank) => (
              <tr key={rank.rank}>
                <th scope="row">{nameOf(rank)}</th>
                {among(shown, sharesOf(rank, answer)).map((share, i) => (
                  <td key={shown[i]}>{formatPercent(share)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </TableRegion>
    </details>
  );
}
