import { fireEvent, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { useWidth } from "@/lib/charts/use-width";
import { lightOnPaper, PAPER } from "@/lib/theme/paper";
import { frame, show } from "../support/app";
import { CURVE, showChart, strokes } from "../support/charts";
import { setSystemDark } from "../support/media";

it("a drawing that is wider than a sheet is made as wide as it while the page is printed", async () => {
  await showChart();
  const width = () => Number.parseFloat(document.querySelector<HTMLElement>(".u-wrap")?.style.width ?? "");
  expect(width()).toBe(800);
  fireEvent(window, new Event("beforeprint"));
  await frame();
  expect(width()).toBe(PAPER);
  fireEvent(window, new Event("afterprint"));
  await frame();
  expect(width()).toBe(800);
});

function Place() {
  const [host, width] = useWidth<HTMLDivElement>();
  return <div ref={host}>{width} px</div>;
}

it("what measures its place has the width of a sheet while the page is printed", () => {
  show(<Place />);
  expect(screen.getByText("800 px")).toBeVisible();
  fireEvent(window, new Event("beforeprint"));
  expect(screen.getByText(`${PAPER} px`)).toBeVisible();
  fireEvent(window, new Event("afterprint"));
  expect(screen.getByText("800 px")).toBeVisible();
});

it("a chart is drawn for white paper while a dark page is printed, and then as before", async () => {
  setSystemDark(true);
  lightOnPaper();
  await showChart();
  const scheme = () => document.documentElement.dataset.mantineColorScheme;
  expect([scheme(), strokes(CURVE.style.light).length]).toEqual(["dark", 0]);
  const before = strokes(CURVE.style.dark).length;
  fireEvent(window, new Event("beforeprint"));
  await frame();
  expect(scheme()).toBe("light");
  expect(strokes(CURVE.style.light).length).toBeGreaterThan(0);
  fireEvent(window, new Event("afterprint"));
  await frame();
  expect([scheme(), before]).toEqual(["dark", strokes(CURVE.style.dark).length]);
});
