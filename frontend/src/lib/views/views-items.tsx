import { Menu } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { cloneElement, type MouseEvent, useState } from "react";
import type { SavedView } from "@/lib/client/types.gen";
import { OpenedMenu } from "@/lib/ui/opened-menu";
import type { MenuButton } from "@/lib/ui/when-pressed";
import { ManageViews } from "./manage-views";
import { divided, linkTo, pageOf } from "./pages";
import { SaveView } from "./save-view";
import { useHere, useShow, useViews } from "./use-views";
import { asksForAnother } from "./view-link";
import styles from "./views.module.css";

/** The menu of views, and what it opens. */
export function ViewsItems({ button }: { button: MenuButton }) {
  const here = useHere();
  const query = useViews();
  const clipboard = useClipboard({ timeout: 3000 });
  const [dialog, setDialog] = useState<"save" | "manage">();
  const views = query.data?.items ?? [];
  const { here: ours, elsewhere } = divided(views, here);
  const close = () => setDialog(undefined);
  return (
    <>
      <OpenedMenu
        button={cloneElement(button, {}, clipboard.copied ? "Link copied" : "Views")}
        shadow="md"
        width={280}
        className={styles.menu}
      >
        <Menu.Item onClick={() => setDialog("save")}>Save this view…</Menu.Item>
        {navigator.clipboard && (
          <Menu.Item onClick={() => clipboard.copy(linkTo(here))}>Copy the link to this view</Menu.Item>
        )}
        {views.length > 0 && (
          <Menu.Item onClick={() => setDialog("manage")}>Rename, delete, share…</Menu.Item>
        )}
        {query.isError && (
          <Menu.Item closeMenuOnClick={false} onClick={() => query.refetch()}>
            The saved views could not be loaded. Try again
          </Menu.Item>
        )}
        <Views label="Of this page" views={ours} here={here} />
        <Views label="Of other pages" views={elsewhere} here={here} />
      </OpenedMenu>
      {dialog === "save" && <SaveView path={here} onClose={close} />}
      {dialog === "manage" && <ManageViews onClose={close} />}
    </>
  );
}

function Views({ label, views, here }: { label: string; views: readonly SavedView[]; here: string }) {
  const show = useShow();
  if (views.length === 0) return null;
  return (
    <>
      <Menu.Divider />
      <Menu.Label>{label}</Menu.Label>
      {views.map(({ id, name, path }) => (
        <Menu.Item
          key={id}
          component="a"
          href={path}
          aria-current={path === here ? "page" : undefined}
          className={styles.item}
          rightSection={<span className={styles.page}>{path === here ? "shown" : pageOf(path)}</span>}
          onClick={(event: MouseEvent) => {
            if (asksForAnother(event)) return;
            event.preventDefault();
            show(path);
          }}
        >
          {name}
        </Menu.Item>
      ))}
    </>
  );
}
