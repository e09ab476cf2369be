import { Group, Skeleton } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { statusOf } from "@/lib/api/problem";
import type { ComparedRows } from "@/lib/client/types.gen";
import { LoadFault } from "@/lib/ui/load-fault";
import { Message } from "@/lib/ui/message";
import { useTitle } from "@/lib/ui/use-title";
import { ViewsMenu } from "@/lib/views/views-menu";
import { ChooseRows } from "./choose-rows";
import styles from "./compare.module.css";
import { ContrastsPart } from "./contrasts-part";
import { ParametersPart } from "./parameters-part";
import { RowsPart } from "./rows-part";
import type { CompareSearch } from "./search";
import { SettingsPart } from "./settings-part";
import { TradeOffs } from "./trade-offs";
import { useCompared } from "./use-compared";

const route = getRouteApi("/compare");

/** Rows of any experiments side by side; the address is the view. */
export function CompareScreen() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const rows = search.rows ?? [];
  const query = useCompared(rows, search.against);
  const refused = query.isError && (statusOf(query.error) ?? 503) < 500; // else what was compared still stands
  useTitle("Compare");
  const change = (next: Partial<CompareSearch>) =>
    navigate({ search: (old) => ({ ...old, ...next }), replace: "sort" in next, resetScroll: false });
  return (
    <>
      <Group justify="space-between" align="flex-start">
        <h1 className={styles.title}>Compare</h1>
        <ViewsMenu />
      </Group>
      <ChooseRows rows={rows} against={search.against} compared={query.data} change={change} />
      <LoadFault what="These rows could not be compared." query={query} />
      {rows.length > 0 && query.isPending && <Skeleton height={320} mt={32} />}
      {rows.length === 0 && (
        <Message title="Nothing selected yet" testId="nothing">
          Select experiments above: their variants, clusters and numbers of workers become rows of one table.
          Single runs are selected under Runs, or in the table of runs of an experiment. The address of this
          page contains the selection, so a link to it shows the same view.
        </Message>
      )}
      {query.data && !refused && <Compared compared={query.data} search={search} change={change} />}
    </>
  );
}

interface ComparedProps {
  compared: ComparedRows;
  search: CompareSearch;
  change: (next: Partial<CompareSearch>) => void;
}

function Compared({ compared, search, change }: ComparedProps) {
  if (compared.rows.length === 0) {
    return (
      <Message title="No rows yet" testId="no-rows">
        The chosen experiments have no reported run yet: their settings are still being tuned.
      </Message>
    );
  }
  return (
    <>
      <RowsPart compared={compared} sort={search.sort} change={change} />
      <ContrastsPart compared={compared} against={search.against} change={change} />
      <TradeOffs compared={compared} of={search.of} over={search.over} change={change} />
      <SettingsPart compared={compared} />
      <ParametersPart compared={compared} />
    </>
  );
}
