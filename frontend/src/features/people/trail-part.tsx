import { Button, Group, TextInput } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { listAudit } from "@/lib/client/sdk.gen";
import type { TrailEntryView } from "@/lib/client/types.gen";
import { formatMoment } from "@/lib/format/time";
import { LoadFault } from "@/lib/ui/load-fault";
import screen from "@/lib/ui/screen.module.css";
import { Section } from "@/lib/ui/section";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import { useTyped } from "@/lib/views/use-typed";
import styles from "./people.module.css";
import type { AdministrationSearch } from "./search";
import { actionWords, changeWords } from "./trail-words";

const route = getRouteApi("/administration");
const PAGE = 50;
const EXPORT = "/api/v1/audit/export?kind=";

function useTrail(chosen: AdministrationSearch) {
  return useInfiniteQuery({
    queryKey: ["audit", chosen],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) => {
      const query = { ...chosen, limit: PAGE, cursor: pageParam };
      return (await listAudit({ query, signal, throwOnError: true })).data;
    },
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
}

/** Who changed what, when, and from where. */
export function TrailPart() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const look = (changes: AdministrationSearch) =>
    navigate({ search: (old) => ({ ...old, ...changes }), replace: true, resetScroll: false });
  const [actor, setActor] = useTyped(search.actor ?? "", (next) => look({ actor: next.trim() || undefined }));
  const [subject, setSubject] = useTyped(search.subject ?? "", (next) =>
    look({ subject: next.trim() || undefined }),
  );
  const query = useTrail(search);
  const items = query.data?.pages.flatMap((page) => page.items) ?? [];
  const exports = (
    <span className={styles.exports}>
      <a href={`${EXPORT}csv`}>Export as CSV</a>
      <a href={`${EXPORT}jsonl`}>as JSON lines</a>
    </span>
  );
  return (
    <Section title="Audit trail" testId="trail-part" aside={exports}>
      <Group gap={12} mb={16}>
        <TextInput
          size="xs"
          label="Who"
          placeholder="ana"
          value={actor}
          onChange={(event) => setActor(event.currentTarget.value)}
          data-testid="trail-actor"
        />
        <TextInput
          size="xs"
          label="About"
          placeholder="exp_…, run_…, a cluster, a user"
          w={260}
          value={subject}
          onChange={(event) => setSubject(event.currentTarget.value)}
          data-testid="trail-subject"
        />
      </Group>
      <LoadFault what="The audit trail could not be loaded." query={query} />
      {query.isSuccess && items.length === 0 && <p className={screen.note}>No entries match.</p>}
      {items.length > 0 && <Entries items={items} />}
      {query.hasNextPage && (
        <Group justify="center" mt={20}>
          <Button variant="default" loading={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
            Load more
          </Button>
        </Group>
      )}
    </Section>
  );
}

function Entries({ items }: { items: readonly TrailEntryView[] }) {
  return (
    <TableRegion label="Entries of the audit trail">
      <table className={ui.table} data-testid="trail">
        <thead>
          <tr>
            <th>When</th>
            <th>Who</th>
            <th>What</th>
            <th>About</th>
            <th>Change</th>
            <th>From</th>
          </tr>
        </thead>
        <tbody>
          {items.map((entry) => (
            <tr key={entry.id}>
              <td>{formatMoment(entry.at)}</td>
              <td title={entry.credential}>{entry.actor}</td>
              <td>{actionWords(entry.action)}</td>
              <td>
                <code title={entry.subject}>{shortened(entry.subject)}</code>
              </td>
              <td>
                <div className={styles.state}>{changeWords(entry)}</div>
              </td>
              <td>{entry.address}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableRegion>
  );
}

/** An id by its kind and end. */
function shortened(subject: string): string {
  return subject.replace(/\b([a-z]{3}_)[0-9a-f]{24}([0-9a-f]{8})\b/g, "$1…$2");
}
