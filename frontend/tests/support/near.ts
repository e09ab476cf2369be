/** An `IntersectionObserver`, which jsdom lacks: a test says what is in view. */
import { act } from "@testing-library/react";
import { onTestFinished, vi } from "vitest";

type Changed = (entries: IntersectionObserverEntry[]) => void;

/** In view, near it, or neither. */
type Where = boolean | "near";

/** From now on, until the test ends, nothing is in view but what the function that is returned puts there, or takes away. */
export function outOfView(): (part: Element, where: Where) => void {
  const watched = new Map<Element, Observer[]>();
  class Observer {
    private readonly mine = new Set<Element>();
    private readonly margin: string;
    constructor(
      private readonly changed: Changed,
      { rootMargin = "0px" }: IntersectionObserverInit = {},
    ) {
      this.margin = rootMargin;
    }
    observe(element: Element): void {
      this.mine.add(element);
      watched.set(element, [...(watched.get(element) ?? []), this]);
    }
    disconnect(): void {
      for (const element of this.mine)
        watched.set(
          element,
          (watched.get(element) ?? []).filter((one) => one !== this),
        );
    }
    tell(where: Where): void {
      const isIntersecting = where === "near" ? Number.parseFloat(this.margin) > 0 : where;
      this.changed([{ isIntersecting } as IntersectionObserverEntry]);
    }
  }
  vi.stubGlobal("IntersectionObserver", Observer);
  onTestFinished(() => void vi.stubGlobal("IntersectionObserver", undefined));
  return (part, where) =>
    act(() => {
      for (const [element, all] of watched)
        if (part.contains(element) || element.contains(part)) for (const each of all) each.tell(where);
    });
}
