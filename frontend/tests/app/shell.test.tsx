import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import type { ProblemDetails } from "@/lib/client/types.gen";
import { browser } from "@/lib/people/browser";
import { openApp } from "../support/app";
import { summary } from "../support/fixtures/experiment";
import { me } from "../support/fixtures/people";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const LIST = { items: [summary(7)], next_cursor: null };

/** A server that is up and says what keeps it from working. */
class NotReady extends Refusal {
  constructor(private readonly reasons: string[]) {
    super(503, "");
  }

  override body(instance: string): ProblemDetails {
    return Object.assign(super.body(instance), { ready: false, reasons: this.reasons, warnings: [] });
  }
}

describe("the note of the server", () => {
  it("is absent while all is well", async () => {
    server.on("GET /experiments", LIST);
    openApp(server, "/");
    await screen.findByText("Comparison 7");
    await waitFor(() => expect(server.askedFor("GET /readyz")).toHaveLength(1));
    expect(screen.queryByTestId("server-note")).toBeNull();
  });

  it("says on every page what will not work if nothing is done", async () => {
    server.on("GET /clusters", { items: [] });
    server.on("GET /readyz", { ready: true, reasons: [], warnings: ["the disk is 92 % full", "no backup."] });
    openApp(server, "/clusters");
    const note = await screen.findByTestId("server-note");
    expect(note).toHaveTextContent("The disk is 92 % full.");
    expect(note).toHaveTextContent("No backup.");
    expect(note).toHaveAttribute("role", "status");
  });

  it("says what does not work already, though the answer is a 503", async () => {
    server.on("GET /experiments", LIST).on("GET /readyz", new NotReady(["the database is locked"]));
    openApp(server, "/");
    expect(await screen.findByTestId("server-note")).toHaveTextContent("The database is locked.");
    expect(await screen.findByText("Comparison 7")).toBeVisible();
  });
});

describe("the row of pages", () => {
  it.each(["/clusters", "/clusters/local/queue"])(
    "is moved to the present page where it is wider than the window: %s",
    async (path) => {
      const left = vi.spyOn(HTMLElement.prototype, "offsetLeft", "get");
      left.mockImplementation(function (this: HTMLElement) {
        return this.textContent === "Clusters" ? 340 : 12;
      });
      server.on("GET /clusters", { items: [] }).on("GET /clusters/*/queue", new Refusal(404, "not found"));
      openApp(server, path);
      const pages = await screen.findByRole("navigation", { name: "Main" });
      await waitFor(() => expect(pages.scrollLeft).toBe(340 - 12 - 40));
      expect(within(pages).getByRole("link", { name: "Clusters" })).toHaveAttribute("aria-current", "page");
    },
  );
});

describe("the menu of the person", () => {
  it("is absent while it is not known who this is, and the page works without", async () => {
    server.on("GET /me", new Refusal(404, "an older server")).on("GET /experiments", LIST);
    openApp(server, "/");
    expect(await screen.findByText("Comparison 7")).toBeVisible();
    expect(screen.queryByTestId("person")).toBeNull();
    expect(screen.getByTestId("star")).toBeEnabled();
  });

  it("opens and closes by keyboard", async () => {
    server.on("GET /me", me("viewer")).on("GET /experiments", LIST);
    const { user } = openApp(server, "/");
    const opener = await screen.findByRole("button", { name: "Account of ana" });
    opener.focus();
    await user.keyboard("{Enter}");
    expect(await screen.findByTestId("person-name")).toHaveTextContent("ana, viewer");
    await user.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByTestId("person-name")).toBeNull());
    await waitFor(() => expect(screen.getByRole("button", { name: "Account of ana" })).toHaveFocus());
  });

  it("says that one is still signed in where signing out failed", async () => {
    const load = vi.spyOn(browser, "load").mockImplementation(() => undefined);
    server.on("GET /experiments", LIST).on("POST /sign-out", new Refusal(503, "Restarting."));
    const { user } = openApp(server, "/");
    await user.click(await screen.findByTestId("person"));
    await user.click(await screen.findByTestId("sign-out"));
    expect(await screen.findByRole("alert")).toHaveTextContent("You are still signed in. Restarting.");
    expect(load).not.toHaveBeenCalled();
    expect(screen.getByTestId("sign-out")).toBeEnabled();
  });
});

