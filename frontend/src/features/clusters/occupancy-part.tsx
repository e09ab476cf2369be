import { Group, SegmentedControl } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { DrawingMenu } from "@/lib/charts/drawing-menu";
import { readOccupancy } from "@/lib/client/sdk.gen";
import type { OccupancyView } from "@/lib/client/types.gen";
import { LoadFault } from "@/lib/ui/load-fault";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import styles from "./clusters.module.css";
import { intervalWords, occupancySheet, occupancySvg, shareWords, summary } from "./occupancy";

const route = getRouteApi("/clusters");
const PERIODS = [
  { value: "day", label: "24 hours" },
  { value: "week", label: "7 days" },
] as const;
const AGAIN = 60_000;
const HEIGHT = 48;

/** How much of a cluster runs held lately, as bars and as a table; over the same time on all clusters of the page. */
export function OccupancyPart({ cluster }: { cluster: string }) {
  const period: "day" | "week" = route.useSearch().period ?? "day";
  const navigate = route.useNavigate();
  const query = useQuery({
    queryKey: ["occupancy", cluster, period],
    queryFn: async ({ signal }) => {
      const asked = { path: { name: cluster }, query: { period } };
      return (await readOccupancy({ ...asked, signal, throwOnError: true })).data;
    },
    placeholderData: keepPreviousData,
    refetchInterval: AGAIN,
  });
  return (
    <div data-testid="occupancy">
      <Group justify="space-between" align="end" gap="4px 16px" mb={8}>
        <h3 className={styles.heading}>Occupancy</h3>
        <SegmentedControl
          size="xs"
          aria-label={`Time over which the occupancy of ${cluster} is shown`}
          value={period}
          data={[...PERIODS]}
          onChange={(value) =>
            navigate({
              search: { period: value === "week" ? value : undefined },
              replace: true,
              resetScroll: false,
            })
          }
        />
      </Group>
      <LoadFault what="The occupancy could not be loaded." query={query} />
      {query.data && <Shares view={query.data} />}
    </div>
  );
}

function Shares({ view }: { view: OccupancyView }) {
  const said = summary(view);
  const { shares } = view;
  return (
    <>
      <svg
        width="100%"
        height={56}
        style={{ display: "block", marginBottom: 6 }}
        viewBox={`0 0 ${shares.length} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Occupancy of ${view.cluster}: ${said}`}
      >
        {shares.map((share, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an interval is known by its place
          <g key={place}>
            {share !== null && (
              <>
                <rect x={place + 0.08} width={0.84} height={HEIGHT} fill="var(--hk-sunken)" />
                <rect
                  x={place + 0.08}
                  y={HEIGHT * (1 - share)}
                  width={0.84}
                  height={HEIGHT * share}
                  fill="var(--hk-accent)"
                />
              </>
            )}
            <title>{`${intervalWords(view, place)}: ${shareWords(share)}`}</title>
          </g>
        ))}
      </svg>
      <p className={styles.facts}>
        <span data-testid="occupancy-summary">{said}</span>
        <DrawingMenu
          of={`Occupancy of ${view.cluster}`}
          host={() => occupancySvg(view)}
          sheet={() => occupancySheet(view)}
        />
      </p>
      <details className={styles.notes}>
        <summary>As a table</summary>
        <TableRegion label={`Occupancy of ${view.cluster}`}>
          <table className={ui.table} data-testid="occupancy-table">
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th data-number scope="col" className={ui.number}>
                  Share of the slots
                </th>
              </tr>
            </thead>
            <tbody>
              {shares
                .map((share, place) => ({ share, place }))
                .reverse()
                .map(({ share, place }) => (
                  <tr key={place}>
                    <td>{intervalWords(view, place)}</td>
                    <td className={ui.number}>{shareWords(share)}</td>
                  </tr>
                ))}
            </tbody>
          </table>
        </TableRegion>
      </details>
    </>
  );
}
