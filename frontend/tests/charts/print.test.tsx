import { fireEvent, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { LineChart } from "@/lib/charts/line-chart";
import type { ChartSeries } from "@/lib/charts/series";
import { useWidth } from "@/lib/charts/use-width";
import { variantStyle } from "@/lib/theme/palette";
import { lightOnPaper, PAPER } from "@/lib/theme/paper";
import { frame, show } from "../support/app";
import { drawnIn } from "../support/canvas";
import { setSystemDark } from "../support/media";

const A: ChartSeries = { label: "A", style: variantStyle(0), x: [0, 50, 100], y: [0.2, 0.6, 1] };
const strokes = (style: string) =>
  drawnIn(screen.getByRole("img")).filter((mark) => mark.kind === "stroke" && mark.style === style);

it("a drawing that is wider than a sheet is made as wide as it while the page is printed", async () => {
  show(
    <LineChart
      title="Accuracy"
      series={[A]}
      xTitle="s"
      formatX={String}
      tickX={String}
      formatY={String}
      tickY={String}
    />,
  );
  await frame();
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
  show(
    <LineChart
      title="Accuracy"
      series={[A]}
      xTitle="s"
      formatX={String}
      tickX={String}
      formatY={String}
      tickY={String}
    />,
  );
  await frame();
  const scheme = () => document.documentElement.dataset.mantineColorScheme;
  expect([scheme(), strokes(A.style.light).length]).toEqual(["dark", 0]);
  const before = strokes(A.style.dark).length;
  fireEvent(window, new Event("beforeprint"));
  await frame();
  expect(scheme()).toBe("light");
  expect(strokes(A.style.light).length).toBeGreaterThan(0);
  fireEvent(window, new Event("afterprint"));
  await frame();
  expect([scheme(), before]).toEqual(["dark", strokes(A.style.dark).length]);
});
