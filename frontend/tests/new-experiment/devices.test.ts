import { describe, expect, it } from "vitest";
import { devicesFrom, devicesText, NOTATION, withDevices } from "@/features/new-experiment/devices";

describe("virtual devices as text", () => {
  it.each([
    ["2 v100, cpu-28", [{ kind: "v100", count: 2 }, { kind: "cpu-28" }]],
    ["2x k80", [{ kind: "k80", count: 2 }]],
    [" h100 ", [{ kind: "h100" }]],
    ["two of them", [{ kind: "two of them" }]],
    ["hogwild-cpu:8", [{ kind: "hogwild-cpu", threads: 8 }]],
    [
      "2 cpu@0.25, cpu@.5",
      [
        { kind: "cpu", count: 2, speed: 0.25 },
        { kind: "cpu", speed: 0.5 },
      ],
    ],
    [
      "hogwild-cpu:4/16@0.5+bf16",
      [{ kind: "hogwild-cpu", threads: 4, sub_batches: 16, speed: 0.5, precision: "bf16" }],
    ],
    [
      "2 cpu@0.5~30:0.5~60+60:0.8!0.02*20, cpu!0.1",
      [
        {
          kind: "cpu",
          count: 2,
          speed: 0.5,
          changes: [
            { at: 30, speed: 0.5 },
            { at: 60, over: 60, speed: 0.8 },
          ],
          straggling: 0.02,
          straggling_factor: 20,
        },
        { kind: "cpu", straggling: 0.1 },
      ],
    ],
    ["cpu~30", [{ kind: "cpu~30" }]],
    ["cpu:", [{ kind: "cpu:" }]],
    ["", undefined],
    [" , ", undefined],
  ])("reads %o", (text, groups) => {
    expect(devicesFrom(text)).toEqual(groups);
  });

  it("is written as it is read", () => {
    expect(
      devicesText([
        { kind: "v100", count: 2 },
        { kind: "cpu-28", count: 1 },
      ]),
    ).toBe("2 v100, cpu-28");
    expect(devicesText(undefined)).toBe("");
    expect(devicesText(devicesFrom("3 h100, k80"))).toBe("3 h100, k80");
    expect(devicesText(devicesFrom("2 hogwild-cpu:4/16@0.5+bf16, cpu"))).toBe(
      "2 hogwild-cpu:4/16@0.5+bf16, cpu",
    );
    const changing = "cpu@0.5+bf16~30:0.5~60+60:0.8!0.02*20, 2 v100!0.1";
    expect(devicesText(devicesFrom(changing))).toBe(changing);
  });

  it("is read as its notation is told", () => {
    const marks = NOTATION.match(/(?<= )[:/@+~!][^\s,]+/g) ?? [];
    expect(devicesFrom(`2 hogwild-cpu${marks.join("")}`)).toEqual([
      {
        kind: "hogwild-cpu",
        count: 2,
        threads: 8,
        sub_batches: 16,
        speed: 0.5,
        precision: "bf16",
        changes: [
          { at: 30, speed: 0.5 },
          { at: 30, over: 60, speed: 0.5 },
        ],
        straggling: 0.02,
        straggling_factor: 20,
      },
    ]);
  });

  it("has as many workers as devices", () => {
    const draft = { clusters: [{ name: "a" }, { workers: [8], virtual: { latency: 0 } }] };
    const devices = devicesFrom("2 v100, cpu-28");
    expect(withDevices(draft, 1, devices)).toEqual({
      clusters: [{ name: "a" }, { workers: [3], virtual: { latency: 0, devices } }],
    });
    expect(withDevices(draft, 0, devicesFrom("hogwild-cpu:8, 2 cpu"), false).clusters[0]).toEqual({
      name: "a",
      workers: [3],
      groups: [
        { kind: "hogwild-cpu", threads: 8 },
        { kind: "cpu", count: 2 },
      ],
    });
    const without = withDevices(withDevices(draft, 1, devices), 1, undefined);
    expect(without).toEqual({ clusters: [{ name: "a" }, { workers: [3], virtual: { latency: 0 } }] });
  });
});
