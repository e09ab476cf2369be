/** Heights for what draws only the rows in view: jsdom has no layout. */
import { vi } from "vitest";

const VIEW = 600; // px of a box that scrolls

/** From now on, until the test ends, every row that says its index is so high. */
export function rowsAre(height: number): void {
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockImplementation(function (this: HTMLElement) {
    return this.dataset.index === undefined ? VIEW : height;
  });
  vi.spyOn(HTMLElement.prototype, "offsetWidth", "get").mockReturnValue(800);
}
