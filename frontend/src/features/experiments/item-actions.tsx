import { Menu } from "@mantine/core";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import { OpenedMenu } from "@/lib/ui/opened-menu";
import { isTerminal } from "@/lib/ui/states";
import type { MenuButton } from "@/lib/ui/when-pressed";
import type { ItemMenuProps } from "./item-menu";

/** The menu of one experiment of the list. */
export function ItemActions({ button, item, act, edit }: ItemMenuProps & { button: MenuButton }) {
  return (
    <OpenedMenu button={button} shadow="md">
      <Menu.Item onClick={() => edit(item.id)}>Tags and note</Menu.Item>
      <Menu.Item onClick={() => act(item.archived ? "unarchive" : "archive", item)}>
        {item.archived ? "Take out of the archive" : "Archive"}
      </Menu.Item>
      <Menu.Item onClick={() => act(item.protected ? "unprotect" : "protect", item)}>
        {item.protected ? "Allow deletion" : "Protect from deletion"}
      </Menu.Item>
      <Menu.Divider />
      {!isTerminal(item.state) && <Menu.Item onClick={() => act("cancel", item)}>Cancel its runs</Menu.Item>}
      <Menu.Item
        color="red.8"
        disabled={item.protected || !isTerminal(item.state)}
        title={whyNot(item)}
        onClick={() => act("delete", item)}
      >
        Delete
      </Menu.Item>
    </OpenedMenu>
  );
}

function whyNot(item: ExperimentSummary): string | undefined {
  if (!isTerminal(item.state)) return "It has not ended: cancel it first.";
  return item.protected ? "It is protected." : undefined;
}
