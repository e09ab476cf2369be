import { Skeleton, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { listAlgorithmsOptions } from "@/lib/client/@tanstack/react-query.gen";
import type { AlgorithmView } from "@/lib/client/types.gen";
import { LoadFault } from "@/lib/ui/load-fault";
import screen from "@/lib/ui/screen.module.css";
import { Section } from "@/lib/ui/section";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import { useTitle } from "@/lib/ui/use-title";
import { useTyped } from "@/lib/views/use-typed";
import styles from "./algorithms.module.css";
import { byFamily, matches, onBadWorker, payloadOf, ranksOf, sameBits } from "./facts";

const route = getRouteApi("/algorithms");

/** Every method that a cluster offers; each leads to its page. */
export function AlgorithmsScreen() {
  const query = useQuery(listAlgorithmsOptions());
  const { find = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const [typed, setTyped] = useTyped(find, (next) =>
    navigate({ search: { find: next || undefined }, replace: true, resetScroll: false }),
  );
  useTitle("Algorithms");
  const all = query.data?.items ?? [];
  const found = all.filter((one) => matches(one, typed.trim()));
  return (
    <>
      <h1 className={styles.title}>Algorithms</h1>
      <p className={screen.intro}>
        The algorithms that the clusters offer. P is the number of workers, and |W| the size of a vector of
        all weights. The payload is what a worker asks to move per local step with default parameters.
      </p>
      <LoadFault what="The algorithms could not be loaded." query={query} />
      {query.isPending && <Skeleton height={420} mt={24} />}
      {all.length > 0 && (
        <TextInput
          className={styles.filter}
          label="Find"
          placeholder="elastic server"
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
      )}
      {query.data && found.length === 0 && (
        <p className={screen.intro}>
          {all.length === 0
            ? "No cluster has reported its algorithms yet."
            : `No algorithm matches “${typed}”.`}
        </p>
      )}
      {byFamily(found).map(([family, methods]) => (
        <Family key={family} family={family} methods={methods} />
      ))}
    </>
  );
}

function Family({ family, methods }: { family: string; methods: readonly AlgorithmView[] }) {
  return (
    <Section title={family} testId="family">
      <TableRegion label={`Algorithms: ${family}`}>
        <table className={`${ui.table} ${ui.sticky} ${styles.methods}`}>
          <thead>
            <tr>
              <th scope="col">Algorithm</th>
              <th scope="col">Ranks</th>
              <th scope="col">Payload per step</th>
              <th scope="col">Coordination</th>
              <th scope="col">Same seed, same bits</th>
              <th scope="col">NaN on a worker</th>
            </tr>
          </thead>
          <tbody>
            {methods.map((method) => (
              <tr key={method.name} data-testid="method">
                <td>
                  <Link
                    to="/algorithms/$algorithm"
                    params={{ algorithm: method.name }}
                    className={styles.link}
                  >
                    {method.title}
                  </Link>
                </td>
                <td>{ranksOf(method)}</td>
                <td>{payloadOf(method)}</td>
                <td>{method.coordination}</td>
                <td>{sameBits(method)}</td>
                <td>{onBadWorker(method)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableRegion>
    </Section>
  );
}
