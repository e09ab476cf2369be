import { ActionIcon } from "@mantine/core";
import type { Column } from "./columns";
import { lazily } from "./lazily";
import { WhenPressed } from "./when-pressed";

const ColumnsItems = lazily(() => import("./columns-items").then((part) => part.ColumnsItems));

export interface ColumnsProps {
  columns: readonly Column[];
  shown: ReadonlySet<string>;
  show: (shown: ReadonlySet<string>) => void;
}

/** Which columns there are. */
export function ColumnsMenu(props: ColumnsProps) {
  return (
    <WhenPressed
      button={
        <ActionIcon variant="subtle" color="gray" aria-label="Columns" title="Columns" data-testid="columns">
          <svg
            width={16}
            height={16}
            viewBox="0 0 16 16"
            aria-hidden="true"
            fill="none"
            stroke="currentColor"
          >
            <path d="M2 3.5h12v9H2zM6 3.5v9M10 3.5v9" strokeWidth={1.3} />
          </svg>
        </ActionIcon>
      }
      opens={(button) => <ColumnsItems button={button} {...props} />}
    />
  );
}
