/** The form for a new experiment: whole, over a server that offers the catalogue of the fixtures, or in parts. */
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { type ReactNode, useEffect, useState } from "react";
import { expect } from "vitest";
import { withNamedBaseline, withPlacedBaseline } from "@/features/new-experiment/baseline";
import { emptyDraft } from "@/features/new-experiment/draft";
import { FormContext } from "@/features/new-experiment/form-context";
import { useOpened } from "@/features/new-experiment/use-opened";
import type { AlgorithmList, ClusterView, ExperimentSpec } from "@/lib/client/types.gen";
import type { Json } from "@/lib/json/document";
import { openApp, show } from "../support/app";
import { CATALOGUE, cluster, PLAN, workload } from "../support/fixtures/catalogue";
import type { ApiServer } from "../support/server";

export const CLUSTERS = [cluster("local"), cluster("rack", { online: false, cores: 64 })];
export const WORKLOADS = [workload("digits-mlp"), workload("cifar-cnn", { target: 0.8 })];

interface PartsProps {
  start: Json;
  changed: (draft: Json) => void;
  children: ReactNode;
}

function Parts({ start, changed, children }: PartsProps) {
  const [draft, change] = useState(start);
  const rows = useOpened();
  useEffect(() => changed(draft));
  const told = { faults: new Map(), problems: [] };
  return <FormContext value={{ draft, change, ...told, ...rows }}>{children}</FormContext>;
}

/** Parts of the form over a document of their own, without a server; `written` is what would be sent of it now. */
export function showParts(parts: ReactNode) {
  const start = withPlacedBaseline(emptyDraft(CATALOGUE.items, WORKLOADS, "local"));
  let sent = "";
  const { user } = show(
    <Parts
      start={start}
      changed={(draft) => {
        sent = JSON.stringify(withNamedBaseline(draft));
      }}
    >
      {parts}
    </Parts>,
  );
  return { user, written: (): ExperimentSpec => JSON.parse(sent) };
}

export async function openForm(
  server: ApiServer,
  address = "/new",
  clusters: ClusterView[] = CLUSTERS,
  catalogue: AlgorithmList = CATALOGUE,
) {
  server.on("GET /algorithms", catalogue);
  server.on("GET /workloads", { items: WORKLOADS });
  server.on("GET /clusters", { items: clusters });
  server.on("POST /experiments/dry-run", PLAN);
  const app = openApp(server, address);
  await screen.findByTestId("form");
  return app;
}

type User = Awaited<ReturnType<typeof openForm>>["user"];

/** The row of a variant, as it is. */
export const row = (index: number) => within(screen.getAllByTestId("variant-card")[index] as HTMLElement);

/** The same, opened if it is not. */
export function card(index: number) {
  const edit = row(index).getByTestId("edit-variant");
  if (edit.getAttribute("aria-expanded") === "false") fireEvent.click(edit);
  return row(index);
}

export const clusterCard = (index: number) =>
  within(screen.getAllByTestId("cluster-card")[index] as HTMLElement);
export const part = (testId: string) => within(screen.getByTestId(testId));

/** Replace what stands in a field, in one go: every key renders the whole form. */
export async function refill(user: User, field: HTMLElement, text: string): Promise<void> {
  await user.clear(field);
  if (text) await user.paste(text);
}

/** The document as the JSON tab shows it. */
export async function shownDocument(user: User): Promise<ExperimentSpec> {
  await user.click(screen.getByRole("tab", { name: "JSON" }));
  const editor: HTMLTextAreaElement = await screen.findByLabelText("Specification as JSON");
  const document = JSON.parse(editor.value);
  await user.click(screen.getByRole("tab", { name: "Plan" }));
  return document;
}

/** Wait until the server has judged what the form now holds. */
export async function settled(): Promise<void> {
  await waitFor(() => expect(screen.getByTestId("plan")).toHaveAttribute("data-settled", "true"));
}

/** The list that a searchable select has opened. */
export function listOf(combobox: HTMLElement) {
  return within(document.getElementById(combobox.getAttribute("aria-controls") ?? "") as HTMLElement);
}

export async function choose(user: User, combobox: HTMLElement, option: string): Promise<void> {
  await user.click(combobox);
  await user.click(listOf(combobox).getByRole("option", { name: (text) => text.startsWith(option) }));
}

export const addVariant = () => part("variants").getByRole("combobox", { name: "Add variant" });
