import { beforeEach, describe, expect, it, vi } from "vitest";
import { pngOf, standalone, svgBlob } from "@/lib/export/picture";
import { copyOrSave, fileName, saveText } from "@/lib/export/save";

describe("the name of a file", () => {
  it.each([
    ["Comparison, 8 workers", "comparison-8-workers"],
    ["Trials of Sync EASGD (2)", "trials-of-sync-easgd-2"],
    ["Über α", "über-α"],
    ["../../etc", "etc"],
    ["×", "hooke"],
  ])("of %s is %s", (title, name) => {
    expect(fileName(title)).toBe(name);
  });
});

describe("a file", () => {
  const saved: string[] = [];
  beforeEach(() => {
    saved.length = 0;
    Object.assign(URL, { createObjectURL: () => "blob:x", revokeObjectURL: () => undefined });
    vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
      saved.push(`${this.download} ${this.href}`);
    });
  });

  it("goes to the downloads under its name, and leaves nothing on the page", () => {
    saveText("a.csv", "1,2", "text/csv");
    expect(saved).toEqual(["a.csv blob:x"]);
    expect(document.querySelector("a")).toBeNull();
  });

  it("stands in for a clipboard that the browser does not give", async () => {
    vi.stubGlobal("navigator", { clipboard: undefined });
    expect(await copyOrSave("a.md", "text")).toBe(false);
    expect(saved).toEqual(["a.md blob:x"]);
    const written: string[] = [];
    vi.stubGlobal("navigator", { clipboard: { writeText: async (text: string) => written.push(text) } });
    expect(await copyOrSave("a.md", "text")).toBe(true);
    expect([written, saved.length]).toEqual([["text"], 1]);
    vi.unstubAllGlobals();
  });
});

describe("a drawing of the page", () => {
  function drawing(): SVGSVGElement {
    document.body.innerHTML =
      '<style>.line { stroke: rgb(1, 2, 3); }</style><svg class="whole"><path class="line" d="M0 0L1 1"/></svg>';
    return document.querySelector("svg") as unknown as SVGSVGElement;
  }

  it("leaves with the style that the sheets of the page give it, on the ground of the page", () => {
    const { svg, width, height } = standalone(drawing());
    const copy = new DOMParser().parseFromString(svg, "image/svg+xml");
    expect(copy.querySelector("parsererror")).toBeNull();
    expect(copy.querySelector("path")?.getAttribute("style")).toContain("stroke: rgb(1, 2, 3)");
    expect(svg).not.toContain("class=");
    expect(copy.querySelector("svg > rect")?.getAttribute("width")).toBe(String(width));
    expect([width, height]).toEqual([100, 20]); // of every element in these tests
    document.body.innerHTML = "";
  });

  it("is no picture where the browser cannot read it, and says so", async () => {
    let revoked = 0;
    Object.assign(URL, { createObjectURL: () => "blob:x", revokeObjectURL: () => (revoked += 1) });
    Object.defineProperty(HTMLImageElement.prototype, "decode", {
      configurable: true,
      value: () => Promise.reject(new Error("The image cannot be decoded.")),
    });
    await expect(pngOf({ svg: "<svg", width: 1, height: 1 })).rejects.toThrow("cannot be decoded");
    expect(revoked).toBe(1);
    expect(svgBlob({ svg: "<svg/>", width: 1, height: 1 }).type).toBe("image/svg+xml");
  });
});
