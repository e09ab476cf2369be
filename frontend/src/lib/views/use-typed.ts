import { useRouter } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";

/** Pause after the last key before the address has what was typed, ms. */
const PAUSE = 300;

/** What is being typed into a field whose text the address has; `settle` writes it there. */
export function useTyped(text: string, settle: (text: string) => void): [string, (text: string) => void] {
  const [typed, setTyped] = useState(text);
  const sent = useRef(text);
  const later = useRef<ReturnType<typeof setTimeout>>(undefined);
  const router = useRouter();
  useEffect(() => () => clearTimeout(later.current), []);
  useEffect(() => {
    if (text === sent.current) return; // what was typed here comes back
    clearTimeout(later.current); // whoever follows a link has left what was typed
    sent.current = text;
    setTyped(text);
  }, [text]);
  const type = (next: string) => {
    setTyped(next);
    clearTimeout(later.current);
    const page = router.latestLocation.pathname;
    later.current = setTimeout(() => {
      if (router.latestLocation.pathname !== page) return; // another page is being opened: this must not end that
      sent.current = next;
      settle(next);
    }, PAUSE);
  };
  return [typed, type];
}
