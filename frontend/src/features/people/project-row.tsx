import { Button, Group } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { changeProjectMutation, listProjectsQueryKey } from "@/lib/client/@tanstack/react-query.gen";
import type { ProjectView } from "@/lib/client/types.gen";
import { heldWords, isFull } from "@/lib/projects/quota";
import { DEFAULT } from "@/lib/projects/use-projects";
import { ErrorPanel } from "@/lib/ui/error-panel";
import styles from "./people.module.css";
import { keptWords } from "./project-words";

/** What can be shown of a project. */
export type ProjectPart = "members" | "change";

interface ProjectRowProps {
  project: ProjectView;
  /** After how long the server deletes what has ended, where the project has no retention of its own. */
  site: string | undefined;
  /** What of it is shown. */
  open: ProjectPart | undefined;
  /** Show a part, or hide it again. */
  show: (part: ProjectPart) => void;
}

/** One project: its retention, its points, its settings, its members, its archive. */
export function ProjectRow({ project, site, open, show }: ProjectRowProps) {
  const client = useQueryClient();
  const change = useMutation({
    ...changeProjectMutation(),
    onSuccess: () => client.invalidateQueries({ queryKey: listProjectsQueryKey() }),
  });
  const archive = (archived: boolean) =>
    change.mutate({ path: { project: project.name }, body: { archived } });
  return (
    <tr data-testid={`project-${project.name}`}>
      <td title={project.description}>
        {project.name}
        {change.isError && <ErrorPanel what="The change could not be made." error={change.error} />}
      </td>
      <td>{project.archived ? "archived" : "open"}</td>
      <td>{keptWords(project.keep_runs, site)}</td>
      <td>
        {heldWords(project)}
        {isFull(project) && (
          <div className={styles.state}>Used up: nothing more can be put into this project.</div>
        )}
      </td>
      <td>
        <Group justify="flex-end" wrap="nowrap" align="center" gap={8}>
          <Button
            size="xs"
            variant="default"
            onClick={() => show("change")}
            aria-expanded={open === "change"}
            data-testid="change"
          >
            Change
          </Button>
          {project.name !== DEFAULT && (
            <>
              <Button
                size="xs"
                variant="default"
                onClick={() => show("members")}
                aria-expanded={open === "members"}
                data-testid="members"
              >
                Members
              </Button>
              <Button
                size="xs"
                variant="default"
                loading={change.isPending}
                onClick={() => archive(!project.archived)}
                title="An archived project accepts no new experiments; its experiments stay readable."
                data-testid="archive"
              >
                {project.archived ? "Unarchive" : "Archive"}
              </Button>
            </>
          )}
        </Group>
      </td>
    </tr>
  );
}
