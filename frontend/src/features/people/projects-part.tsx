import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import {
  createProjectMutation,
  listProjectsOptions,
  listProjectsQueryKey,
} from "@/lib/client/@tanstack/react-query.gen";
import type { ProjectView } from "@/lib/client/types.gen";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { LoadFault } from "@/lib/ui/load-fault";
import screen from "@/lib/ui/screen.module.css";
import { Section } from "@/lib/ui/section";
import { ChangeProject } from "./change-project";
import { ListTable } from "./list-table";
import { NameForm } from "./name-form";
import { ProjectMembers } from "./project-members";
import { type ProjectPart, ProjectRow } from "./project-row";

/** The retention of what there is, without users; with users, the projects, the members or the settings of one of them, and a form that makes another one. */
export function ProjectsPart({ users }: { users: boolean }) {
  const query = useQuery(listProjectsOptions());
  const [shown, setShown] = useState<{ id: string; part: ProjectPart }>();
  const items = query.data?.items ?? [];
  const open = items.find(({ id }) => id === shown?.id);
  const show = (id: string, part: ProjectPart) =>
    setShown(shown?.id === id && shown.part === part ? undefined : { id, part });
  return (
    <Section title={users ? "Projects" : "Retention and quota"} testId="projects-part">
      {users && (
        <p className={screen.note}>
          Only its members and administrators have access to a project. The project default is open to every
          user, with the role above.
        </p>
      )}
      {query.data && (
        <p className={screen.note} data-testid="retention">
          {query.data.site === "never" || query.data.site === undefined
            ? "By default, the server deletes no experiments (HOOKE_KEEP_RUNS is not set)."
            : `By default, the server deletes experiments ${query.data.site} after they have ended (HOOKE_KEEP_RUNS).`}{" "}
          Starred and protected ones stay. What was deleted can be restored for {query.data.undo ?? "7 days"}.
        </p>
      )}
      <LoadFault what="The projects could not be loaded." query={query} />
      {items.length > 0 && (
        <ListTable
          label="List of projects"
          titles={["Name", "State", "Delete ended experiments", "Quota used"]}
          testId="projects"
        >
          {items.map((project) => (
            <ProjectRow
              key={project.id}
              project={project}
              site={query.data?.site}
              open={project.id === shown?.id ? shown.part : undefined}
              show={(part) => show(project.id, part)}
            />
          ))}
        </ListTable>
      )}
      {open && shown && <Opened project={open} part={shown.part} done={() => setShown(undefined)} />}
      {users && <NewProject />}
    </Section>
  );
}

/** What is shown of one project. */
function Opened({ project, part, done }: { project: ProjectView; part: ProjectPart; done: () => void }) {
  if (part === "members") return <ProjectMembers key={project.id} project={project.name} />;
  return <ChangeProject key={project.id} project={project} done={done} />;
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
        action="Create project"
        busy={create.isPending}
        make={(name) => create.mutateAsync({ body: { name } })}
        testIds={{ name: "project-name", action: "add-project" }}
      />
      {create.isError && <ErrorPanel what="The project could not be created." error={create.error} />}
    </>
  );
}
