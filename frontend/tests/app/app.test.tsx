import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { RouteError } from "@/app/route-error";
import { openApp, show } from "../support/app";
import { CATALOGUE, cluster, PLAN, workload } from "../support/fixtures/catalogue";
import { comparison, experiment, summary } from "../support/fixtures/experiment";
import { run } from "../support/fixtures/run";
import { setSystemDark } from "../support/media";
import { apiServer } from "../support/server";

const server = apiServer();
const EMPTY = { items: [], next_cursor: null };

function answerAll() {
  server
    .on("GET /experiments", { items: [summary(7)], next_cursor: null })
    .on("GET /experiments/*", experiment())
    .on("GET /experiments/*/comparison", comparison())
    .on("GET /experiments/*/bands", {
      axis: "clock",
      unit: "s",
      position: 0,
      version: "",
      since: null,
      bands: [],
    })
    .on("GET /runs", { items: [], next_cursor: null })
    .on("GET /runs/*", run())
    .on("GET /runs/*/logs", { lines: [], more: false, next_after: 0 })
    .on("POST /series", { axis: "clock", unit: "s", series: [] })
    .on("GET /algorithms", CATALOGUE)
    .on("GET /workloads", { items: [workload("digits-mlp")] })
    .on("GET /clusters", { items: [cluster("local")] })
    .on("POST /experiments/dry-run", PLAN);
}

describe("an address", () => {
  it.each([
    ["/", "Experiments", "Experiments · Hooke"],
    ["/new", "New experiment", "New experiment · Hooke"],
    ["/experiments/exp_7", "Digits, three ways", "Digits, three ways · Hooke"],
    ["/runs/run_21", "Run #21 Sync EASGD", "Run #21 · Sync EASGD · Hooke"],
  ])("%s opens the page “%s”", async (address, heading, title) => {
    answerAll();
    openApp(server, address);
    expect(await screen.findByRole("heading", { level: 1, name: heading })).toBeVisible();
    await waitFor(() => expect(document.title).toBe(title));
  });

  it("that leads nowhere says so, and leads back", async () => {
    answerAll();
    const { user, address } = openApp(server, "/elsewhere");
    expect(await screen.findByRole("heading", { name: "Page not found" })).toBeVisible();
    expect(document.title).toBe("Page not found · Hooke");
    await user.click(screen.getByRole("link", { name: "All experiments" }));
    expect(await screen.findByRole("heading", { name: "Experiments" })).toBeVisible();
    expect(address()).toBe("/");
  });

  it("changes with what is clicked, and back again", async () => {
    answerAll();
    const { user, address, router } = openApp(server, "/");
    await user.click(await screen.findByRole("link", { name: "Comparison 7" }));
    expect(await screen.findByRole("heading", { name: "Digits, three ways" })).toBeVisible();
    await user.click(
      within(screen.getByRole("navigation", { name: "Main" })).getByRole("link", { name: "New" }),
    );
    expect(await screen.findByTestId("form")).toBeVisible();
    expect(address()).toBe("/new");
    act(() => router.history.go(-1));
    expect(await screen.findByRole("heading", { name: "Digits, three ways" })).toBeVisible();
    await user.click(screen.getByRole("link", { name: "Hooke: experiments" }));
    expect(await screen.findByTestId("experiments")).toBeVisible();
  });

  it("marks its place in the navigation", async () => {
    answerAll();
    openApp(server, "/new");
    const main = within(await screen.findByRole("navigation", { name: "Main" }));
    await screen.findByTestId("form");
    expect(main.getByRole("link", { name: "New" })).toHaveAttribute("aria-current", "page");
    expect(main.getByRole("link", { name: "Experiments" })).not.toHaveAttribute("aria-current");
  });
});

describe("the frame", () => {
  it("lets the keyboard skip to the content first of all", async () => {
    server.on("GET /experiments", EMPTY);
    const { user } = openApp(server, "/");
    await screen.findByTestId("empty");
    await user.tab();
    expect(document.activeElement).toHaveTextContent("Skip to content");
    expect(document.activeElement).toHaveAttribute("href", `#${screen.getByRole("main").id}`);
  });

  it("says whether the page is live, and what it means", async () => {
    server.on("GET /experiments", EMPTY);
    const { user, live } = openApp(server, "/");
    await live();
    expect(screen.getByTestId("connection")).toHaveTextContent("live");
    server.refuseStream = 503;
    server.breakStreams();
    await waitFor(() =>
      expect(screen.getByTestId("connection")).toHaveTextContent(
        /^reconnectinglast update (just now|\d+ s ago)$/,
      ),
    );
    await user.hover(screen.getByTestId("connection"));
    expect(await screen.findByRole("tooltip")).toHaveTextContent(/training is not affected/i);
  });

  it("says so on a page that follows nothing, too", async () => {
    server.on("GET /algorithms", CATALOGUE).letStreams();
    openApp(server, "/algorithms");
    await waitFor(() => expect(screen.getByTestId("connection")).toHaveTextContent("live"));
  });

  it("tells a stranger how to sign in, and nothing else, until the server knows them", async () => {
    server.on("GET /experiments", EMPTY).strangers = true;
    const { router } = openApp(server, "/");
    expect(await screen.findByRole("heading", { name: "This browser is not signed in" })).toBeVisible();
    expect(screen.getByRole("link", { name: "paste the token" })).toHaveAttribute("href", "/login");
    expect(screen.getByRole("link", { name: "sign in with them" })).toHaveAttribute("href", "/sign-in");
    expect(screen.queryByTestId("connection")).toBeNull();
    expect(document.title).toBe("Sign in · Hooke");
    expect(router.state.location.pathname).toBe("/");
  });

  it("says what went wrong in a page that broke, and offers to load it again", () => {
    show(<RouteError error={new Error("chunk 12 is gone")} />);
    expect(screen.getByTestId("route-error")).toHaveTextContent("chunk 12 is gone");
    expect(screen.getByRole("button", { name: "Reload" })).toBeVisible();
  });
});

describe("light and dark", () => {
  const scheme = () => document.documentElement.getAttribute("data-mantine-color-scheme");
  async function open() {
    server.on("GET /experiments", EMPTY);
    const app = openApp(server, "/");
    await screen.findByTestId("empty");
    return app;
  }

  it("follow the system until somebody chooses, then the choice", async () => {
    const { user } = await open();
    expect(scheme()).toBe("light");
    act(() => setSystemDark(true));
    expect(scheme()).toBe("dark");
    await user.click(screen.getByRole("button", { name: "Switch to light colors" }));
    expect(scheme()).toBe("light");
    act(() => setSystemDark(false));
    act(() => setSystemDark(true));
    expect(scheme()).toBe("light");
  });

  it("are remembered", async () => {
    localStorage.setItem("mantine-color-scheme-value", "dark");
    const { user } = await open();
    expect(scheme()).toBe("dark");
    await user.click(screen.getByRole("button", { name: "Switch to light colors" }));
    expect(localStorage.getItem("mantine-color-scheme-value")).toBe("light");
    expect(screen.getByRole("button", { name: "Switch to dark colors" })).toBeVisible();
  });
});
