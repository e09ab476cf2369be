import { getRouteApi } from "@tanstack/react-router";
import { type ReactNode, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { inTurn } from "@/lib/charts/in-turn";
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
  // what is shown, and what the address said when it was last followed
  const [{ x, followed }, show] = useState({ x: now, followed: now });
  const behind = near && followed !== now;
  if (behind && printing) show({ x: now, followed: now });
  useEffect(() => {
    if (!behind) return;
    const later = inTurn(() => show({ x: now, followed: now }));
    later();
    return later.cancel;
  }, [behind, now]);
  return useMemo(
    () =>
      draw(zoomFrom(x), (next) => {
        show((before) => ({ ...before, x: next && zoomText(next) }));
        onZoom(next);
      }),
    [x, draw, onZoom],
  );
}

/** Whether a part of the axis is in view. */
export const useIsZoomed = () => route.useSearch({ select: ({ x }) => zoomFrom(x) !== undefined });
