import { Button, Group, Select } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { Fragment, type RefObject, useCallback, useEffect, useLayoutEffect, useMemo, useRef } from "react";
import type { LogLineView, RunView } from "@/lib/client/types.gen";
import { formatCount } from "@/lib/format/numbers";
import { formatClock } from "@/lib/format/time";
import { DrawAll } from "@/lib/rows/draw-all";
import { useBoxRows } from "@/lib/rows/use-box-rows";
import { LoadFault } from "@/lib/ui/load-fault";
import { Section } from "@/lib/ui/section";
import { isTerminal } from "@/lib/ui/states";
import { useTyped } from "@/lib/views/use-typed";
import { FindBar } from "./find-bar";
import own from "./logs.module.css";
import styles from "./run.module.css";
import type { RunSearch } from "./search";
import { type Asked, type Find, useFind } from "./use-find";
import { type Back, useLogs } from "./use-logs";

const route = getRouteApi("/runs/$runId");
const ALL = "all";
const NO_LINES: readonly LogLineView[] = [];
/** Height of a line that is not folded, px. */
const LINE = 19;

function rankName(rank: number): string {
  return rank < 0 ? "mpirun" : `rank ${rank}`;
}

/** The tail of the log, which follows new lines for as long as the reader stays at its end. */
export function Logs({ run }: { run: RunView }) {
  const { rank } = route.useSearch();
  const navigate = route.useNavigate();
  const { query, back } = useLogs(run.id, rank);
  const lines = query.data?.lines ?? NO_LINES;
  const cut = query.data?.cut ?? 0;
  const find = useFind(lines, ...useAsked());
  const ranks = Array.from({ length: run.workers + run.servers }, (_, i) => i);
  return (
    <Section
      title="Log"
      id="log"
      testId="logs"
      aside={
        <Group gap="6px 12px" justify="flex-end">
          <FindBar
            find={find}
            among={cut > 0 ? lines.length : undefined}
            busy={back.isPending}
            lookBack={() => back.mutate(find.isIn, { onSuccess: find.show })}
          />
          <Select
            size="xs"
            w={150}
            aria-label="Lines of which rank"
            data-testid="log-rank"
            value={rank === undefined ? ALL : String(rank)}
            data={[
              { value: ALL, label: "all ranks" },
              { value: "-1", label: "mpirun, supervisor" },
              ...ranks.map((one) => ({ value: String(one), label: rankName(one) })),
            ]}
            onChange={(value) =>
              navigate({
                search: (old) => ({
                  ...old,
                  rank: value === null || value === ALL ? undefined : Number(value),
                }),
                replace: true,
                resetScroll: false,
              })
            }
          />
        </Group>
      }
    >
      {!query.data && <LoadFault what="The log could not be loaded." query={query} />}
      <LoadFault
        what="Older lines could not be loaded."
        query={{ ...back, refetch: () => back.mutate(back.variables ?? (() => true)) }}
      />
      <Tail key={rank} lines={lines} find={find} cut={cut} back={back} over={isTerminal(run.state)} />
    </Section>
  );
}

/** What is looked for, as the address has it; what is being typed comes there after a pause. */
function useAsked(): [Asked, (asked: Asked) => void] {
  const { find = "", errors } = route.useSearch();
  const navigate = route.useNavigate();
  const look = (changes: Pick<RunSearch, "find" | "errors">) =>
    navigate({ search: (old) => ({ ...old, ...changes }), replace: true, resetScroll: false });
  const [text, type] = useTyped(find, (next) =>
    look(next ? { find: next, errors: undefined } : { find: undefined }),
  );
  const asked: Asked = useMemo(() => (errors && text === find ? "errors" : { text }), [errors, text, find]);
  const ask = (next: Asked) => {
    if (next === "errors" || asked === "errors")
      look({ find: undefined, errors: next === "errors" ? "yes" : undefined });
    type(next === "errors" ? "" : next.text);
  };
  return [asked, ask];
}

