import { ActionIcon, Menu } from "@mantine/core";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import { isTerminal } from "@/lib/ui/states";
import type { Action } from "./use-actions";

interface ItemMenuProps {
  item: ExperimentSummary;
  act: (action: Action) => void;
  edit: () => void;
}

/** What can be done with one experiment of the list. */
export function ItemMenu({ item, act, edit }: ItemMenuProps) {
  return (
    <Menu position="bottom-end" shadow="md" withinPortal>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`More on ${item.name}`} data-testid="item-menu">
          <svg width={16} height={16} viewBox="0 0 16 16" aria-hidden="true" fill="currentColor">
            <circle cx={3} cy={8} r={1.4} />
            <circle cx={8} cy={8} r={1.4} />
            <circle cx={13} cy={8} r={1.4} />
          </svg>
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={edit}>Tags and note</Menu.Item>
        <Menu.Item onClick={() => act(item.archived ? "unarchive" : "archive")}>
          {item.archived ? "Take out of the archive" : "Archive"}
        </Menu.Item>
        <Menu.Item onClick={() => act(item.protected ? "unprotect" : "protect")}>
          {item.protected ? "Allow deletion" : "Protect from deletion"}
        </Menu.Item>
        <Menu.Divider />
        {!isTerminal(item.state) && <Menu.Item onClick={() => act("cancel")}>Cancel its runs</Menu.Item>}
        <Menu.Item
          color="red.8"
          disabled={item.protected || !isTerminal(item.state)}
          title={whyNot(item)}
          onClick={() => act("delete")}
        >
          Delete
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function whyNot(item: ExperimentSummary): string | undefined {
  if (!isTerminal(item.state)) return "It has not ended: cancel it first.";
  return item.protected ? "It is protected." : undefined;
}
