import { describe, expect, it } from "vitest";
import { hardwareRows } from "@/lib/format/hardware";

describe("the hardware of a run", () => {
  it("is told in words and units", () => {
    const told = hardwareRows({
      host: "node1",
      cpu: "AMD EPYC",
      cpu_generation: "family 25 model 1",
      cpu_bf16: "emulated",
      cores: 2,
      memory_bytes: 25_276_514_304,
    });
    expect(told).toEqual([
      ["host", "node1"],
      ["processor", "AMD EPYC"],
      ["generation", "family 25 model 1"],
      ["bf16 by", "emulation"],
      ["cores", "2"],
      ["memory", "25.3 GB"],
    ]);
  });

  it("leaves out what a host could not tell and shows what is new", () => {
    expect(hardwareRows({ cpu_generation: "", cuda_devices: 2, cache_bytes: "none" })).toEqual([
      ["cuda devices", "2"],
      ["cache bytes", "none"],
    ]);
  });
});
