import { getRouteApi } from "@tanstack/react-router";
import {
  type ReactNode,
  useEffect,
  useEffectEvent,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { flushSync } from "react-dom";
import { inTurn } from "@/lib/charts/in-turn";
import type { Framed } from "@/lib/charts/once-per-frame";
import { type Zoom, zoomFrom, zoomText } from "@/lib/charts/zoom";
import { usePrinting } from "@/lib/rows/use-whole";
import type { Presence } from "./presence";

const route = getRouteApi("/experiments/$experimentId");
const inAddress = ({ x }: { x?: string }) => x;

type OnZoom = (zoom: Zoom | undefined) => void;

interface ZoomedProps {
  readonly presence: Presence;
  readonly onZoom: OnZoom;
  readonly draw: (zoom: Zoom | undefined, onZoom: OnZoom) => ReactNode;
}

/** What a chart has in view, and whether it was made there and is to be in the address, too. */
interface Shown {
  readonly x: string | undefined;
  readonly made?: { readonly zoom: Zoom | undefined };
}

/**
 * Draws with the part of the axis that the page has in view, which is in its address: a zoom renders the charts that are in view, and
 * nothing around them, at once the one on which it was made. It is in the address a frame later, for which the browser has as much to do;
 * then one of the other charts is drawn in each frame. What is out of view follows when it comes near.
 */
export function Zoomed({ presence, onZoom, draw }: ZoomedProps) {
  const near = useSyncExternalStore(presence.subscribe, presence.is);
  const printing = usePrinting();
  const now = route.useSearch({ select: inAddress });
  const [{ x, made }, show] = useState<Shown>({ x: now });
  const following = useRef<Framed>(undefined);
  const isBehind = useEffectEvent(() => x !== now);
  const keep = useEffectEvent(onZoom);
  if (near && printing && x !== now) show({ x: now });
  // with each change of the address: one made here is shown before it is there
  useEffect(() => {
    if (!near || !isBehind()) return;
    const later = inTurn(() => flushSync(() => show({ x: now }))); // rendered, it is drawn within its turn
    following.current = later;
    later();
    return later.cancel;
  }, [near, now]);
  // after the effects of the chart, so that its turn to be drawn is before this one
  useEffect(() => {
    if (!made) return;
    const later = inTurn(() => keep(made.zoom));
    later();
    return later.cancel;
  }, [made]);
  return useMemo(
    () =>
      draw(zoomFrom(x), (zoom) => {
        following.current?.cancel(); // this is newer
        show({ x: zoom && zoomText(zoom), made: { zoom } });
      }),
    [x, draw],
  );
}

/** Whether a part of the axis is in view, told in a frame of its own: what appears by it has the page painted. */
export function useIsZoomed(): boolean {
  const now = route.useSearch({ select: ({ x }) => zoomFrom(x) !== undefined });
  const [is, tell] = useState(now);
  useEffect(() => {
    const later = inTurn(() => flushSync(() => tell(now)));
    later();
    return later.cancel;
  }, [now]);
  return is;
}
