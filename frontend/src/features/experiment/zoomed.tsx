import { getRouteApi } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState, useSyncExternalStore } from "react";
import { type Zoom, zoomFrom } from "@/lib/charts/zoom";
import type { Presence } from "./presence";

const route = getRouteApi("/experiments/$experimentId");
const inAddress = ({ x }: { x?: string }) => x;

/**
 * Draws with the part of the axis that the page has in view, which is in its address: a zoom renders the charts that are in view, and
 * nothing around them. The others follow when they come near.
 */
export function Zoomed({
  presence,
  draw,
}: {
  presence: Presence;
  draw: (zoom: Zoom | undefined) => ReactNode;
}) {
  const near = useSyncExternalStore(presence.subscribe, presence.is);
  const now = route.useSearch({ select: inAddress });
  const [shown, show] = useState(now);
  if (near && shown !== now) show(now);
  return useMemo(() => draw(zoomFrom(shown)), [shown, draw]);
}

/** Whether a part of the axis is in view. */
export const useIsZoomed = () => route.useSearch({ select: ({ x }) => zoomFrom(x) !== undefined });
