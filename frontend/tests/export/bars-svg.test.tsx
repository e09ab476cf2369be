import { expect, it } from "vitest";
import { heatSvg } from "@/features/run/heat-export";
import { heatRows } from "@/features/run/phase-heat";
import { barsSvg } from "@/lib/export/bars-svg";
import { phases } from "../support/fixtures/run";

it("bars are as high as their shares, and a gap has none", () => {
  const { svg } = barsSvg(
    "Staleness",
    [
      { share: 1, below: "0", above: "12" },
      { share: null, below: "1" },
      { share: 0.5, below: "2" },
    ],
    "updates",
  );
  const heights = [...svg.matchAll(/height="([\d.]+)" fill="#1f66d0"/g)].map(([, high]) => Number(high));
  expect(heights).toEqual([180, 90]);
  for (const word of [">Staleness<", ">0<", ">12<", ">2<", ">updates<"]) expect(svg).toContain(word);
});

it("a heat map leaves as cells in the colours of the phases", () => {
  const rows = heatRows([phases(0), phases(1)]);
  const { svg } = heatSvg("Shares", rows);
  expect(svg.match(/<rect [^>]*fill-opacity/g)).toHaveLength(12);
  expect(svg).toContain(">41.7%</text>");
});
