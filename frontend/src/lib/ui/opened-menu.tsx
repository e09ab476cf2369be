import { Menu, type MenuProps } from "@mantine/core";
import { cloneElement, type ReactNode, useLayoutEffect, useRef, useState } from "react";
import type { MenuButton } from "./when-pressed";

interface OpenedMenuProps extends Pick<MenuProps, "width" | "withArrow" | "shadow"> {
  button: MenuButton;
  /** Of the dropdown. */
  className?: string;
  children: ReactNode;
}

/** A menu that opens as soon as it is drawn: in place of a button that was pressed, whose focus it takes over. */
export function OpenedMenu({ button, className, children, ...menu }: OpenedMenuProps) {
  const target = useRef<HTMLButtonElement>(null);
  const [opened, setOpened] = useState(false);
  useLayoutEffect(() => {
    target.current?.focus({ preventScroll: true }); // where the focus goes when the menu closes
    setOpened(true);
  }, []);
  return (
    <Menu opened={opened} onChange={setOpened} position="bottom-end" {...menu}>
      <Menu.Target>{cloneElement(button, { ref: target })}</Menu.Target>
      <Menu.Dropdown className={className}>{children}</Menu.Dropdown>
    </Menu>
  );
}
