import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { readMeQueryKey } from "@/lib/client/@tanstack/react-query.gen";
import { browser } from "@/lib/people/browser";
import { useMe } from "@/lib/people/use-me";
import { useSignedOut } from "./session";

const KEY = "hooke.person";

/** Tell the other tabs of this browser who uses it, empty: nobody any more; one that keeps nothing tells nobody. */
export function tellTabs(person: string): void {
  try {
    localStorage.setItem(KEY, person);
  } catch {
    // they notice when their stream ends
  }
}

/**
 * All tabs of a browser are signed in as one person. Whoever signs in or out in one of them is noticed by the others at once: they
 * ask who it is, and begin anew where it is somebody else, as what they show was read by another person.
 */
export function useOnePerson(): void {
  const out = useSignedOut();
  const me = useMe();
  const person = out ? "" : me && `${me.is_user ? "user" : me.credential} ${me.name}`;
  const first = useRef<string>(undefined);
  const client = useQueryClient();
  useEffect(() => {
    if (person === undefined) return;
    tellTabs(person);
    if (person === "") return;
    first.current ??= person;
    const { pathname, search } = window.location; // without what stands behind #, with which nothing is loaded
    if (first.current !== person) browser.load(`${pathname}${search}`);
  }, [person]);
  useEffect(() => {
    const hear = ({ key, newValue }: StorageEvent) => {
      if (key === KEY && newValue !== person) void client.invalidateQueries({ queryKey: readMeQueryKey() });
    };
    window.addEventListener("storage", hear);
    return () => window.removeEventListener("storage", hear);
  }, [client, person]);
}
