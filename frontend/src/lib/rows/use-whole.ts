import { useCallback, useEffect, useState } from "react";
import { flushSync } from "react-dom";
import { PLAIN } from "./gaps";

/** Whether the page is being printed; what follows from it is drawn before the browser takes the picture. */
export function usePrinting(): boolean {
  const [printing, setPrinting] = useState(false);
  useEffect(() => {
    const begin = () => flushSync(() => setPrinting(true));
    const end = () => setPrinting(false);
    window.addEventListener("beforeprint", begin);
    window.addEventListener("afterprint", end);
    return () => {
      window.removeEventListener("beforeprint", begin);
      window.removeEventListener("afterprint", end);
    };
  }, []);
  return printing;
}

export interface Whole {
  /** Whether every row is drawn: there are few, it was asked for, or the page is printed. */
  readonly whole: boolean;
  /** Whether rows are left out unless somebody asks for all. */
  readonly long: boolean;
  /** Whether somebody has asked for all rows. */
  readonly asked: boolean;
  readonly ask: (all: boolean) => void;
  /** Draw every row now; the function that is returned ends that. */
  readonly prepare: () => () => void;
}

export function useWhole(count: number): Whole {
  const printing = usePrinting();
  const [asked, setAsked] = useState(false);
  const [prepared, setPrepared] = useState(false);
  const prepare = useCallback(() => {
    flushSync(() => setPrepared(true));
    return () => setPrepared(false);
  }, []);
  const long = count > PLAIN;
  return { whole: !long || asked || printing || prepared, long, asked, ask: setAsked, prepare };
}
