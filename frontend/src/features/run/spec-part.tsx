import { SegmentedControl, Skeleton, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { listAlgorithmsOptions, listWorkloadsOptions } from "@/lib/client/@tanstack/react-query.gen";
import { client } from "@/lib/client/client.gen";
import type { RunView } from "@/lib/client/types.gen";
import { NONE } from "@/lib/format/numbers";
import { settingName, settingValue } from "@/lib/format/settings";
import { JsonView } from "@/lib/ui/json-view";
import { LoadFault } from "@/lib/ui/load-fault";
import { Section } from "@/lib/ui/section";
import { FoldedSettings, SettingsList } from "@/lib/ui/settings-list";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import { defaultOf, experimentIn, isDefault, type RunSetting, settingsOf } from "./settings";
import styles from "./spec.module.css";

const route = getRouteApi("/runs/$runId");
const VIEWS = [
  { value: "all", label: "Settings" },
  { value: "defaults", label: "Non-default" },
  { value: "json", label: "JSON" },
];

/** Every setting of a run, defaults included: all, beside their defaults, or as the document. */
export function SpecPart({ run }: { run: RunView }) {
  const { spec: view } = route.useSearch();
  const navigate = route.useNavigate();
  const settings = settingsOf(run.spec).filter(({ pointer }) => pointer !== "/schema"); // of every run the same
  return (
    <Section
      title="Specification"
      testId="run-spec"
      aside={
        <SegmentedControl
          size="xs"
          aria-label="Specification as"
          data-testid="spec-view"
          value={view ?? "all"}
          data={VIEWS}
          onChange={(next) => {
            const spec = next === "defaults" || next === "json" ? next : undefined;
            navigate({ search: (old) => ({ ...old, spec }), replace: true, resetScroll: false });
          }}
        />
      }
    >
      {view === "json" && <JsonView value={run.spec} label="Resolved specification as JSON" />}
      {view === "defaults" && <BesideDefaults run={run} settings={settings} />}
      {view === undefined && <SettingsList settings={settings} />}
    </Section>
  );
}

/** What tells defaults; the description of the API does not change while the dashboard is open. */
function useSchemas() {
  const algorithms = useQuery(listAlgorithmsOptions());
  const workloads = useQuery(listWorkloadsOptions());
  const experiment = useQuery({
    queryKey: ["description of the API"],
    queryFn: async ({ signal }) => {
      const url = "/api/openapi.json";
      const { data } = await client.get<{ 200: unknown }, unknown, true>({ url, signal, throwOnError: true });
      return experimentIn(data) ?? null;
    },
    staleTime: "static",
    structuralSharing: false,
  });
  const failed = [algorithms, workloads, experiment].find((query) => query.isError);
  if (!algorithms.data || !workloads.data || experiment.data === undefined)
    return { failed, schemas: undefined };
  const schemas = {
    experiment: experiment.data ?? undefined,
    algorithms: algorithms.data.items,
    workloads: workloads.data.items,
  };
  return { failed: undefined, schemas };
}

/** What is not at its default beside it; what is, is folded. */
function BesideDefaults({ run, settings }: { run: RunView; settings: readonly RunSetting[] }) {
  const { failed, schemas } = useSchemas();
  if (failed) return <LoadFault what="The defaults could not be loaded." query={failed} />;
  if (!schemas) return <Skeleton height={240} />;
  const all = settings.map((setting) => ({ ...setting, usual: defaultOf(setting, run.spec, schemas) }));
  const same = all.filter(({ value, usual }) => isDefault(value, usual));
  return (
    <>
      <TableRegion label="Settings with non-default values">
        <table className={ui.table}>
          <thead>
            <tr>
              <th scope="col">Setting</th>
              <th scope="col">Value</th>
              <th scope="col">Default</th>
            </tr>
          </thead>
          <tbody>
            {all
              .filter((one) => !same.includes(one))
              .map(({ pointer, value, usual }) => (
                <tr key={pointer} data-testid="changed-setting">
                  <td>{settingName(pointer)}</td>
                  <td className={styles.value}>{settingValue(value)}</td>
                  <td className={styles.value}>{usual === undefined ? "" : settingValue(usual)}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </TableRegion>
      <Text fz={12.5} c="dimmed" maw="84ch" mt={10}>
        Defaults are the current ones of the algorithms and workloads that the clusters offer; {NONE} means
        none. Where the last column is empty, no default is known.
      </Text>
      <FoldedSettings settings={same} how="at the default" />
    </>
  );
}
