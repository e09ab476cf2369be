import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import {
  deliveryEvent,
  deliveryOutcome,
  deliveryState,
  deliveryTime,
} from "@/features/people/delivery-words";
import type { DeliveryView, WebhookView } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { delivery, me, webhook } from "../support/fixtures/people";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const NOW = Date.parse("2026-03-01T12:00:00Z");

describe("a delivery in words", () => {
  it("says what it is, and what has become of it", () => {
    expect(deliveryEvent(delivery("msg_1"))).toBe("test");
    expect(deliveryEvent(delivery("msg_1", { event: "run.failed" }))).toBe("run failed");
    expect(deliveryState(delivery("msg_1"))).toEqual({ words: "waiting", tone: "quiet" });
    expect(deliveryState(delivery("msg_1", { attempts: 2 }))).toEqual({ words: "retrying", tone: "warn" });
    expect(deliveryState(delivery("msg_1", { state: "delivered" })).tone).toBe("good");
    expect(deliveryState(delivery("msg_1", { state: "failed" })).tone).toBe("bad");
    expect(deliveryState(delivery("msg_1", { state: "discarded" })).tone).toBe("off");
  });

  it("says when the next attempt is due, or when it ended", () => {
    expect(deliveryTime(delivery("msg_1"), NOW)).toBe("next attempt now");
    expect(deliveryTime(delivery("msg_1", { next_at: "2026-03-01T13:00:00Z" }), NOW)).toMatch(
      /^next attempt 2/,
    );
    const ended = { state: "failed", next_at: null, ended_at: "2026-03-01T11:50:00Z" } as const;
    expect(deliveryTime(delivery("msg_1", ended), NOW)).toBe("10 min ago");
  });

  it("says what the receiver answered last", () => {
    expect(deliveryOutcome(delivery("msg_1", { why: "status 500", status: 500, attempts: 1 }))).toBe(
      "status 500",
    );
    expect(deliveryOutcome(delivery("msg_1", { status: 204, attempts: 1 }))).toBe("status 204");
    expect(deliveryOutcome(delivery("msg_1", { attempts: 1 }))).toBe("no answer");
    expect(deliveryOutcome(delivery("msg_1"))).toBe("–");
  });
});

function open(items: WebhookView[]) {
  server.on("GET /me", me("admin")).on("GET /tokens", { items: [] }).on("GET /users", { items: [] });
  server.on("GET /audit", { items: [], next_cursor: null }).on("GET /webhooks", { items });
  return openApp(server, "/administration").user;
}

const FAILED: Partial<DeliveryView> = {
  ...{ event: "run.failed", state: "failed", attempts: 8, status: 500, why: "status 500" },
  ...{ next_at: null, ended_at: "2026-03-01T11:00:00Z" },
};

describe("the deliveries of a webhook", () => {
  it("are shown below the webhooks when asked for, page by page", async () => {
    const user = open([webhook("whk_1"), webhook("whk_2")]);
    server.on("GET /webhooks/*/deliveries", ({ query }) =>
      query.get("cursor")
        ? { items: [delivery("msg_1", { state: "delivered", attempts: 1, status: 204 })], next_cursor: null }
        : { items: [delivery("msg_2", FAILED)], next_cursor: "next" },
    );
    const buttons = await screen.findAllByTestId("show-deliveries");
    expect(screen.queryByTestId("deliveries")).toBeNull();
    await user.click(buttons[0] as HTMLElement);
    expect(buttons[0]).toHaveAttribute("aria-expanded", "true");
    const failed = within(await screen.findByTestId("delivery-msg_2"));
    expect(failed.getByText("run failed")).toBeVisible();
    expect(failed.getByText("failed")).toBeVisible();
    expect(failed.getByText("status 500")).toBeVisible();
    expect(failed.getByRole("cell", { name: "8" })).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Load more" }));
    expect(await screen.findByTestId("delivery-msg_1")).toHaveTextContent("delivered");
    const asked = server.askedFor("GET /webhooks/*/deliveries");
    expect(asked.map(({ path, query }) => [path, query.get("cursor")])).toEqual([
      ["/api/v1/webhooks/whk_1/deliveries", null],
      ["/api/v1/webhooks/whk_1/deliveries", "next"],
    ]);
    await user.click(buttons[0] as HTMLElement);
    expect(screen.queryByTestId("deliveries")).toBeNull();
  });

  it("are sent again, and what comes of it appears by itself", async () => {
    const user = open([webhook("whk_1")]);
    server.on("GET /webhooks/*/deliveries", { items: [delivery("msg_2", FAILED)], next_cursor: null });
    await user.click(await screen.findByTestId("show-deliveries"));
    await screen.findByTestId("redeliver");
    const waits = delivery("msg_2", { ...FAILED, state: "waiting", attempts: 0 });
    server.on("POST /webhook-deliveries/*/redeliver", waits);
    server.on("GET /webhooks/*/deliveries", { items: [waits], next_cursor: null });
    await user.click(screen.getByTestId("redeliver"));
    expect(await screen.findByText("waiting")).toBeVisible();
    expect(server.askedFor("POST /webhook-deliveries/*/redeliver")[0]?.path).toBe(
      "/api/v1/webhook-deliveries/msg_2/redeliver",
    );
    const done = delivery("msg_2", {
      ...FAILED,
      state: "delivered",
      attempts: 1,
      status: 204,
      why: "status 204",
    });
    server.on("GET /webhooks/*/deliveries", { items: [done], next_cursor: null });
    expect(await screen.findByText("delivered")).toBeVisible();
    expect(screen.getByText("status 204")).toBeVisible();
  });

  it("are not sent again by one that is off, and say why one was not sent", async () => {
    const user = open([webhook("whk_1"), webhook("whk_2", { active: false })]);
    server.on("GET /webhooks/*/deliveries", { items: [delivery("msg_2", FAILED)], next_cursor: null });
    const buttons = await screen.findAllByTestId("show-deliveries");
    await user.click(buttons[1] as HTMLElement);
    await screen.findByTestId("delivery-msg_2");
    expect(screen.queryByTestId("redeliver")).toBeNull();
    await user.click(buttons[0] as HTMLElement);
    server.on("POST /webhook-deliveries/*/redeliver", new Refusal(409, "webhook whk_1 is switched off"));
    await user.click(await screen.findByTestId("redeliver"));
    expect(await screen.findByText(/webhook whk_1 is switched off/)).toBeVisible();
  });

  it("say that there are none, or that they could not be loaded", async () => {
    const user = open([webhook("whk_1"), webhook("whk_2")]);
    server.on("GET /webhooks/*/deliveries", { items: [], next_cursor: null });
    const buttons = await screen.findAllByTestId("show-deliveries");
    await user.click(buttons[0] as HTMLElement);
    expect(await screen.findByText(/has no deliveries in the last 14 days/)).toBeVisible();
    server.on("GET /webhooks/*/deliveries", new Refusal(404, "no webhook has the id whk_2"));
    await user.click(buttons[1] as HTMLElement);
    await waitFor(() => expect(screen.getByText(/no webhook has the id whk_2/)).toBeVisible());
  });
});
