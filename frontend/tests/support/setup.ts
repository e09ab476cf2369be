/** For every component test: what jsdom lacks, a clean page before each, and no complaint after it. */
import "@testing-library/jest-dom/vitest";
import { cleanup, configure } from "@testing-library/react";
import * as React from "react";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { installCanvas } from "./canvas";
import { installMedia, resetMedia } from "./media";

/** A browser has a layout, jsdom has none: here every element measures the same, within the window. */
const SIZE = { width: 800, height: 600 };
const BOX = { x: 10, y: 10, left: 10, top: 10, right: 110, bottom: 30, width: 100, height: 20 };

// No style sheet is loaded, so whether a rule hides something cannot be seen: asking for it takes most of the time.
configure({ asyncUtilTimeout: 60_000, defaultHidden: true });
vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true); // React then complains of renders that no test waited for
installCanvas();
installMedia();

// React keeps a call stack with the first 10,000 elements of each second, for the page of a browser's developer. Say
// that there have been as many: making them takes a sixth of the time.
const { __CLIENT_INTERNALS_DO_NOT_USE_OR_WARN_USERS_THEY_CANNOT_UPGRADE: internals } =
  React as unknown as Record<string, object>;
Object.defineProperty(internals, "recentlyCreatedOwnerStacks", { get: () => 10_000, set: () => undefined });

class QuietObserver implements ResizeObserver {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}
vi.stubGlobal("ResizeObserver", QuietObserver); // nothing ever changes its size
Object.defineProperty(HTMLElement.prototype, "clientWidth", { configurable: true, get: () => SIZE.width });
Object.defineProperty(HTMLElement.prototype, "clientHeight", { configurable: true, get: () => SIZE.height });
Element.prototype.getBoundingClientRect = () => ({ ...BOX, toJSON: () => BOX });
Object.defineProperty(document, "fonts", { configurable: true, value: new EventTarget() });
Element.prototype.scrollIntoView = () => undefined;
window.scrollTo = () => undefined;
Range.prototype.getClientRects = () => [] as unknown as DOMRectList;
Range.prototype.getBoundingClientRect = () => ({ ...BOX, toJSON: () => BOX });

const complaints: string[] = [];
const complain = (...parts: unknown[]) => {
  complaints.push(parts.map(String).join(" "));
};

beforeEach(() => {
  complaints.length = 0;
  vi.spyOn(console, "error").mockImplementation(complain);
  vi.spyOn(console, "warn").mockImplementation(complain);
  localStorage.clear();
  sessionStorage.clear();
  resetMedia();
  document.title = "";
  document.documentElement.removeAttribute("data-mantine-color-scheme");
});

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  vi.useRealTimers();
  expect(complaints, "what React or the browser complained of").toEqual([]);
});
