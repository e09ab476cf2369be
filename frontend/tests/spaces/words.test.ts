import { expect, it } from "vitest";
import { edgeWords, formatCondition, formatSpace, formatValue } from "@/lib/spaces/words";

it.each([
  [0.29123456, "0.2912"],
  [64, "64"],
  [3e-7, "3.000e-7"],
  ["nesterov", "nesterov"],
  [true, "true"],
  [null, "empty"],
  [undefined, "empty"],
  [[1, 2], "[1,2]"],
])("the value %o is written %s", (value, text) => {
  expect(formatValue(value)).toBe(text);
});

it.each([
  [{ low: 0.2, high: 1.2 }, "0.2 to 1.2"],
  [{ low: 0.003, high: 0.3, scale: "log" }, "0.003 to 0.3, log"],
  [{ low: 0, high: 0.97, scale: "reverse-log" }, "0 to 0.97, log of 1 − x"],
  [{ low: 1, high: 64, scale: "log", integer: true }, "1 to 64, whole, log"],
  [{ choices: [1, "a", null, false], low: null, high: null }, "1, a, empty, false"],
] as const)("the space %o is written %s", (space, text) => {
  const choices = "choices" in space ? [...space.choices] : null;
  expect(formatSpace({ ...space, choices })).toBe(text);
});

it("conditions are told, where there are any", () => {
  expect(formatCondition({ low: 0, high: 1 })).toBe("");
  expect(formatCondition({ low: 0, high: 1, when: { alpha: [null] } })).toBe("alpha is empty");
  const when = { inner: ["sgd", "adam"], period: [1] };
  expect(formatCondition({ low: 0, high: 1, when })).toBe("inner is sgd or adam and period is 1");
  const space = { low: 0, high: 1, when: { inner: ["sgd"] }, unless: { momentum: [0] } };
  expect(formatCondition(space)).toBe("inner is sgd and momentum is not 0");
});

it("an edge is told with the space that it ends", () => {
  const space = { low: 0.003, high: 0.3, scale: "log" } as const;
  expect(edgeWords("lr", 0.29, "high", space)).toBe(
    "lr = 0.29 lies at the upper edge of its space (0.003 to 0.3, log)",
  );
  expect(edgeWords("rank", 1, "low", undefined)).toBe("rank = 1 lies at the lower edge of its space");
});