describe("pages of those who have not signed in", () => {
  it.each([
    ["/sign-in", "Sign in to Hooke", "Sign in · Hooke"],
    ["/invite#hooke_invite_x", "Welcome to Hooke", "Invitation · Hooke"],
  ])(
    "%s asks the server only for its provider, for which nobody needs to sign in",
    async (address, heading, title) => {
      openApp(server, address);
      expect(await screen.findByRole("heading", { level: 1, name: heading })).toBeVisible();
      await waitFor(() => expect(document.title).toBe(title));
      expect(screen.queryByTestId("connection")).toBeNull();
      expect(screen.queryByTestId("person")).toBeNull();
      await waitFor(() => expect(server.asked).not.toEqual([]));
      expect(server.asked.map(({ operation }) => operation)).toEqual(["GET /oidc"]);
      expect(server.streams).toEqual([]);
    },
  );

  it("lead back and forward with the frame of each", async () => {
    server.on("GET /experiments", LIST);
    const { router } = openApp(server, "/");
    await screen.findByText("Comparison 7");
    act(() => router.history.push("/sign-in"));
    expect(await screen.findByTestId("sign-in")).toBeVisible();
    expect(screen.queryByRole("navigation", { name: "Main" })).toBeNull();
    act(() => router.history.back());
    expect(await screen.findByText("Comparison 7")).toBeVisible();
    const main = within(screen.getByRole("navigation", { name: "Main" }));
    expect(main.getByRole("link", { name: "New" })).toHaveAttribute("href", "/new");
    act(() => router.history.forward());
    expect(await screen.findByTestId("sign-in")).toBeVisible();
  });
});

describe("who has signed in meanwhile", () => {
  it("sees the page again in the place of the words for strangers", async () => {
    server.on("GET /experiments", LIST).on("GET /me", me("researcher")).strangers = true;
    openApp(server, "/");
    await screen.findByTestId("signed-out");
    await waitFor(() => expect(server.listening()).toBeGreaterThan(0));
    server.strangers = false;
    server.breakStreams();
    expect(await screen.findByText("Comparison 7")).toBeVisible();
    expect(screen.queryByTestId("signed-out")).toBeNull();
    expect(await screen.findByRole("button", { name: "Account of ana" })).toBeVisible();
  });

  describe("in another tab", () => {
    const PERSON = "hooke.person";
    const inAnotherTab = (person: string) =>
      act(() => window.dispatchEvent(new StorageEvent("storage", { key: PERSON, newValue: person })));
    const begin = async () => {
      const load = vi.spyOn(browser, "load").mockImplementation(() => undefined);
      server.on("GET /experiments", LIST).on("GET /me", me("researcher"));
      const app = openApp(server, "/");
      await screen.findByText("Comparison 7");
      await waitFor(() => expect(localStorage.getItem(PERSON)).toBe("user ana"));
      return { ...app, load };
    };

    it("as somebody else begins this one anew, which was read by who was here before", async () => {
      const { load } = await begin();
      server.on("GET /me", me("viewer", { name: "ben" }));
      inAnotherTab("user ben");
      await waitFor(() => expect(load).toHaveBeenCalledExactlyOnceWith(window.location.pathname));
      expect(localStorage.getItem(PERSON)).toBe("user ben");
    });

    it("as the same person, or with another key, changes nothing", async () => {
      const { load, idle } = await begin();
      const asked = server.askedFor("GET /me").length;
      inAnotherTab("user ana");
      act(() => window.dispatchEvent(new StorageEvent("storage", { key: "other", newValue: "x" })));
      await idle();
      expect(server.askedFor("GET /me")).toHaveLength(asked);
      expect(load).not.toHaveBeenCalled();
    });

    it("hears that somebody signs out here", async () => {
      const { load, user } = await begin();
      server.on("POST /sign-out", {});
      await user.click(await screen.findByTestId("person"));
      await user.click(await screen.findByTestId("sign-out"));
      await waitFor(() => expect(load).toHaveBeenCalledExactlyOnceWith("/"));
      expect(localStorage.getItem(PERSON)).toBe("");
    });

    it("and out there, is out here, too", async () => {
      const { load } = await begin();
      server.strangers = true;
      inAnotherTab("");
      expect(await screen.findByTestId("signed-out")).toBeVisible();
      await waitFor(() => expect(localStorage.getItem(PERSON)).toBe(""));
      expect(load).not.toHaveBeenCalled();
    });
  });
});
