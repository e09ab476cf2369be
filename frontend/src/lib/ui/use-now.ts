import { useEffect, useState } from "react";

/** The time, ms since 1970, refreshed every `interval` ms: for ages. */
export function useNow(interval = 15_000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), interval);
    return () => clearInterval(timer);
  }, [interval]);
  return now;
}