interface TailProps {
  lines: readonly LogLineView[];
  find: Find;
  cut: number;
  back: Back;
  over: boolean;
}

function Tail({ lines, find: { hits, at }, cut, back, over }: TailProps) {
  const box = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const top = useRef(0);
  const keyOf = useCallback((index: number) => String(lines[index]?.position ?? index), [lines]);
  const rows = useBoxRows(box, { count: lines.length, estimate: LINE, keyOf });
  const found = useMemo(() => new Set(hits), [hits]);
  const now = hits[at];
  const shown = now === undefined ? undefined : lines[now]?.position;
  useUnmoved(box, lines, rows.total);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another line that is found, not its place as the log grows
  useEffect(() => {
    if (now === undefined) return;
    follows.current = false;
    rows.show(now);
  }, [shown]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new lines are what moves the end, and heights as they are drawn
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !follows.current) return;
    element.scrollTop = element.scrollHeight;
    top.current = element.scrollTop;
  }, [lines, rows.total]);
  return (
    <>
      <div
        ref={box}
        className={`${styles.log} ${own.box}`}
        data-short={over && lines.length === 0}
        role="log"
        aria-label="Log lines"
        // what is drawn as somebody scrolls is nothing new
        aria-live={rows.whole ? undefined : "off"}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        tabIndex={0}
        onKeyDown={(event) => {
          if (event.key !== "End") return;
          event.preventDefault(); // the browser's own way ends where the end was before lines on it were drawn
          follows.current = true;
          event.currentTarget.scrollTop = event.currentTarget.scrollHeight;
        }}
        onScroll={(event) => {
          const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
          const atEnd = scrollHeight - scrollTop - clientHeight < 24;
          follows.current = atEnd || (follows.current && scrollTop >= top.current); // lines below are no move up
          top.current = scrollTop;
        }}
      >
        {cut > 0 && (
          <div className={`${styles.quiet} ${own.cut}`}>
            <span>{formatCount(cut)} earlier lines are not shown</span>
            <Button
              size="compact-xs"
              variant="default"
              loading={back.isPending}
              onClick={() => back.mutate(() => true)}
            >
              Read older lines
            </Button>
          </div>
        )}
        {lines.length === 0 && <div className={styles.quiet}>{over ? "No output." : "No output yet."}</div>}
        {rows.rows.map(({ index, gap }) => {
          const line = lines[index];
          if (!line) return null;
          return (
            <Fragment key={line.position}>
              {gap > 0 && <div style={{ height: gap }} />}
              <div
                ref={rows.measure}
                data-index={index}
                className={found.has(index) ? `${styles.line} ${own.hit}` : styles.line}
                aria-current={index === now || undefined}
                data-stream={line.stream}
              >
                <span className={styles.quiet}>{formatClock(line.at)}</span>
                <span className={styles.lineRank}>{rankName(line.rank)}</span>
                <span className={styles.lineText}>{line.text}</span>
              </div>
            </Fragment>
          );
        })}
        {rows.after > 0 && <div style={{ height: rows.after }} />}
      </div>
      <div className={own.foot}>
        <DrawAll rows={rows} count={lines.length} what="lines" />
      </div>
    </>
  );
}

/** Keeps what is in view of a box where it is while older lines come above it, and while lines there are let go. */
function useUnmoved(box: RefObject<HTMLElement | null>, lines: readonly LogLineView[], total: number): void {
  const before = useRef({ first: 0, last: 0, height: 0, total: 0 });
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const [first, last] = [lines[0]?.position ?? 0, lines.at(-1)?.position ?? 0];
    const old = before.current;
    if (first < old.first) element.scrollTop += element.scrollHeight - old.height;
    else if (first > old.first && old.total > 0 && total > 0) {
      const added = lines.length - 1 - lines.findLastIndex(({ position }) => position <= old.last);
      element.scrollTop -= old.total + added * LINE - total; // what came was not drawn yet
    }
    before.current = { first, last, height: element.scrollHeight, total };
  }, [box, lines, total]);
}
