import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { WebhookView } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { delivery, me, project, webhook } from "../support/fixtures/people";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
/** Not before it is shown, however long that takes. */
const NOW = () => new Date(Date.now() + 60_000).toISOString();

function open(items: WebhookView[]) {
  server.on("GET /me", me("admin")).on("GET /tokens", { items: [] }).on("GET /users", { items: [] });
  server.on("GET /audit", { items: [], next_cursor: null }).on("GET /webhooks", { items });
  return openApp(server, "/administration").user;
}

const row = async (id: string) => within(await screen.findByTestId(`webhook-${id}`));

describe("a new webhook", () => {
  it("is told of the usual events unless others are chosen, and its secret is shown once", async () => {
    const user = open([]);
    server.on("POST /webhooks", { ...webhook("whk_new"), secret: "whsec_x" });
    const address = await screen.findByTestId("webhook-url");
    expect(screen.queryByTestId("webhooks")).toBeNull();
    expect(screen.queryByTestId("project")).toBeNull(); // there is only one
    expect(screen.getByTestId("add-webhook")).toBeDisabled();
    await user.click(screen.getByRole("checkbox", { name: "run started" }));
    await user.click(screen.getByRole("checkbox", { name: "experiment cancelled" }));
    await user.type(address, " https://example.org/hook");
    server.on("GET /webhooks", { items: [webhook("whk_new")] });
    await user.click(screen.getByTestId("add-webhook"));
    expect(await screen.findByTestId("new-webhook")).toHaveTextContent("whsec_x");
    expect(server.askedFor("POST /webhooks")[0]?.body).toEqual({
      url: "https://example.org/hook",
      events: ["run.failed", "experiment.succeeded", "experiment.failed", "run.started"],
    });
    expect((await row("whk_new")).getByText("nothing sent yet")).toBeVisible();
    expect(address).toHaveValue("");
  });

  it("is of one project where that is chosen, which its row says", async () => {
    const user = open([]);
    server.on("GET /projects", { items: [project("default"), project("vision")] });
    server.on("POST /webhooks", { ...webhook("whk_new", { project: "vision" }), secret: "whsec_x" });
    await user.selectOptions(await screen.findByTestId("project"), "vision");
    await user.type(screen.getByTestId("webhook-url"), "https://example.org/hook");
    server.on("GET /webhooks", { items: [webhook("whk_new", { project: "vision" }), webhook("whk_all")] });
    await user.click(screen.getByTestId("add-webhook"));
    expect((await row("whk_new")).getByText("in the project vision")).toBeVisible();
    expect((await row("whk_all")).queryByText(/in the project/)).toBeNull();
    expect(server.askedFor("POST /webhooks")[0]?.body).toMatchObject({ project: "vision" });
  });

  it("that the server refuses says why, and the address stays", async () => {
    const user = open([]);
    const faults = [{ pointer: "/url", message: "webhooks do not reach a private address" }];
    server.on("POST /webhooks", new Refusal(422, "webhooks are not sent to this address", faults));
    await user.type(await screen.findByTestId("webhook-url"), "https://10.0.0.1/{Enter}");
    const said = await screen.findByTestId("error");
    expect(said).toHaveTextContent("The webhook could not be added.");
    expect(screen.getByTestId("webhook-url")).toHaveValue("https://10.0.0.1/");
    expect(screen.queryByTestId("new-webhook")).toBeNull();
  });

  it("needs an address and an event", async () => {
    const user = open([]);
    const address = await screen.findByTestId("webhook-url");
    await user.type(address, "example.org");
    expect(screen.getByText("An address such as https://example.org/hook")).toBeVisible();
    expect(screen.getByTestId("add-webhook")).toBeDisabled();
    await user.clear(address);
    await user.type(address, "https://example.org");
    expect(screen.getByTestId("add-webhook")).toBeEnabled();
    for (const each of screen.getAllByRole("checkbox", { checked: true })) await user.click(each);
    expect(screen.getByTestId("add-webhook")).toBeDisabled();
  });
});

