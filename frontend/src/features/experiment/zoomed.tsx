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

/**
 * Draws with the part of the axis that the page has in view, which is in its address: a zoom renders the charts that are in view, and
 * nothing around them, at once the one on which it was made, then one in each frame. The others follow when they come near.
 */
export function Zoomed({ presence, onZoom, draw }: ZoomedProps) {
  const near = useSyncExternalStore(presence.subscribe, presence.is);
  const printing = usePrinting();
  const now = route.useSearch({ select: inAddress });
  const [x, show] = useState(now);
  const following = useRef<Framed>(undefined);
  const isBehind = useEffectEvent(() => x !== now);
  if (near && printing && x !== now) show(now);
  // with each change of the address: one made here is shown before it is there
  useEffect(() => {
    if (!near || !isBehind()) return;
    const later = inTurn(() => show(now));
    following.current = later;
    later();
    return later.cancel;
  }, [near, now]);
  return useMemo(
    () =>
      draw(zoomFrom(x), (next) => {
        following.current?.cancel(); // this is newer
        show(next && zoomText(next));
        onZoom(next);
      }),
    [x, draw, onZoom],
  );
}

/** Whether a part of the axis is in view. */
export const useIsZoomed = () => route.useSearch({ select: ({ x }) => zoomFrom(x) !== undefined });
