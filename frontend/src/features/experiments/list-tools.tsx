import { ActionIcon, Group } from "@mantine/core";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import { lazily } from "@/lib/ui/lazily";
import { WhenPressed } from "@/lib/ui/when-pressed";
import { ColumnsMenu } from "./columns-menu";

const ListExport = lazily(() => import("./list-export").then((part) => part.ListExport));

interface ListToolsProps {
  items: readonly ExperimentSummary[];
  more: boolean;
  shown: ReadonlySet<string>;
  show: (shown: ReadonlySet<string>) => void;
}

/** Which columns the list has, and how it leaves. */
export function ListTools({ items, more, shown, show }: ListToolsProps) {
  return (
    <Group gap={2} wrap="nowrap">
      <WhenPressed
        button={
          <ActionIcon variant="subtle" color="gray" aria-label="Export the list" title="Export the list">
            <svg
              width={16}
              height={16}
              viewBox="0 0 16 16"
              aria-hidden="true"
              fill="none"
              stroke="currentColor"
            >
              <path d="M8 2v8M5 7.2 8 10.2l3-3M2.5 10.5v3h11v-3" strokeWidth={1.3} />
            </svg>
          </ActionIcon>
        }
        opens={(button) => <ListExport button={button} items={items} more={more} />}
      />
      <ColumnsMenu shown={shown} show={show} />
    </Group>
  );
}
