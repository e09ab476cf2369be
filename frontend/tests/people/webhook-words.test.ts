import { describe, expect, it } from "vitest";
import {
  EVENTS,
  eventWords,
  lastWords,
  USUAL,
  urlFault,
  webhookState,
} from "@/features/people/webhook-words";
import { webhook } from "../support/fixtures/people";

const NOW = Date.parse("2026-03-01T12:00:00Z");

describe("webhooks in words", () => {
  it("group events by what they are about", () => {
    expect(eventWords(["experiment.failed", "run.started", "run.failed"])).toBe(
      "run started, failed; experiment failed",
    );
    expect(eventWords(["experiment.succeeded"])).toBe("experiment succeeded");
    expect(eventWords(EVENTS.map(([event]) => event))).toBe(
      "run started, succeeded, failed, cancelled; experiment succeeded, failed, cancelled",
    );
    expect(USUAL.every((event) => EVENTS.some(([known]) => known === event))).toBe(true);
  });

  it("say whether one works", () => {
    expect(webhookState(webhook("whk_1"))).toEqual({ words: "on", tone: "good" });
    expect(webhookState(webhook("whk_1", { last_delivered: false })).tone).toBe("bad");
    const off = webhookState(webhook("whk_1", { active: false, last_delivered: false }));
    expect(off).toEqual({ words: "off", tone: "off" });
  });

  it("say what came of the last attempt", () => {
    const last = { last_at: "2026-03-01T10:00:00Z", last_delivered: true, last_why: "status 204" };
    expect(lastWords(webhook("whk_1", last), NOW)).toBe("status 204, 2 h ago");
    expect(lastWords(webhook("whk_1", { dropped: 4 }), NOW)).toBe("nothing sent yet; 4 discarded");
  });

  it.each([
    ["", undefined],
    ["https://example.org/hook?a=b", undefined],
    ["http://10.0.0.1/", undefined],
    ["https://", "An address such as https://example.org/hook"],
    ["ftp://example.org", "An address such as https://example.org/hook"],
    ["https://bücher.example", "Printable ASCII without blanks"],
    ["https://example.org\\@host", "Printable ASCII without blanks"],
  ])("judge the address %s", (url, fault) => {
    expect(urlFault(url)).toBe(fault);
  });
});
