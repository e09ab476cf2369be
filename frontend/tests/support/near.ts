/** An `IntersectionObserver`, which jsdom lacks: a test says what is in view. */
import { act } from "@testing-library/react";
import { onTestFinished, vi } from "vitest";

type Changed = (entries: IntersectionObserverEntry[]) => void;

/** From now on, until the test ends, nothing is in view but what the function that is returned puts there, or takes away. */
export function outOfView(): (part: Element, inView: boolean) => void {
  const watched = new Map<Element, Changed[]>();
  class Observer {
    private readonly mine = new Set<Element>();
    constructor(private readonly changed: Changed) {}
    observe(element: Element): void {
      this.mine.add(element);
      watched.set(element, [...(watched.get(element) ?? []), this.changed]);
    }
    disconnect(): void {
      for (const element of this.mine)
        watched.set(
          element,
          (watched.get(element) ?? []).filter((one) => one !== this.changed),
        );
    }
  }
  vi.stubGlobal("IntersectionObserver", Observer);
  onTestFinished(() => void vi.stubGlobal("IntersectionObserver", undefined));
  return (part, inView) =>
    act(() => {
      for (const [element, all] of watched)
        if (part.contains(element) || element.contains(part))
          for (const changed of all) changed([{ isIntersecting: inView } as IntersectionObserverEntry]);
    });
}
