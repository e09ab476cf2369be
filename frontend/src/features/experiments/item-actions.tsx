import { Menu } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import { MoveWindow } from "@/lib/projects/move-window";
import { useTargets } from "@/lib/projects/targets";
import { OpenedMenu } from "@/lib/ui/opened-menu";
import { QuestionWindow } from "@/lib/ui/question-window";
import { isTerminal } from "@/lib/ui/states";
import type { MenuButton } from "@/lib/ui/when-pressed";
import type { ItemMenuProps } from "./item-menu";
import { moved } from "./moved";

/** The menu of one experiment of the list. */
export function ItemActions({ button, item, act, edit }: ItemMenuProps & { button: MenuButton }) {
  const into = useTargets([item.project]);
  const [moving, setMoving] = useState(false);
  const [cancelling, setCancelling] = useState(false);
  const menu = (
    <OpenedMenu button={button} shadow="md">
      <Menu.Item onClick={() => edit(item.id)}>Tags and note</Menu.Item>
      <Menu.Item renderRoot={(props) => <Link {...props} to="/new" search={{ clone: item.id }} />}>
        Clone
      </Menu.Item>
      {into.length > 0 && <Menu.Item onClick={() => setMoving(true)}>Move to another project</Menu.Item>}
      <Menu.Item onClick={() => act(item.archived ? "unarchive" : "archive", item)}>
        {item.archived ? "Unarchive" : "Archive"}
      </Menu.Item>
      <Menu.Item onClick={() => act(item.protected ? "unprotect" : "protect", item)}>
        {item.protected ? "Allow deletion" : "Protect from deletion"}
      </Menu.Item>
      <Menu.Divider />
      {!isTerminal(item.state) && <Menu.Item onClick={() => setCancelling(true)}>Cancel its runs</Menu.Item>}
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
  return (
    <>
      {menu}
      {cancelling && (
        <QuestionWindow
          title={`Cancel “${item.name}”`}
          question="Cancel all runs of this experiment that have not ended? Measured data is kept."
          confirm="Cancel the runs"
          act={() => {
            setCancelling(false);
            act("cancel", item);
          }}
          onClose={() => setCancelling(false)}
          testId="item-cancel"
        />
      )}
      {moving && (
        <MoveWindow
          what={`“${item.name}”`}
          into={into}
          move={(project) => {
            setMoving(false);
            act(moved(project, [item]), item);
          }}
          onClose={() => setMoving(false)}
        />
      )}
    </>
  );
}

function whyNot(item: ExperimentSummary): string | undefined {
  if (!isTerminal(item.state)) return "It has not ended: cancel it first.";
  return item.protected ? "It is protected." : undefined;
}
