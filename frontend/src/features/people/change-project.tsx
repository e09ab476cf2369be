import { Button, NativeSelect, NumberInput, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { changeProjectMutation } from "@/lib/client/@tanstack/react-query.gen";
import type { ProjectView } from "@/lib/client/types.gen";
import { DEFAULT } from "@/lib/projects/use-projects";
import { ErrorPanel } from "@/lib/ui/error-panel";
import screen from "@/lib/ui/screen.module.css";
import { LONGEST, NAME } from "./name-form";
import styles from "./people.module.css";

/** Ways in which a project deletes what has ended; `after` needs a duration. */
const WAYS = [
  { value: "site", label: "server default" },
  { value: "never", label: "never" },
  { value: "after", label: "after" },
];

/** The largest quota that the server accepts. */
const MOST_POINTS = 10 ** 15;
const GB = 10 ** 9;

/** Name, description, retention and quota of one project. */
export function ChangeProject({ project, done }: { project: ProjectView; done: () => void }) {
  const [name, setName] = useState(project.name);
  const [description, setDescription] = useState(project.description);
  const known = WAYS.some(({ value }) => value === project.keep_runs);
  const [way, setWay] = useState(known ? project.keep_runs : "after");
  const [length, setLength] = useState(known ? "" : project.keep_runs);
  const [quota, setQuota] = useState(project.quota);
  const [size, setSize] = useState(project.quota_bytes / GB);
  const client = useQueryClient();
  const change = useMutation({
    ...changeProjectMutation(),
    onSuccess: () => {
      done();
      return client.invalidateQueries(); // its name stands on many pages
    },
  });
  const bad = !NAME.test(name);
  const keep = way === "after" ? length.trim() : way;
  const bytes = Math.round(size * GB);
  const send = () =>
    change.mutate({
      path: { project: project.name },
      body: {
        name: name === project.name ? undefined : name,
        description: description === project.description ? undefined : description,
        keep_runs: keep === project.keep_runs ? undefined : keep,
        quota: quota === project.quota ? undefined : quota,
        quota_bytes: bytes === project.quota_bytes ? undefined : bytes,
      },
    });
  return (
    <section className={styles.table} aria-label={`Change ${project.name}`} data-testid="change-project">
      <form
        className={screen.form}
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <TextInput
          label="Project name"
          value={name}
          maxLength={LONGEST}
          disabled={project.name === DEFAULT}
          error={bad && "Lower-case letters, digits and . - _"}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <TextInput
          label="Description"
          w={300}
          value={description}
          maxLength={1000}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
        <NativeSelect
          label="Delete ended experiments"
          data={WAYS}
          value={way}
          onChange={(event) => setWay(event.currentTarget.value)}
        />
        {way === "after" && (
          <TextInput
            label="Duration"
            placeholder="90d"
            w={90}
            value={length}
            maxLength={20}
            onChange={(event) => setLength(event.currentTarget.value)}
          />
        )}
        <NumberInput
          label="Quota, points"
          description="Steps of ranks, and evaluations"
          placeholder="none"
          w={210}
          min={0}
          max={MOST_POINTS}
          clampBehavior="strict"
          allowDecimal={false}
          thousandSeparator=","
          value={quota || ""}
          onChange={(value) => setQuota(Number(value))}
        />
        <NumberInput
          label="Quota, GB"
          description="Steps, output and traces"
          placeholder="none"
          w={170}
          min={0}
          max={MOST_POINTS / GB}
          clampBehavior="strict"
          decimalScale={3}
          value={size || ""}
          onChange={(value) => setSize(Number(value))}
        />
        <Button
          type="submit"
          disabled={bad || keep === ""}
          loading={change.isPending}
          data-testid="save-project"
        >
          Save
        </Button>
      </form>
      {change.isError && <ErrorPanel what="The project could not be changed." error={change.error} />}
    </section>
  );
}
