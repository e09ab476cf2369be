import { Alert } from "@mantine/core";
import type { ProjectView } from "@/lib/client/types.gen";
import screen from "@/lib/ui/screen.module.css";
import { isFull, quotaSentence } from "./quota";
import { useProjects } from "./use-projects";

/** Projects that have used up their points, or nearly. */
export function QuotaNote({ projects }: { projects: readonly ProjectView[] }) {
  return (
    <Alert className={screen.warning} mb={16} role="status" data-testid="quota-note">
      {projects.map((project) => (
        <div key={project.id}>{quotaSentence(project)}</div>
      ))}
    </Alert>
  );
}

/** Says that a project has used up its points, before somebody fills in a form for it. */
export function FullNote({ project }: { project: string }) {
  const full = useProjects().filter((one) => one.name === project && isFull(one));
  return full.length > 0 ? <QuotaNote projects={full} /> : null;
}
