import { screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { isTooLarge, MemoryNote, memoryBasis, memoryWords } from "@/features/new-experiment/memory-note";
import type { MemoryView } from "@/lib/client/types.gen";
import { show } from "../support/app";

const VIEW: MemoryView = {
  ...{ cluster: "local", host: "rack", variant: "Sync EASGD", workers: 2, processes: 2 },
  ...{ bytes: 1.3e9, program: 600e6, data: 100e6, vectors: 580e6, activations: 20e6 },
  ...{ available: 16e9, assumed: [] },
};
const UNKNOWN: MemoryView = { cluster: "local", host: "rack", available: 16e9 };

describe("the memory of a plan", () => {
  it("is told with that of the host, where both are known", () => {
    expect(memoryWords(VIEW)).toBe("about 1.3 GB; rack has 16 GB");
    expect(memoryWords({ ...VIEW, available: null })).toBe("about 1.3 GB");
    expect(memoryWords(UNKNOWN)).toMatch(/^no prediction: the size of this workload/);
  });

  it("says where the host has less", () => {
    expect(isTooLarge(VIEW)).toBe(false);
    expect(isTooLarge({ ...VIEW, available: 1e9 })).toBe(true);
    expect(isTooLarge({ ...VIEW, available: null })).toBe(false);
    expect(isTooLarge(UNKNOWN)).toBe(false);
    expect(memoryWords({ ...VIEW, available: 1e9 })).toBe("about 1.3 GB; rack has 1 GB, which is not enough");
  });

  it("has a basis: what it is the sum of, and what it assumes", () => {
    expect(memoryBasis(VIEW)).toBe(
      "estimate for Sync EASGD with 2 workers: 2 programs 600 MB, vectors 580 MB, activations 20 MB, data 100 MB",
    );
    const simulated = { ...VIEW, processes: 1, workers: 1, data: 0, assumed: ["1,000 classes"] };
    expect(memoryBasis(simulated)).toMatch(
      /with 1 worker: a program 600 MB,.*20 MB; assumed: 1,000 classes$/,
    );
  });

  it("names clusters where there are several", () => {
    show(<MemoryNote memory={[VIEW, { ...UNKNOWN, cluster: "lab" }]} />);
    const items = screen.getAllByRole("listitem");
    expect(items[0]).toHaveTextContent(/^Memory on local: about 1.3 GB/);
    expect(items[1]).toHaveTextContent(/^Memory on lab: no prediction/);
  });
});
