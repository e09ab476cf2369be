import { Text } from "@mantine/core";
import { type PointerEvent, useEffect, useLayoutEffect, useRef, useState } from "react";
import { useWidth } from "@/lib/charts/use-width";
import type { TimelineView } from "@/lib/client/types.gen";
import { useDrawnScheme } from "@/lib/theme/paper";
import type { Window } from "./asked-window";
import styles from "./timeline.module.css";
import { draw, inkOf } from "./timeline-draw";
import { frameOf, hitAt, rowTop, timeAt, xOf } from "./timeline-layout";
import { type Reading, readBy } from "./timeline-reading";
import { byKey, inside, moved, zoomed } from "./timeline-window";
import { extentWords, hitWords } from "./timeline-words";

interface TimelineCanvasProps {
  readonly answer: TimelineView;
  readonly window: Window;
  readonly straggler: number | undefined;
  /** Whether it is of another window, until the one in view has been read. */
  readonly stale: boolean;
  /** Called while the window moves. */
  readonly move: (window: Window) => void;
}

/** Movement from which on a press is a drag, px. */
const DRAG = 4;

/** A place of the drawing, and in the browser's window. */
interface Place {
  readonly x: number;
  readonly y: number;
  readonly left: number;
  readonly top: number;
}

interface Grip {
  readonly x: number;
  readonly window: Window;
  /** Whether a part is marked, to be zoomed to. */
  readonly marks: boolean;
}

/** The drawing, and the hands on it: wheel, drag, keys. */
export function TimelineCanvas({ answer, window, straggler, stale, move }: TimelineCanvasProps) {
  const scheme = useDrawnScheme();
  const [host, width] = useWidth<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const grip = useRef<Grip | undefined>(undefined);
  const [hover, setHover] = useState<Place>();
  const [marked, setMarked] = useState<readonly [number, number]>();
  const [reading, setReading] = useState<Reading>();
  const frame = frameOf(answer.ranks.length, width);
  const span = answer.span;
  const newest = useRef({ frame, window, span, move });

  useLayoutEffect(() => {
    newest.current = { frame, window, span, move };
  });

  // biome-ignore lint/correctness/useExhaustiveDependencies: the scheme changes the colours that are read from the page
  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || width === 0) return;
    const ratio = globalThis.devicePixelRatio || 1;
    element.width = Math.round(width * ratio);
    element.height = Math.round(frame.height * ratio);
    context.setTransform?.(ratio, 0, 0, ratio, 0, 0);
    draw(context, { answer, frame, window, width, ink: inkOf(element), straggler });
  }, [answer, window, width, frame.height, straggler, scheme]);

  useEffect(() => {
    const element = host.current;
    if (!element) return;
    // the page scrolls by the wheel unless the drawing has the focus or a key asks for it; React listens passively
    const wheel = (event: WheelEvent) => {
      const now = newest.current;
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (!sideways && !event.ctrlKey && !event.metaKey && document.activeElement !== element) return;
      event.preventDefault();
      const pixels = (sideways ? event.deltaX : event.deltaY) * (event.deltaMode === 1 ? 16 : 1);
      const x = event.clientX - element.getBoundingClientRect().left;
      if (sideways)
        now.move(moved(now.window, pixels / Math.max(1, now.frame.right - now.frame.left), now.span));
      else now.move(zoomed(now.window, Math.exp(pixels * 0.002), timeAt(now.frame, now.window, x), now.span));
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, [host]);

  const place = (event: PointerEvent) => {
    const box = event.currentTarget.getBoundingClientRect();
    return {
      x: event.clientX - box.left,
      y: event.clientY - box.top,
      left: event.clientX,
      top: event.clientY,
    };
  };
  const drag = (event: PointerEvent) => {
    const now = place(event);
    const { x } = now;
    const held = grip.current;
    if (!held) {
      setHover(now);
      return;
    }
    setHover(undefined);
    if (Math.abs(x - held.x) < DRAG) return;
    if (held.marks) setMarked([Math.min(held.x, x), Math.max(held.x, x)]);
    else move(moved(held.window, (held.x - x) / (frame.right - frame.left), span));
  };
  const release = () => {
    if (marked) move(inside([timeAt(frame, window, marked[0]), timeAt(frame, window, marked[1])], span));
    setMarked(undefined);
    grip.current = undefined;
  };
  const read = reading && {
    x: xOf(frame, window, reading.time),
    y: rowTop(frame, reading.position) + frame.row / 2,
  };
  const told = hover ?? read;
  const hit = told && hitAt(answer, frame, window, told.x, told.y);
  const words = hit && hitWords(hit, answer);
  return (
    <>
      <div className={styles.scroll} data-stale={stale}>
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms */}
        <div
          ref={host}
          role="group"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys move the window
          tabIndex={0}
          aria-label="Timeline of the ranks"
          aria-describedby="timeline-keys"
          className={styles.drawing}
          data-testid="timeline-drawing"
          onKeyDown={(event) => {
            if (event.ctrlKey || event.metaKey || event.altKey) return;
            const next = byKey(event.key, window, span);
            const to = readBy(event.key, answer, window, reading);
            if (!next && !to) return;
            event.preventDefault();
            if (next) move(next);
            if (!to) return;
            setHover(undefined);
            setReading(to);
            const [from, until] = window;
            if (to.time < from || to.time > until)
              move(moved(window, (to.time - (from + until) / 2) / (until - from), span));
          }}
          onPointerDown={(event) => {
            if (event.button !== 0) return;
            event.currentTarget.setPointerCapture?.(event.pointerId);
            grip.current = { x: place(event).x, window, marks: event.shiftKey };
          }}
          onPointerMove={drag}
          onPointerUp={release}
          onPointerCancel={release}
          onPointerLeave={() => setHover(undefined)}
          onDoubleClick={() => move([0, span])}
          onBlur={() => setReading(undefined)}
        >
          <canvas
            ref={canvas}
            role="img"
            aria-label={`Phases of ${answer.ranks.length} ranks over time: ${extentWords(answer, frame)}`}
            style={{ width, height: frame.height }}
          />
          {marked && (
            <div
              className={styles.marked}
              style={{ left: marked[0], width: marked[1] - marked[0], top: frame.top }}
            />
          )}
          {read && !hover && read.x >= frame.left && read.x <= frame.right && (
            <div
              className={styles.read}
              style={{ left: read.x, top: read.y - frame.row / 2, height: frame.row }}
            />
          )}
          {hover && words && (
            <div
              className={styles.tip}
              data-testid="timeline-tip"
              style={{
                top: hover.top + 16,
                ...(hover.left > globalThis.innerWidth / 2
                  ? { right: globalThis.innerWidth - hover.left }
                  : { left: hover.left }),
              }}
            >
              {words.map((line) => (
                <div key={line}>{line}</div>
              ))}
            </div>
          )}
        </div>
      </div>
      {read && (
        <Text fz={13} mt={8} data-testid="timeline-read" aria-live="polite">
          {words?.join(" · ") ?? "Nothing is recorded here"}
        </Text>
      )}
      <Text fz={12.5} c="dimmed" mt={8} data-testid="timeline-extent" aria-live="polite">
        In view: {extentWords(answer, frame)}.
      </Text>
    </>
  );
}
