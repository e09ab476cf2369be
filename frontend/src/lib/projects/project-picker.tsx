import { NativeSelect } from "@mantine/core";
import type { ProjectView } from "@/lib/client/types.gen";

interface ProjectPickerProps {
  projects: readonly ProjectView[];
  /** The chosen one; undefined: all. */
  value: string | undefined;
  /** What the entry for all of them says; without it there is none. */
  all?: string;
  description?: string;
  onChange: (project: string | undefined) => void;
}

/** A choice of a project; nothing is seen of it while there is only one. */
export function ProjectPicker({ projects, value, all, description, onChange }: ProjectPickerProps) {
  if (projects.length < 2) return null;
  const names = projects.map(({ name }) => name);
  const known = value === undefined || names.includes(value) ? names : [...names, value];
  const data = known.map((name) => ({ value: name, label: name }));
  return (
    <NativeSelect
      label="Project"
      description={description}
      w={260}
      mb={16}
      value={value ?? ""}
      data={all === undefined ? data : [{ value: "", label: all }, ...data]}
      onChange={(event) => onChange(event.currentTarget.value || undefined)}
      data-testid="project"
    />
  );
}
