import { Alert } from "@mantine/core";
import type { ProjectView } from "@/lib/client/types.gen";
import screen from "@/lib/ui/screen.module.css";
import { isFull, isTight, quotaSentence } from "./quota";
import { openOnes, useProjects } from "./use-projects";

function QuotaNote({ projects }: { projects: readonly ProjectView[] }) {
  if (projects.length === 0) return null;
  return (
    <Alert className={screen.warning} mb={16} role="status" data-testid="quota-note">
      {projects.map((project) => (
        <div key={project.id}>{quotaSentence(project)}</div>
      ))}
    </Alert>
  );
}

/** Says which projects that one may put something into have nearly used up their points: of all, or of one. */
export function TightNote({ projects, of }: { projects: readonly ProjectView[]; of: string | undefined }) {
  const seen = openOnes(projects).filter(({ name }) => of === undefined || name === of);
  return <QuotaNote projects={seen.filter(isTight)} />;
}

/** Says that a project has used up its points, before somebody fills in a form for it. */
export function FullNote({ project }: { project: string }) {
  return <QuotaNote projects={useProjects().filter((one) => one.name === project && isFull(one))} />;
}
