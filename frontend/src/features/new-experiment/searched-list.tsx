import { Button } from "@mantine/core";
import { flushSync } from "react-dom";
import type { AlgorithmView, WorkloadView } from "@/lib/client/types.gen";
import { fieldId, objectsAt, pointerOf, textAt, valueAt } from "@/lib/json/document";
import { formatSpace } from "@/lib/spaces/words";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import { useForm } from "./form-context";
import { searchedParameters } from "./searched";
import { withSettings } from "./searched-workload";

interface SearchedListProps {
  algorithms: readonly AlgorithmView[];
  workloads: readonly WorkloadView[];
}

/** What tuning searches of every variant, in words, and the way to change it. */
export function SearchedList({ algorithms, workloads }: SearchedListProps) {
  const { draft, open } = useForm();
  const workload = workloads.find((one) => one.name === textAt(draft, ["workload", "name"]));
  const edit = (index: number) => {
    flushSync(() => open(index)); // the spaces are on the page only then
    const spaces = document.getElementById(fieldId(pointerOf(["variants", index, "search"])));
    spaces?.scrollIntoView({ block: "center" });
    spaces?.focus({ preventScroll: true });
  };
  return (
    <TableRegion label="Search spaces by variant">
      <table className={ui.table} data-testid="searched">
        <thead>
          <tr>
            <th scope="col">Variant</th>
            <th scope="col">Searched parameters</th>
            <th scope="col">
              <span className={ui.unseen}>Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {objectsAt(draft, ["variants"]).map((variant, index) => {
            const known = algorithms.find((one) => one.name === textAt(variant, ["algorithm"]));
            const given = valueAt(draft, ["workload", "parameters"]);
            const offered = known && withSettings(known, workload?.parameters, given);
            const name = textAt(variant, ["name"]);
            return (
              // biome-ignore lint/suspicious/noArrayIndexKey: two variants may have one name while it is typed
              <tr key={index}>
                <td>{name}</td>
                <td style={{ whiteSpace: "normal" }}>
                  {offered ? searchedWords(variant, offered) : "unknown algorithm"}
                </td>
                <td>
                  {offered && (
                    <Button
                      size="compact-xs"
                      variant="default"
                      aria-label={`Edit the search spaces of ${name}`}
                      onClick={() => edit(index)}
                    >
                      Edit
                    </Button>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </TableRegion>
  );
}

/** "lr 0.003 to 0.3, log (changed); momentum 0, 0.9"; spaces of the variant itself are marked. */
export function searchedWords(variant: unknown, algorithm: AlgorithmView): string {
  const parts = searchedParameters(variant, algorithm).flatMap(({ name, state, space }) =>
    space && (state === "searched" || state === "own")
      ? [`${name} ${formatSpace(space)}${state === "own" ? " (changed)" : ""}`]
      : [],
  );
  return parts.join("; ") || "nothing: every trial would use the same setting";
}
