import { ActionIcon } from "@mantine/core";
import { lazily } from "@/lib/ui/lazily";
import { WhenPressed } from "@/lib/ui/when-pressed";
import { COLUMNS } from "./columns";

const ColumnsItems = lazily(() => import("@/lib/ui/columns-items").then((part) => part.ColumnsItems));

interface ColumnsProps {
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
      opens={(button) => <ColumnsItems button={button} columns={COLUMNS} {...props} />}
    />
  );
}