describe("the webhooks", () => {
  it("that cannot be listed leave the rest of the page as it is", async () => {
    open([]);
    server.on("GET /webhooks", new Refusal(404, "no such list"));
    expect(await screen.findByText(/no such list/)).toBeVisible();
    expect(await screen.findByText("No entries match.")).toBeVisible();
    expect(screen.getByTestId("webhook-url")).toBeEnabled();
  });

  it("tell what came of the last attempt, and why one was switched off", async () => {
    const failed = { last_at: NOW(), last_delivered: false, last_why: "status 500", waiting: 3, dropped: 2 };
    const gone = "the receiver answered with status 410: it wants nothing more";
    open([webhook("whk_1", failed), webhook("whk_2", { active: false, off_why: gone })]);
    const first = await row("whk_1");
    expect(first.getByText("status 500, just now; 3 waiting; 2 discarded")).toBeVisible();
    expect(first.getByText("on, failing")).toBeVisible();
    expect(first.getByText("run failed; experiment failed")).toBeVisible();
    const second = await row("whk_2");
    expect(second.getByText(`off: ${gone}`)).toBeVisible();
    expect(second.queryByTestId("test-webhook")).toBeNull();
  });

  it("are tested, and the outcome appears by itself", async () => {
    const user = open([webhook("whk_1")]);
    server.on("POST /webhooks/*/test", delivery("msg_1"));
    await screen.findByTestId("test-webhook");
    server.on("GET /webhooks", { items: [webhook("whk_1", { waiting: 1 })] });
    await user.click(screen.getByTestId("test-webhook"));
    expect(await screen.findByText("nothing sent yet; 1 waiting")).toBeVisible();
    const outcome = { last_at: NOW(), last_delivered: true, last_why: "status 204" };
    server.on("GET /webhooks", { items: [webhook("whk_1", outcome)] });
    expect(await screen.findByText("status 204, just now")).toBeVisible();
    expect(server.askedFor("POST /webhooks/*/test")[0]?.path).toBe("/api/v1/webhooks/whk_1/test");
  });

  it("are switched off after asking, and on without a question", async () => {
    const user = open([webhook("whk_1")]);
    server.on("PATCH /webhooks/*", webhook("whk_1", { active: false }));
    await user.click(await screen.findByTestId("webhook-off"));
    expect(await screen.findByText(/waiting deliveries are discarded/)).toBeVisible();
    server.on("GET /webhooks", { items: [webhook("whk_1", { active: false })] });
    await user.click(screen.getByTestId("webhook-off-confirm"));
    await user.click(await screen.findByTestId("webhook-on"));
    await waitFor(() => expect(server.askedFor("PATCH /webhooks/*")).toHaveLength(2));
    const bodies = server.askedFor("PATCH /webhooks/*").map((each) => each.body);
    expect(bodies).toEqual([{ active: false }, { active: true }]);
  });

  it("stay where they are not removed, which is said at the webhook", async () => {
    const user = open([webhook("whk_1"), webhook("whk_2")]);
    server.on("DELETE /webhooks/*", new Refusal(404, "no webhook has the id whk_1"));
    const first = await row("whk_1");
    await user.click(first.getByTestId("remove-webhook"));
    await user.click(await screen.findByTestId("remove-webhook-confirm"));
    expect(await first.findByRole("alert")).toHaveTextContent("no webhook has the id whk_1");
    expect((await row("whk_2")).queryByRole("alert")).toBeNull();
    server.on("DELETE /webhooks/*", {});
    server.on("GET /webhooks", { items: [webhook("whk_2")] });
    await user.click(first.getByTestId("remove-webhook"));
    await user.click(await screen.findByTestId("remove-webhook-confirm"));
    await waitFor(() => expect(screen.queryByTestId("webhook-whk_1")).toBeNull());
  });
});
