import { Menu } from "@mantine/core";
import { OpenedMenu } from "@/lib/ui/opened-menu";
import type { MenuButton } from "@/lib/ui/when-pressed";
import { COLUMNS } from "./columns";
import type { ColumnsProps } from "./columns-menu";

/** The menu that switches columns on and off. */
export function ColumnsItems({ button, shown, show }: ColumnsProps & { button: MenuButton }) {
  return (
    <OpenedMenu button={button} shadow="md" width={180}>
      {COLUMNS.map(({ key, title }) => (
        <Menu.CheckboxItem
          key={key}
          checked={shown.has(key)}
          onChange={(wanted) => {
            const next = new Set(shown);
            if (wanted) next.add(key);
            else next.delete(key);
            show(next);
          }}
        >
          {title}
        </Menu.CheckboxItem>
      ))}
    </OpenedMenu>
  );
}
