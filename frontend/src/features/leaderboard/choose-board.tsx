import { Group, NativeSelect } from "@mantine/core";
import type { BoardChoice } from "@/lib/client/types.gen";
import type { LeaderboardSearch } from "./search";

interface ChooseProps {
  choices: readonly BoardChoice[];
  search: LeaderboardSearch;
  look: (changes: LeaderboardSearch) => void;
}

/** Which workload, and which target, of those that experiments have. */
export function ChooseBoard({ choices, search, look }: ChooseProps) {
  const targetsOf = (workload: string | undefined) => [
    ...new Set(
      choices.flatMap((one) => (workload === undefined || one.workload === workload ? one.targets : [])),
    ),
  ];
  const workloads = choices.map(({ workload }) => workload);
  const targets = targetsOf(search.workload);
  return (
    <Group gap="8px 16px" mt={16} align="end">
      <NativeSelect
        size="xs"
        label="Workload"
        data={[{ value: "", label: "All" }, ...withChosen(workloads, search.workload)]}
        value={search.workload ?? ""}
        onChange={(event) => {
          const workload = event.currentTarget.value || undefined;
          const has = search.target !== undefined && targetsOf(workload).includes(search.target);
          look({ workload, target: has ? search.target : undefined, sort: undefined });
        }}
      />
      <NativeSelect
        size="xs"
        label="Target"
        title="Where a workload has several targets, that of the newest experiment with an algorithm that was measured on all workloads"
        data={[{ value: "", label: "One for each workload" }, ...withChosen(targets, search.target)]}
        value={search.target ?? ""}
        onChange={(event) => look({ target: event.currentTarget.value || undefined })}
      />
    </Group>
  );
}

/** What an address asks for is shown as chosen, even if no experiment has it. */
function withChosen(known: readonly string[], chosen: string | undefined): string[] {
  return chosen === undefined || known.includes(chosen) ? [...known] : [...known, chosen];
}
