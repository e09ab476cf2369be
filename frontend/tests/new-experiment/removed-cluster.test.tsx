import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { ClustersSection } from "@/features/new-experiment/clusters-section";
import { CLUSTERS, clusterCard, part, showParts } from "./form";

it("clusters show the network of each also where one before it, with numbers of its own, is removed", async () => {
  const { user } = showParts(<ClustersSection clusters={CLUSTERS} />);
  const add = async (name: string) => {
    await user.click(part("clusters").getByRole("button", { name: "Add virtual cluster" }));
    await user.click(await screen.findByRole("menuitem", { name }));
  };
  await add("10 GbE");
  await user.selectOptions(clusterCard(1).getByLabelText("Network"), "Custom");
  await add("Like rack, as calibrated");
  await user.click(clusterCard(1).getByRole("button", { name: "Remove" }));
  expect(clusterCard(1).getByLabelText("Network")).toHaveDisplayValue("Like rack, as calibrated");
  expect(clusterCard(1).queryByLabelText("Latency")).toBeNull();
});
