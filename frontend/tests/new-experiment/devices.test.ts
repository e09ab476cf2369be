import { describe, expect, it } from "vitest";
import { devicesFrom, devicesText, withDevices } from "@/features/new-experiment/devices";

describe("virtual devices as text", () => {
  it.each([
    ["2 v100, cpu-28", [{ kind: "v100", count: 2 }, { kind: "cpu-28" }]],
    ["2x k80", [{ kind: "k80", count: 2 }]],
    [" h100 ", [{ kind: "h100" }]],
    ["two of them", [{ kind: "two of them" }]],
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
  });

  it("has as many workers as devices", () => {
    const draft = { clusters: [{ name: "a" }, { workers: [8], virtual: { latency: 0 } }] };
    const devices = devicesFrom("2 v100, cpu-28");
    expect(withDevices(draft, 1, devices)).toEqual({
      clusters: [{ name: "a" }, { workers: [3], virtual: { latency: 0, devices } }],
    });
    const without = withDevices(withDevices(draft, 1, devices), 1, undefined);
    expect(without).toEqual({ clusters: [{ name: "a" }, { workers: [3], virtual: { latency: 0 } }] });
  });
});
