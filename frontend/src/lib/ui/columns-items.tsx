import { Menu } from "@mantine/core";
import type { Column } from "./columns";
import { OpenedMenu } from "./opened-menu";
import type { MenuButton } from "./when-pressed";

interface ColumnsProps {
  button: MenuButton;
  columns: readonly Column[];
  shown: ReadonlySet<string>;
  show: (shown: ReadonlySet<string>) => void;
}

/** The menu that switches columns on and off. */
export function ColumnsItems({ button, columns, shown, show }: ColumnsProps) {
  return (
    <OpenedMenu button={button} shadow="md" width={180}>
      {columns.map(({ key, title }) => (
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
