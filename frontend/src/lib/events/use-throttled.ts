import { useEffect, useMemo, useRef } from "react";
import { type Throttled, throttle } from "./throttle";

/** A throttled function that is stable over renders, calls the newest `call`, and stops with its component. */
export function useThrottled(call: () => unknown, interval: number): Throttled {
  const newest = useRef(call);
  useEffect(() => {
    newest.current = call;
  });
  const throttled = useMemo(() => throttle(() => newest.current(), interval), [interval]);
  useEffect(() => () => throttled.cancel(), [throttled]);
  return throttled;
}
