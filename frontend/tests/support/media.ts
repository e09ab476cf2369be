/** `matchMedia`, which jsdom lacks: the system's colour scheme, and no movement wanted. */
import { vi } from "vitest";

const listeners = new Set<(event: MediaQueryListEvent) => void>();
let dark = false;

function matches(query: string): boolean {
  if (query.includes("prefers-reduced-motion")) return true;
  return query.includes("prefers-color-scheme: dark") && dark;
}

function matchMedia(query: string): MediaQueryList {
  const list: Partial<MediaQueryList> = {
    media: query,
    get matches() {
      return matches(query);
    },
    addEventListener: (_: string, listener: unknown) => listeners.add(listener as never),
    removeEventListener: (_: string, listener: unknown) => listeners.delete(listener as never),
  };
  return list as MediaQueryList;
}

export function installMedia(): void {
  vi.stubGlobal("matchMedia", matchMedia);
}

export function resetMedia(): void {
  dark = false;
  listeners.clear();
}

/** The system changes between light and dark. */
export function setSystemDark(value: boolean): void {
  dark = value;
  for (const listener of [...listeners]) listener({ matches: value } as MediaQueryListEvent);
}
