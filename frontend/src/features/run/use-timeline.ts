import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { readSystemOptions, readTimelineOptions } from "@/lib/client/@tanstack/react-query.gen";
import type { RunView } from "@/lib/client/types.gen";
import { isTerminal } from "@/lib/ui/states";
import { type Window, windowFrom } from "./asked-window";
import type { RunSearch } from "./search";
import { windowText } from "./timeline-window";

/** Between two looks for the rest of a trace that arrives, ms. */
const ARRIVING_MS = 3000;
/** After which a trace without an end gets none any more: its rank died, or its supervisor is away. */
const PATIENCE_MS = 180_000;
const SAMPLING_MS = 10_000;
/** For which the window rests before it is fetched, ms. */
const REST_MS = 160;

/** Whether the trace of a run may still arrive. */
export function arriving(run: RunView, complete: boolean | undefined, now: number): boolean {
  if (complete || !isTerminal(run.state)) return false;
  return run.finished_at !== null && now - Date.parse(run.finished_at) < PATIENCE_MS;
}

/** The part of the timeline that the URL asks for, with about one bin for each pixel. */
export function useTimeline(run: RunView, { t, step }: Pick<RunSearch, "t" | "step">) {
  const window = windowFrom(t);
  const bins = globalThis.innerWidth < 700 ? 400 : 900;
  const part = step !== undefined ? { step } : window ? { start: window[0], stop: window[1] } : {};
  return useQuery({
    ...readTimelineOptions({ path: { run_id: run.id }, query: { ...part, bins } }),
    enabled: run.spec.trace === true && isTerminal(run.state),
    placeholderData: keepPreviousData,
    refetchInterval: (query) => (arriving(run, query.state.data?.complete, Date.now()) ? ARRIVING_MS : false),
  });
}

/** The window on the screen, which moves at once; `settle` hears of it, as the URL has it, when it rests. */
export function useMovingWindow(
  shown: Window,
  settle: (text: string | undefined) => void,
  span: number,
): readonly [Window, (window: Window) => void] {
  const [moving, setMoving] = useState<Window>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const move = (window: Window) => {
    setMoving(window);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      settle(window[0] <= 0 && window[1] >= span ? undefined : windowText(window));
      setMoving(undefined);
    }, REST_MS);
  };
  return [moving ?? shown, move];
}

/** What the ranks of a run use; again while it runs. */
export function useSystem(run: RunView) {
  return useQuery({
    ...readSystemOptions({ path: { run_id: run.id } }),
    enabled: run.started_at !== null,
    refetchInterval: isTerminal(run.state) ? false : SAMPLING_MS,
  });
}
