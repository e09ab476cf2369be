import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { listVersionsOptions } from "@/lib/client/@tanstack/react-query.gen";
import type { ExperimentVersion, ExperimentView } from "@/lib/client/types.gen";
import { formatAge, formatMoment } from "@/lib/format/time";
import { withoutSpaces } from "@/lib/spaces/begun";
import { JsonView } from "@/lib/ui/json-view";
import { LoadFault } from "@/lib/ui/load-fault";
import { Section } from "@/lib/ui/section";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import { useNow } from "@/lib/ui/use-now";
import { addedBy } from "./versions";

interface VersionsProps {
  experiment: ExperimentView;
  /** The version whose specification is shown below, if there is such a one. */
  shown: number | undefined;
}

/** What the experiment was when it was submitted, and what each extension added. */
export function VersionsPart({ experiment, shown }: VersionsProps) {
  const path = { experiment_id: experiment.id };
  const query = useQuery({ ...listVersionsOptions({ path }), refetchOnMount: "always" });
  const items = query.data?.items ?? [];
  const chosen = items.find(({ version }) => version === shown);
  return (
    <Section title="Versions" testId="versions-part">
      <LoadFault what="The versions could not be loaded." query={query} />
      {items.length > 0 && <VersionsTable experiment={experiment} items={items} shown={chosen?.version} />}
      {chosen && (
        <JsonView
          value={withoutSpaces(chosen.spec).spec}
          label={`Specification of version ${chosen.version} as JSON`}
        />
      )}
    </Section>
  );
}

function VersionsTable({
  experiment,
  items,
  shown,
}: VersionsProps & { items: readonly ExperimentVersion[] }) {
  const now = useNow();
  return (
    <TableRegion label={`Versions of ${experiment.name}`}>
      <table className={ui.table} data-testid="versions">
        <thead>
          <tr>
            <th scope="col">Version</th>
            <th scope="col">What was added</th>
            <th scope="col">When</th>
            <th scope="col">By</th>
          </tr>
        </thead>
        <tbody>
          {items.map((item, place) => (
            <tr key={item.version}>
              <td>
                <Link
                  to="/experiments/$experimentId"
                  params={{ experimentId: experiment.id }}
                  search={(old) => ({ ...old, versions: shown === item.version ? 0 : item.version })}
                  resetScroll={false}
                  aria-current={shown === item.version}
                  title="Specification"
                >
                  version {item.version}
                </Link>
                {item.version === experiment.version && " (current)"}
              </td>
              <td>{addedBy(item, items[place - 1])}</td>
              <td title={formatMoment(item.created_at)}>{formatAge(item.created_at, now)}</td>
              <td>{item.user}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableRegion>
  );
}
