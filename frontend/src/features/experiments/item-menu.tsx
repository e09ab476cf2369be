import { ActionIcon } from "@mantine/core";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import { lazily } from "@/lib/ui/lazily";
import { WhenPressed } from "@/lib/ui/when-pressed";
import type { Action } from "./use-actions";

const ItemActions = lazily(() => import("./item-actions").then((part) => part.ItemActions));

export interface ItemMenuProps {
  item: ExperimentSummary;
  act: (action: Action, item: ExperimentSummary) => void;
  edit: (id: string) => void;
}

/** What can be done with one experiment of the list. */
export function ItemMenu(props: ItemMenuProps) {
  return (
    <WhenPressed
      button={
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={`Actions for ${props.item.name}`}
          data-testid="item-menu"
        >
          <svg width={16} height={16} viewBox="0 0 16 16" aria-hidden="true" fill="currentColor">
            <circle cx={3} cy={8} r={1.4} />
            <circle cx={8} cy={8} r={1.4} />
            <circle cx={13} cy={8} r={1.4} />
          </svg>
        </ActionIcon>
      }
      opens={(button) => <ItemActions button={button} {...props} />}
    />
  );
}
