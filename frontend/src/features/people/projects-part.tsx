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
import { ListTable } from "./list-table";
import { NameForm } from "./name-form";
import { ProjectMembers } from "./project-members";
import { ProjectRow } from "./project-row";

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
        <ListTable
          label="List of projects"
          titles={["Name", "State", "Deletes what has ended"]}
          testId="projects"
        >
          {items.map((project) => (
            <ProjectRow
              key={project.id}
              project={project}
              open={project.id === shown}
              show={() => setShown(project.id === shown ? undefined : project.id)}
            />
          ))}
        </ListTable>
      )}
      {open && <ProjectMembers key={open.id} project={open.name} />}
      <NewProject />
    </Section>
  );
}

function NewProject() {
  const client = useQueryClient();
  const create = useMutation({
    ...createProjectMutation(),
    onSuccess: () => client.invalidateQueries({ queryKey: listProjectsQueryKey() }),
  });
  return (
    <>
      <NameForm
        label="New project"
        placeholder="vision"
        action="Make project"
        busy={create.isPending}
        make={(name) => create.mutateAsync({ body: { name } })}
        testIds={{ name: "project-name", action: "add-project" }}
      />
      {create.isError && <ErrorPanel what="The project was not made." error={create.error} />}
    </>
  );
}
