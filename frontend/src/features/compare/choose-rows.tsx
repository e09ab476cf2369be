import { Button, MultiSelect } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { explain, statusOf } from "@/lib/api/problem";
import type { ComparedExperiment, ComparedRows } from "@/lib/client/types.gen";
import { isolatedParts } from "@/lib/format/right-to-left";
import { MOST_EXPERIMENTS } from "@/lib/ui/use-selected";
import styles from "./compare.module.css";
import type { CompareSearch } from "./search";
import {
  type Choice,
  choicesOf,
  type Facet,
  hasRow,
  isOf,
  isRun,
  rowsOf,
  withExperiments,
} from "./selection";
import { useListed } from "./use-compared";

interface ChooseProps {
  rows: readonly string[];
  against: string | undefined;
  compared: ComparedRows | undefined;
  change: (next: Partial<CompareSearch>) => void;
}

/** Which experiments, and which of their variants, clusters and numbers of workers. */
export function ChooseRows({ rows, against, compared, change }: ChooseProps) {
  const [typed, setTyped] = useState("");
  const [picked, setPicked] = useState<ReadonlyMap<string, string>>(new Map());
  const listed = useListed(typed);
  const choices = choicesOf(rows);
  const runs = rows.filter(isRun);
  const choose = (next: readonly Choice[], single: readonly string[] = runs) => {
    const chosen = [...rowsOf(next), ...single];
    const isKept = against !== undefined && (single.includes(against) || hasRow(next, against));
    change({ rows: chosen.length > 0 ? chosen : undefined, against: isKept ? against : undefined });
  };
  const names = new Map<string, string>();
  for (const { number, name } of listed.isError ? [] : (listed.data?.items ?? []))
    names.set(String(number), called(number, name));
  for (const choice of choices) {
    const found = compared?.experiments.find((experiment) => isOf(choice, experiment));
    const known = names.get(choice.experiment) ?? picked.get(choice.experiment) ?? `#${choice.experiment}`;
    names.set(choice.experiment, found ? called(found.number, found.name) : known);
  }
  return (
    <section className={styles.choose} aria-label="What is compared">
      <MultiSelect
        label="Experiments"
        placeholder={choices.length === 0 ? "Name, number or filter" : ""}
        searchable
        searchValue={typed}
        onSearchChange={setTyped}
        filter={({ options }) => options} // the server has searched
        hidePickedOptions
        data={[...names].map(([value, label]) => ({ value, label }))}
        value={choices.map(({ experiment }) => experiment)}
        onChange={(experiments) => {
          setPicked(new Map(names));
          choose(withExperiments(choices, experiments));
        }}
        nothingFoundMessage={listed.searching ? "Searching …" : "No experiment has this name or number"}
        maxValues={MOST_EXPERIMENTS}
        description={
          choices.length >= MOST_EXPERIMENTS && `A comparison takes at most ${MOST_EXPERIMENTS} experiments.`
        }
        comboboxProps={{ shadow: "md" }}
        error={listed.isError && <ListFault error={listed.error} retry={() => listed.refetch()} />}
        data-testid="experiments"
      />
      {runs.length > 0 && (
        <SingleRuns runs={runs} compared={compared} keep={(single) => choose(choices, single)} />
      )}
      {choices.map((choice, at) => {
        const experiment = compared?.experiments.find((one) => isOf(choice, one));
        if (!experiment) return null;
        const set = (facet: Facet, values: string[]) =>
          choose(choices.with(at, { ...choice, [facet]: values }));
        return <OfExperiment key={choice.experiment} choice={choice} experiment={experiment} set={set} />;
      })}
    </section>
  );
}

const called = (number: number, name: string) => `#${number} ${isolatedParts(name)}`;

interface SingleRunsProps {
  runs: readonly string[];
  compared: ComparedRows | undefined;
  keep: (runs: readonly string[]) => void;
}

/** The single runs that are rows; others are selected where runs are listed. */
function SingleRuns({ runs, compared, keep }: SingleRunsProps) {
  const label = (id: string) => {
    const row = compared?.rows.find(({ run }) => run?.id === id);
    return row?.run ? `Run ${row.run.number} of #${row.number}, ${row.variant}, seed ${row.run.seed}` : id;
  };
  return (
    <MultiSelect
      mt={8}
      label="Single runs"
      description="Others are selected under Runs, or in the table of runs of an experiment"
      data={runs.map((id) => ({ value: id, label: label(id) }))}
      value={[...runs]}
      onChange={keep}
      comboboxProps={{ shadow: "md" }}
      data-testid="single-runs"
    />
  );
}

/** Why nothing is offered: a filter that is being typed is wrong for a while, and needs no further request. */
function ListFault({ error, retry }: { error: unknown; retry: () => void }) {
  if (statusOf(error) === 422) return explain(error);
  return (
    <>
      The list of experiments could not be loaded.{" "}
      <Button size="compact-xs" variant="default" onClick={retry}>
        Try again
      </Button>
    </>
  );
}

interface OfExperimentProps {
  choice: Choice;
  experiment: ComparedExperiment;
  set: (facet: Facet, values: string[]) => void;
}

const FACETS = [
  ["variants", "Variants"],
  ["clusters", "Clusters"],
  ["workers", "Workers"],
] as const;

/** What is chosen of one experiment; a facet without a choice to make is not shown. */
function OfExperiment({ choice, experiment, set }: OfExperimentProps) {
  const { id, number, name, workload, target, note } = experiment;
  return (
    <div className={styles.experiment} data-testid="chosen-experiment">
      <p className={styles.about}>
        <Link to="/experiments/$experimentId" params={{ experimentId: id }}>
          #{number} <bdi>{name}</bdi>
        </Link>
        <span>{target ? `${workload}, ${target}` : `${workload}, without a target`}</span>
        {note && <span>{note}</span>}
      </p>
      <div className={styles.facets}>
        {FACETS.map(([facet, label]) => {
          const all = experiment[facet].map(String);
          const chosen = choice[facet];
          if (all.length < 2 && chosen.length === 0) return null;
          return (
            <MultiSelect
              key={facet}
              label={label}
              aria-label={`${label} of #${number}`}
              placeholder={chosen.length === 0 ? `all ${all.length}` : ""}
              size="xs"
              searchable
              data={[...new Set([...all, ...chosen])]}
              value={[...chosen]}
              onChange={(values) => set(facet, values.length === all.length ? [] : values)}
              comboboxProps={{ shadow: "md" }}
            />
          );
        })}
      </div>
    </div>
  );
}
