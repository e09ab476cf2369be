import { expect, it } from "vitest";
import { isolated } from "@/lib/format/isolated";
import { isolatedParts } from "@/lib/format/right-to-left";

const HEBREW = "\u05e7\u05e6\u05d1";
const [FIRST_STRONG, END] = ["\u2068", "\u2069"];

it("names that run from right to left are told apart from the figures beside them", () => {
  const text = `Fastest on local: ${HEBREW}, 2.7\u00d7 (1.6 to 3.8), not separated from Sync SGD`;
  expect(isolated(text, ["Sync SGD", HEBREW])).toBe(
    `Fastest on local: ${FIRST_STRONG}${HEBREW}${END}, 2.7\u00d7 (1.6 to 3.8), not separated from Sync SGD`,
  );
  const turned = "\u202ebad";
  expect(isolated(`${turned} 1`, [turned])).toBe(`${FIRST_STRONG}${turned}${END} 1`);
});

it("names that nobody tells are found by their letters, words and signs between them included", () => {
  const two = `${HEBREW} - ${HEBREW}`;
  expect(isolatedParts(`unequal tuning: 3 trials of ${two}, 5 trials of Sync SGD`)).toBe(
    `unequal tuning: 3 trials of ${FIRST_STRONG}${two}${END}, 5 trials of Sync SGD`,
  );
  expect(isolatedParts(`${HEBREW}, 5 of ${HEBREW}`)).toBe(
    `${FIRST_STRONG}${HEBREW}${END}, 5 of ${FIRST_STRONG}${HEBREW}${END}`,
  );
  expect(isolatedParts("it is not tuned")).toBe("it is not tuned");
});

it("other texts stay as they are", () => {
  expect(isolated("Sync SGD, 2.7\u00d7", ["Sync SGD"])).toBe("Sync SGD, 2.7\u00d7");
  expect(isolated("no name here", [HEBREW])).toBe("no name here");
});
