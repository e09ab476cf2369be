import { screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { described, pointsOf } from "@/features/experiments/best-curve";
import type { BestCurve } from "@/lib/client/types.gen";
import { variantStyle } from "@/lib/theme/palette";
import { openApp } from "../support/app";
import { summary } from "../support/fixtures/experiment";
import { apiServer } from "../support/server";

const server = apiServer();
const CURVE: BestCurve = {
  variant: "Sync EASGD",
  cluster: "local",
  simulated: false,
  metric: "validation_accuracy",
  target: 0.97,
  seconds: 9.31,
  seeds: 3,
  values: [0.1, 0.5, 0.9, 0.974],
};

describe("the points of a curve", () => {
  it("go from left to right at equal distances, and up as values rise", () => {
    const { points } = pointsOf(CURVE);
    const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
    const steps = xs.slice(1).map((x, n) => x - (xs[n] ?? 0));
    expect(Math.max(...steps) - Math.min(...steps)).toBeLessThan(1e-9);
    expect(ys).toEqual(ys.toSorted((a, b) => b - a));
    expect([...xs, ...ys].every((each) => each >= 0 && each <= 112)).toBe(true);
  });

  it("leave a target in the picture that no value reaches", () => {
    const { points, targetAt } = pointsOf({ values: [0.1, 0.2], target: 0.97 });
    const top = Math.min(...points.map(([, y]) => y));
    expect(targetAt).toBeGreaterThanOrEqual(0);
    expect(targetAt).toBeLessThan(top);
  });

  it("are a level line, at half height, where all values are the same", () => {
    const { points, targetAt } = pointsOf({ values: [0.5, 0.5, 0.5], target: null });
    expect(new Set(points.map(([, y]) => y))).toEqual(new Set([18]));
    expect(targetAt).toBeNull();
  });

  it("are one point of one value", () => {
    expect(pointsOf({ values: [0.5], target: null }).points).toEqual([[3, 18]]);
  });
});

describe("a curve in words", () => {
  it("names variant, place, values, time, target and seeds", () => {
    expect(described(CURVE)).toBe(
      "Validation accuracy of Sync EASGD on local: 10.00% to 97.40% in 9.31 s, target 97.00%; median of 3 seeds",
    );
  });

  it("says that it is simulated, and of one seed it says no median", () => {
    const loss = { ...CURVE, metric: "validation_loss", target: null, seeds: 1, simulated: true };
    expect(described({ ...loss, values: [2.31, 0.1] })).toBe(
      "Validation loss of Sync EASGD on local: 2.31 to 0.1 in 9.31 s; 1 seed, simulated",
    );
  });
});

describe("the list", () => {
  it("shows the curve in the colour of its variant, and keeps the place of one that is not known yet", async () => {
    server.on("GET /experiments", {
      items: [summary(8, { curve: CURVE }), summary(7, { curve: null }), summary(6)],
      next_cursor: null,
    });
    openApp(server, "/");
    const curve = await screen.findByRole("img", { name: described(CURVE) });
    expect(curve.querySelector("polyline")?.getAttribute("stroke")).toBe(variantStyle(1).color);
    expect(screen.getAllByTestId("best-curve")).toHaveLength(1);
    const places = screen.getAllByTestId("experiment-item").map((item) => item.childElementCount);
    expect(new Set(places).size).toBe(1);
  });

  it("names six variants and counts the others", async () => {
    const variants = Array.from({ length: 9 }, (_, n) => `Sync EASGD, period ${n}`);
    server.on("GET /experiments", { items: [summary(7, { variants })], next_cursor: null });
    openApp(server, "/");
    const item = await screen.findByTestId("experiment-item");
    expect(item).toHaveTextContent("Sync EASGD, period 5and 3 more");
    expect(item).not.toHaveTextContent("Sync EASGD, period 6");
  });
});
