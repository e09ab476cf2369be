import { Button, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import {
  createProjectMutation,
  listProjectsOptions,
  listProjectsQueryKey,
} from "@/lib/client/@tanstack/react-query.gen";
import { ErrorPanel } from "@/lib/ui/error-panel";
import screen from "@/lib/ui/screen.module.css";
import { Section } from "@/lib/ui/section";
import ui from "@/lib/ui/ui.module.css";
import styles from "./people.module.css";
import { ProjectMembers } from "./project-members";
import { ProjectRow } from "./project-row";

const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;

/** The projects, the members of one of them, and a form that makes another one. */
export function ProjectsPart() {
  const query = useQuery(listProjectsOptions());
  const [shown, setShown] = useState<string>();
  const items = query.data?.items ?? [];
  const open = items.find(({ id }) => id === shown);
  return (
    <Section title="Projects" testId="projects-part">
      <p className={screen.note}>
        What is in a project exists for its members and for administrators only, whatever role others have.
        The project default is open to every user, with the role above.
      </p>
      {query.isError && <ErrorPanel what="The projects could not be listed." error={query.error} />}
      {items.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section className={`${ui.tableWrap} ${styles.table}`} aria-label="List of projects" tabIndex={0}>
          <table className={ui.table} data-testid="projects">
            <thead>
              <tr>
                <th>Name</th>
                <th>State</th>
                <th>Deletes what has ended</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {items.map((project) => (
                <ProjectRow
                  key={project.id}
                  project={project}
                  open={project.id === shown}
                  show={() => setShown(project.id === shown ? undefined : project.id)}
                />
              ))}
            </tbody>
          </table>
        </section>
      )}
      {open && <ProjectMembers key={open.id} project={open.name} />}
      <NewProject />
    </Section>
  );
}

function NewProject() {
  const [name, setName] = useState("");
  const client = useQueryClient();
  const create = useMutation({
    ...createProjectMutation(),
    onSuccess: () => {
      setName("");
      return client.invalidateQueries({ queryKey: listProjectsQueryKey() });
    },
  });
  const bad = name !== "" && !NAME.test(name);
  return (
    <>
      <form
        className={screen.form}
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate({ body: { name } });
        }}
      >
        <TextInput
          label="New project"
          placeholder="vision"
          value={name}
          maxLength={63}
          error={bad && "Lower-case letters, digits, dot, dash and underscore"}
          onChange={(event) => setName(event.currentTarget.value)}
          data-testid="project-name"
        />
        <Button
          type="submit"
          disabled={name === "" || bad}
          loading={create.isPending}
          data-testid="add-project"
        >
          Make project
        </Button>
      </form>
      {create.isError && <ErrorPanel what="The project was not made." error={create.error} />}
    </>
  );
}
