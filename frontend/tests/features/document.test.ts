import { expect, it } from "vitest";
import { objectsAt, pointerOf, valueAt, withValue } from "@/lib/json/document";

const DOCUMENT = { variants: [{ name: "a", parameters: { lr: 0.1 } }, { name: "b" }], target: null };

it("reads a place, and undefined where there is none", () => {
  expect(valueAt(DOCUMENT, ["variants", 0, "parameters", "lr"])).toBe(0.1);
  expect(valueAt(DOCUMENT, ["variants", 7, "parameters", "lr"])).toBeUndefined();
  expect(valueAt(DOCUMENT, ["target", "value"])).toBeUndefined();
});

it("writes a copy, makes what is missing on the way, and shares the rest", () => {
  const next = withValue(DOCUMENT, ["variants", 1, "parameters", "rho"], 2);
  expect(next.variants[1]).toEqual({ name: "b", parameters: { rho: 2 } });
  expect(DOCUMENT.variants[1]).toEqual({ name: "b" });
  expect(next.variants[0]).toBe(DOCUMENT.variants[0]);
});

it("removes a key by writing undefined", () => {
  expect(withValue(DOCUMENT, ["variants", 0, "parameters", "lr"], undefined).variants[0]).toEqual({
    name: "a",
    parameters: {},
  });
});

it("escapes pointers as RFC 6901 says", () => {
  expect(pointerOf(["variants", 0, "parameters", "a/b~c"])).toBe("/variants/0/parameters/a~1b~0c");
  expect(pointerOf([])).toBe("");
});

it("lists only objects", () => {
  expect(objectsAt({ variants: [1, null, { name: "x" }, []] }, ["variants"])).toEqual([{ name: "x" }]);
  expect(objectsAt({}, ["variants"])).toEqual([]);
});
